//! The requests of a session that are in flight. No two of them have the same id, and
//! `notifications/cancelled` finds its request here.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::{AbortHandle, AbortRegistration, Abortable};

use super::ClientSession;

/// The most requests of a session that are in flight at the same time.
const MAX_IN_FLIGHT: usize = 512;

/// The handles that abort the requests, by the ids of the requests as written.
#[derive(Debug, Default)]
pub(super) struct AbortHandles(Mutex<HashMap<Box<str>, AbortHandle>>);

/// A request in flight. Dropping this value frees the request's id.
pub struct InFlightRequest {
    session: Arc<ClientSession>,
    id: Box<str>,
    registration: Option<AbortRegistration>,
}

/// Why a request does not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotBegun {
    #[error("a request with this id is still in flight; use another id")]
    IdInUse,
    #[error(
        "this session has {MAX_IN_FLIGHT} requests in flight, which is the limit; wait for an answer, then send the request again"
    )]
    TooMany,
}

/// Why a request ends without its own answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Aborted {
    #[error("cancelled")]
    Cancelled,
    #[error("the session has ended")]
    SessionEnded,
}

impl ClientSession {
    /// Registers a request.
    ///
    /// # Errors
    /// Returns an error if a request with that id is in flight already, or if too many requests are
    /// in flight.
    pub fn begin_request(self: &Arc<Self>, id: &str) -> Result<InFlightRequest, NotBegun> {
        let (handle, registration) = AbortHandle::new_pair();
        let id: Box<str> = id.into();
        let mut in_flight = self.in_flight.lock();
        if in_flight.len() >= MAX_IN_FLIGHT {
            return Err(NotBegun::TooMany);
        }
        match in_flight.entry(id.clone()) {
            Entry::Occupied(_) => return Err(NotBegun::IdInUse),
            Entry::Vacant(vacant) => vacant.insert(handle.clone()),
        };
        drop(in_flight);
        // The session may have ended after the caller looked it up.
        if self.ended.is_cancelled() {
            handle.abort();
        }
        Ok(InFlightRequest {
            session: self.clone(),
            id,
            registration: Some(registration),
        })
    }

    /// Cancels a request. Does nothing if the request is not in flight.
    pub fn cancel_request(&self, id: &str) {
        if let Some(handle) = self.in_flight.lock().get(id) {
            handle.abort();
        }
    }

    /// Returns whether any request is in flight.
    pub fn has_in_flight(&self) -> bool {
        !self.in_flight.lock().is_empty()
    }

    /// Ends the session and its requests in flight.
    pub(super) fn end(&self) {
        self.ended.cancel();
        self.in_flight.lock().values().for_each(AbortHandle::abort);
    }
}

impl AbortHandles {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightRequest {
    pub fn session(&self) -> &Arc<ClientSession> {
        &self.session
    }

    /// Returns the request's id as written.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Runs the future that answers the request, until the client cancels the request or the
    /// session ends. Runs only one future: a second call fails.
    ///
    /// # Errors
    /// Returns an error if the request is cancelled or the session ends.
    pub async fn run<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, Aborted> {
        let Some(registration) = self.registration.take() else {
            return Err(Aborted::Cancelled);
        };
        Abortable::new(answer, registration).await.map_err(|_| {
            if self.session.ended.is_cancelled() {
                Aborted::SessionEnded
            } else {
                Aborted::Cancelled
            }
        })
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.session.in_flight.lock().remove(&self.id);
        self.session.touch();
    }
}
