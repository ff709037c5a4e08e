//! The requests in flight on a connection. When the connection ends, all these requests fail.

use std::sync::OnceLock;

use drawbridge_jsonrpc::{pending::PendingRequests, server_message::MalformedAnswer};
use tokio::sync::oneshot;

use super::{EndReason, InvalidAnswer, LostReason, NotSentReason, RpcResponse, TransportError};

/// Receives the answer to a request.
pub(super) type AnswerReceiver = oneshot::Receiver<Result<RpcResponse, TransportError>>;

/// The requests in flight on a connection, and the reason for its end.
#[derive(Default)]
pub(super) struct Pending {
    requests: PendingRequests<Result<RpcResponse, TransportError>>,
    ended: OnceLock<EndReason>,
}

impl Pending {
    /// Registers a request, and returns the receiver of its answer.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub(super) fn register(&self, id: u64) -> Result<AnswerReceiver, TransportError> {
        let receiver = self.requests.register(id, usize::MAX);
        let receiver = receiver.expect("the number of requests is not limited here");
        // Checked after the registration, because `end` sets the reason before it settles the
        // registered requests.
        match self.ended.get() {
            Some(reason) => {
                self.requests.remove(id);
                Err(TransportError::NotSent(NotSentReason::Ended(
                    reason.clone(),
                )))
            }
            None => Ok(receiver),
        }
    }

    /// Delivers an answer. Returns whether a request waited for the answer.
    pub(super) fn complete(&self, id: Option<u64>, response: RpcResponse) -> bool {
        id.is_some_and(|id| self.requests.settle(id, Ok(response)))
    }

    /// Fails the requests whose answers are malformed. Returns whether any of the requests still
    /// waited.
    pub(super) fn fail(&self, ids: &[u64], broken_rule: &MalformedAnswer) -> bool {
        let failed = ids.iter().filter(|id| {
            let error = TransportError::Protocol(InvalidAnswer::Malformed(broken_rule.clone()));
            self.requests.settle(**id, Err(error))
        });
        failed.count() > 0
    }

    /// Removes a request whose answer is no longer awaited.
    pub(super) fn remove(&self, id: u64) {
        self.requests.remove(id);
    }

    /// Ends the connection, and fails all requests in flight. Returns `false` if the connection had
    /// already ended.
    pub(super) fn end(&self, reason: &EndReason) -> bool {
        let is_new = self.ended.set(reason.clone()).is_ok();
        self.requests.settle_all(|| {
            let lost = LostReason::Ended(reason.clone());
            Err(TransportError::Lost(lost))
        });
        is_new
    }

    /// Returns why the connection ended, or `None` while it is alive.
    pub(super) fn end_reason(&self) -> Option<EndReason> {
        self.ended.get().cloned()
    }
}
