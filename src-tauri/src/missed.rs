//! The calls that nobody decided in time, for the notification about missed calls.

use drawbridge_model::{
    approval::ApprovalRequest,
    call::{Call, Decision},
    ids::CallId,
};

use crate::summary;

/// The maximum number of calls whose decision is awaited. The number is limited, because the hub
/// does not report a decision that it cannot record.
const MAX_ASKED: usize = 1000;

/// A call about which a person was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedCall {
    id: CallId,
    digest: String,
    /// Names the client and its request.
    pub(crate) sentence: String,
}

impl AskedCall {
    pub(crate) fn new(request: &ApprovalRequest) -> Self {
        let [client, tool] = [request.client.as_str(), &request.tool].map(summary::display_name);
        let server = summary::display_server(&request.server_name, &request.server);
        Self {
            id: request.id.clone(),
            digest: request.digest.clone(),
            sentence: request.method.past_sentence(&client, &server, &tool),
        }
    }
}

/// The missed calls that the person has not seen in the main window.
#[derive(Debug, Default)]
pub(crate) struct MissedCalls {
    /// The calls that are not decided yet, oldest first.
    asked: Vec<AskedCall>,
    missed: Vec<AskedCall>,
}

impl MissedCalls {
    /// Returns the missed calls, oldest first.
    pub(crate) fn list(&self) -> &[AskedCall] {
        &self.missed
    }

    /// Records that a call waits for a person. If the call is an identical retry of a missed call,
    /// the missed call is removed, as in the hub.
    pub(crate) fn record_asked(&mut self, request: &ApprovalRequest) {
        // After a timeout, the call of a held result has run, and a server's request for input has
        // been answered, so neither can be allowed later.
        let is_known = self.asked.iter().any(|asked| asked.id == request.id);
        if request.result.is_some() || request.is_filled_in_by_person || is_known {
            return;
        }
        self.missed.retain(|missed| missed.digest != request.digest);
        if self.asked.len() == MAX_ASKED {
            self.asked.remove(0);
        }
        self.asked.push(AskedCall::new(request));
    }

    /// Records a decision, or that nobody decided in time. Returns whether the call was missed.
    pub(crate) fn record_decision(&mut self, call: &Call) -> bool {
        let Some(position) = self.asked.iter().position(|asked| asked.id == call.id) else {
            return false;
        };
        let asked = self.asked.remove(position);
        let is_missed = call.decision == Decision::TimedOut;
        if is_missed {
            self.missed.push(asked);
        }
        is_missed
    }

    /// Records that a call no longer waits. If the call was missed already, a person has allowed
    /// its retry.
    pub(crate) fn record_ended(&mut self, id: &CallId) {
        self.missed.retain(|missed| missed.id != *id);
    }

    /// Clears the list, because the main window shows the missed calls to the person.
    pub(crate) fn clear(&mut self) {
        self.missed.clear();
    }
}
