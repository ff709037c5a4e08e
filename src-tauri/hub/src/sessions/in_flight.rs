//! The requests of a client that are in flight: an id is used once at a time, and `notifications/cancelled` finds the
//! request that it is about.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::{AbortHandle, AbortRegistration, Abortable};

use super::ClientSession;

/// By their ids, as they were written.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<HashMap<Box<str>, AbortHandle>>);

/// A request in flight, until it is dropped.
pub struct Flight {
    session: Arc<ClientSession>,
    id: Box<str>,
    registration: Option<AbortRegistration>,
}

/// Why a request has no answer of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    #[error("cancelled")]
    Cancelled,
    #[error("the session has ended")]
    Ended,
}

impl ClientSession {
    /// Notes a request; none where one with that id is in flight already.
    pub fn begin(self: &Arc<Self>, id: &str) -> Option<Flight> {
        let (handle, registration) = AbortHandle::new_pair();
        let id: Box<str> = id.into();
        match self.in_flight.lock().entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(vacant) => vacant.insert(handle.clone()),
        };
        // It may have ended between the client's being found and this.
        if self.ended.is_cancelled() {
            handle.abort();
        }
        Some(Flight {
            session: self.clone(),
            id,
            registration: Some(registration),
        })
    }

    /// Cancels a request; nothing happens where it is not in flight.
    pub fn cancel(&self, id: &str) {
        if let Some(handle) = self.in_flight.lock().get(id) {
            handle.abort();
        }
    }

    /// Whether a request is in flight.
    pub fn has_in_flight(&self) -> bool {
        !self.in_flight.lock().is_empty()
    }

    /// Ends the session, and what is in flight with it.
    pub(super) fn end(&self) {
        self.ended.cancel();
        self.in_flight.lock().values().for_each(AbortHandle::abort);
    }
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    pub fn session(&self) -> &Arc<ClientSession> {
        &self.session
    }

    /// The request's id as it was written.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Runs what answers the request, until it is cut short.
    ///
    /// # Errors
    /// Why it was.
    pub async fn run<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, Cut> {
        let Some(registration) = self.registration.take() else {
            return Err(Cut::Cancelled);
        };
        let is_over = |_| {
            if self.session.ended.is_cancelled() {
                Cut::Ended
            } else {
                Cut::Cancelled
            }
        };
        Abortable::new(answer, registration).await.map_err(is_over)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.session.in_flight.lock().remove(&self.id);
    }
}
