//! Requests that wait for their responses, matched by id.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// The requests that wait for a response, each with the sender of its outcome.
#[derive(Debug)]
pub struct PendingRequests<T>(Mutex<HashMap<u64, oneshot::Sender<T>>>);

impl<T> Default for PendingRequests<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> PendingRequests<T> {
    /// Registers a request, and returns the receiver of its outcome. Returns `None` if `max`
    /// requests wait already.
    pub fn register(&self, id: u64, max: usize) -> Option<oneshot::Receiver<T>> {
        let mut senders = self.lock();
        if senders.len() >= max {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        senders.insert(id, sender);
        Some(receiver)
    }

    /// Delivers the outcome of a request. Returns whether a receiver waited for the outcome.
    pub fn settle(&self, id: u64, outcome: T) -> bool {
        let sender = self.lock().remove(&id);
        sender.is_some_and(|sender| sender.send(outcome).is_ok())
    }

    /// Removes a request whose outcome nobody needs. Returns `false` if the request was settled or
    /// removed before.
    pub fn remove(&self, id: u64) -> bool {
        self.lock().remove(&id).is_some()
    }

    /// Settles all requests with the outcome that `outcome` returns.
    pub fn settle_all(&self, outcome: impl Fn() -> T) {
        for (_, sender) in self.lock().drain() {
            let _ = sender.send(outcome());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_request_gets_its_own_outcome_once() {
        let pending = PendingRequests::default();
        let first = pending.register(1, 2).expect("there is room");
        let second = pending.register(2, 2).expect("there is room");
        assert!(pending.register(3, 2).is_none());
        assert!(pending.settle(2, "b") && !pending.settle(2, "c"));
        assert_eq!(second.await, Ok("b"));
        pending.settle_all(|| "end");
        assert_eq!(first.await, Ok("end"));
        assert!(!pending.remove(1));
    }
}
