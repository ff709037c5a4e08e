//! The requests in flight on a connection, and their answers, matched by id.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use tokio::sync::oneshot;

use super::{
    EndReason, InvalidAnswer, LostReason, NotSentReason, Reply, TransportError,
    message::MalformedAnswer,
};

/// Receives the answer to a request.
pub(super) type AnswerReceiver = oneshot::Receiver<Result<Reply, TransportError>>;

/// The requests in flight, until the connection ends.
#[derive(Default)]
pub(super) struct Pending {
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Reply, TransportError>>>>,
    ended: OnceLock<EndReason>,
}

impl Pending {
    /// Registers a request, and returns the receiver of its answer.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub(super) fn register(&self, id: u64) -> Result<AnswerReceiver, TransportError> {
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.waiting();
        if let Some(reason) = self.ended.get() {
            return Err(TransportError::NotSent(NotSentReason::Ended(
                reason.clone(),
            )));
        }
        waiting.insert(id, answer);
        Ok(answered)
    }

    /// Delivers an answer. Returns whether a request waited for it.
    pub(super) fn complete(&self, id: Option<u64>, reply: Reply) -> bool {
        self.settle(id, Ok(reply))
    }

    /// Fails the requests whose answers are malformed. Returns whether any of them waited.
    pub(super) fn fail(&self, ids: &[u64], rule: &MalformedAnswer) -> bool {
        let failed = ids.iter().filter(|id| {
            let error = TransportError::Protocol(InvalidAnswer::Malformed(rule.clone()));
            self.settle(Some(**id), Err(error))
        });
        failed.count() > 0
    }

    fn settle(&self, id: Option<u64>, answer: Result<Reply, TransportError>) -> bool {
        let waiting = id.and_then(|id| self.waiting().remove(&id));
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// Removes a request whose answer is no longer awaited.
    pub(super) fn remove(&self, id: u64) {
        self.waiting().remove(&id);
    }

    /// Ends the connection, and fails all requests in flight. Returns `false` if the connection had
    /// already ended.
    pub(super) fn end(&self, reason: &EndReason) -> bool {
        let mut waiting = self.waiting();
        let is_new = self.ended.set(reason.clone()).is_ok();
        for (_, waiting) in waiting.drain() {
            let lost = LostReason::Ended(reason.clone());
            let _ = waiting.send(Err(TransportError::Lost(lost)));
        }
        is_new
    }

    /// Returns how the connection ended, or `None` while it is alive.
    pub(super) fn end_reason(&self) -> Option<EndReason> {
        self.ended.get().cloned()
    }

    fn waiting(
        &self,
    ) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Reply, TransportError>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
