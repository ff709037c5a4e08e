//! A permitted request. No guarded request can be sent without this value.

use std::sync::Arc;

use drawbridge_jsonrpc::json::Json;
use drawbridge_model::{
    call::{Call, Outcome},
    content::ContentFlag,
};
use drawbridge_store::table::call::CallRow;

use super::{guarded_request::GuardedRequest, record::OpenRecord};

/// A request whose permission is recorded. Only the gate creates this value.
pub struct Permitted {
    request: Arc<GuardedRequest>,
    record: OpenRecord,
}

/// A copy of a permitted request and its record. The copy outlives the request's answer, because
/// the rules for results also apply to results that come later, such as the result of a task.
#[derive(Clone)]
pub struct PermittedRequest {
    pub request: Arc<GuardedRequest>,
    pub call: Call,
}

impl Permitted {
    pub(super) fn new(request: GuardedRequest, record: OpenRecord) -> Self {
        Self {
            request: Arc::new(request),
            record,
        }
    }

    pub fn request(&self) -> &GuardedRequest {
        &self.request
    }

    /// Returns the record of the decision.
    pub fn record(&self) -> &Call {
        &self.row().call
    }

    /// Returns the record of the decision as it was written.
    pub fn row(&self) -> &Arc<CallRow> {
        self.record.row()
    }

    /// Returns the request and its record, for results that come after its answer.
    pub fn to_permitted_request(&self) -> PermittedRequest {
        PermittedRequest {
            request: self.request.clone(),
            call: self.record().clone(),
        }
    }

    /// Notes the hooks that replaced the result, for the record.
    pub fn set_result_hooks(&mut self, hooks: Vec<String>) {
        self.record.result_hooks = hooks;
    }

    /// Notes the flags of the result, for the record.
    pub fn set_flags(&mut self, flags: Vec<ContentFlag>) {
        self.record.flags = flags;
    }

    /// Counts the tokens of the call's arguments and of its result.
    pub fn count_tokens(&self, result_bytes: usize) {
        let arguments = self.request.arguments.get().len();
        self.record.count_tokens(arguments, result_bytes);
    }

    /// Keeps the result that the client gets, if the settings say that results are kept.
    pub fn keep_result(&self, result: &Json) {
        self.record.keep_result(result);
    }

    /// Records the outcome of the request.
    pub fn record_outcome(self, outcome: Outcome, error: String) {
        self.record.finish(outcome, error);
    }
}
