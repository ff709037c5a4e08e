//! The requests in flight, by session and id: an id is used once at a time, and
//! `notifications/cancelled` finds the request that it is about.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drawbridge_hub::model::ids::SessionId;
use tokio_util::sync::CancellationToken;

type Key = (SessionId, String);

/// The requests in flight. Cheap to clone.
#[derive(Default, Clone)]
pub(crate) struct InFlight {
    requests: Arc<Mutex<HashMap<Key, CancellationToken>>>,
}

impl InFlight {
    /// Notes a request until the guard is dropped; none where that id is in flight already.
    pub(crate) fn begin(&self, session: &SessionId, id: &str) -> Option<Flight> {
        let key = (session.clone(), id.to_owned());
        let mut requests = self.lock();
        if requests.contains_key(&key) {
            return None;
        }
        let cancelled = CancellationToken::new();
        requests.insert(key.clone(), cancelled.clone());
        drop(requests);
        Some(Flight { all: self.clone(), key, cancelled })
    }

    /// Cancels one request; nothing happens where it is not in flight.
    pub(crate) fn cancel(&self, session: &SessionId, id: &str) {
        if let Some(cancelled) = self.lock().get(&(session.clone(), id.to_owned())) {
            cancelled.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, CancellationToken>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request in flight.
pub(crate) struct Flight {
    all: InFlight,
    key: Key,
    pub(crate) cancelled: CancellationToken,
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}
