//! A call that is permitted: without one, nothing can be forwarded.

use std::sync::Arc;

use drawbridge_model::call::Outcome;
use drawbridge_store::table::call::CallRow;

use super::{record::OpenRecord, tool_call::ToolCall};

/// A call whose permission is recorded. Only the gate creates one.
pub struct Permitted {
    call: ToolCall,
    record: OpenRecord,
}

impl Permitted {
    pub(super) fn new(call: ToolCall, record: OpenRecord) -> Self {
        Self { call, record }
    }

    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    pub(super) fn row(&self) -> &Arc<CallRow> {
        self.record.row()
    }

    /// Records the outcome of the call.
    pub fn record_outcome(self, outcome: Outcome, error: String) {
        self.record.finish(outcome, error);
    }
}
