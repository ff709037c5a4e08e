//! The requests in flight at one server: which client receives the messages that the server sends
//! meanwhile, and how long a request may take.
//!
//! Over stdio, a server does not name the request that it works on when it sends a request of its
//! own. Drawbridge passes the server's request to the client that has a request in flight. If
//! several clients have requests in flight, none of them receives the server's request. Reads of
//! private lists count only if no client has another request in flight.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use drawbridge_model::{
    ids::CallId,
    protocol::{ProgressToken, ServerProgress},
};
use drawbridge_sessions::ClientHandle;
use drawbridge_store::logs;
use tokio::time::{Instant, sleep_until};

use super::{
    ServerRequest, UpstreamError, error::TimeoutReason, server_request::ProgressObserver,
    timeouts::RequestTimeouts,
};

/// The requests in flight, by id.
#[derive(Default)]
pub(super) struct RequestTracker {
    requests: Mutex<BTreeMap<u64, RequestState>>,
}

struct RequestState {
    /// The handle of the client, or `None` if the request is Drawbridge's own.
    client_handle: Option<ClientHandle>,
    /// The client's own progress token.
    progress_token: Option<ProgressToken>,
    progress_observer: Option<Arc<dyn ProgressObserver>>,
    /// The call to which the request belongs.
    call: Option<CallId>,
    /// Whether the request reads a private list of the client in the background.
    reads_list: bool,
    clock: Arc<ProgressClock>,
}

/// The time since the last sign of life of a request. The clock stands still while the server waits
/// for an answer to a request of its own.
struct ProgressClock {
    /// When the last sign of life arrived.
    last: Mutex<Instant>,
    /// The number of the server's own requests that wait for an answer, maybe from a person.
    unanswered: AtomicU32,
}

impl RequestTracker {
    /// Registers a request until the returned value is dropped.
    pub(super) fn register(&self, id: u64, request: &ServerRequest<'_>) -> TrackedRequest<'_> {
        let clock = Arc::new(ProgressClock {
            last: Mutex::new(Instant::now()),
            unanswered: AtomicU32::new(0),
        });
        self.lock().insert(
            id,
            RequestState {
                client_handle: request.client_handle.cloned(),
                progress_token: request.progress_token.cloned(),
                progress_observer: request.progress_observer.cloned(),
                call: logs::current_call(),
                reads_list: request.reads_list,
                clock: clock.clone(),
            },
        );
        TrackedRequest {
            tracker: self,
            id,
            clock,
            began: Instant::now(),
        }
    }

    /// Counts progress as a sign of life of its request, shows it to the observer, and passes it on
    /// to the client with the client's own token. Returns the call of the request and the server's
    /// text about the progress, if there are both.
    pub(super) fn forward_progress(&self, progress: &ServerProgress) -> Option<(CallId, String)> {
        let requests = self.lock();
        let request = requests.get(&progress.request)?;
        request.clock.reset();
        if let Some(observer) = &request.progress_observer {
            observer.observe(progress);
        }
        if let Some(client_handle) = &request.client_handle
            && let Some(token) = client_handle
                .progress_token()
                .or_else(|| request.progress_token.clone())
        {
            client_handle.forward_progress(progress, &token);
        }
        let text = progress.message.as_ref()?;
        Some((request.call.clone()?, format!("progress: {text}")))
    }

    /// Returns the call to which a message of the server belongs: the call of the request during
    /// which the message was sent, or else the only call in flight.
    pub(super) fn find_call(&self, during_request: Option<u64>) -> Option<CallId> {
        let requests = self.lock();
        if let Some(id) = during_request {
            return requests.get(&id)?.call.clone();
        }
        let mut calls = requests
            .values()
            .filter_map(|request| request.call.as_ref());
        let only = calls.next()?;
        calls.all(|other| other == only).then(|| only.clone())
    }

    /// Returns the client that receives a message from the server. If the transport names the
    /// request during which the message was sent, this is the client of that request. Otherwise it
    /// is the only client with a request in flight. A read of a private list counts only if no
    /// client has another request in flight. Returns `None` if there is no such client, or if there
    /// are several.
    pub(super) fn find_recipient(&self, during_request: Option<u64>) -> Option<Recipient> {
        let requests = self.lock();
        let recipient_of = |request: &RequestState| {
            Some(Recipient {
                client_handle: request.client_handle.clone()?,
                progress_token: request.progress_token.clone(),
                clock: request.clock.clone(),
            })
        };
        if let Some(id) = during_request {
            return requests.get(&id).and_then(recipient_of);
        }
        let has_client = |request: &&RequestState| request.client_handle.is_some();
        let only_lists = requests
            .values()
            .filter(has_client)
            .all(|request| request.reads_list);
        let mut recipients = requests
            .values()
            .rev()
            .filter(|request| request.reads_list == only_lists)
            .filter_map(recipient_of);
        let latest = recipients.next()?;
        recipients
            .all(|other| other.client_handle.session().id == latest.client_handle.session().id)
            .then_some(latest)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, RequestState>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client that receives the server's messages.
pub(super) struct Recipient {
    pub(super) client_handle: ClientHandle,
    /// The progress token of the client's request, if it has one.
    pub(super) progress_token: Option<ProgressToken>,
    clock: Arc<ProgressClock>,
}

impl Recipient {
    /// Stops the inactivity timeout until the returned value is dropped, because the server waits
    /// for an answer. The total timeout continues.
    pub(super) fn pause_timeout(&self) -> impl Drop + use<> {
        self.clock.unanswered.fetch_add(1, Ordering::Relaxed);
        TimeoutPause(self.clock.clone())
    }
}

struct TimeoutPause(Arc<ProgressClock>);

impl Drop for TimeoutPause {
    fn drop(&mut self) {
        self.0.reset();
        self.0.unanswered.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ProgressClock {
    fn reset(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the deadline for the next sign of life.
    fn deadline(&self, time_limit: Duration) -> Instant {
        if self.unanswered.load(Ordering::Relaxed) > 0 {
            return Instant::now() + time_limit;
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) + time_limit
    }
}

/// A request in flight.
pub(super) struct TrackedRequest<'a> {
    tracker: &'a RequestTracker,
    id: u64,
    clock: Arc<ProgressClock>,
    began: Instant,
}

impl TrackedRequest<'_> {
    /// Returns once the request has taken too long, either without a sign of life or in total.
    pub(super) async fn expired(&self, timeouts: RequestTimeouts) {
        let end = self.began + timeouts.total;
        loop {
            let deadline = self.clock.deadline(timeouts.inactivity).min(end);
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }

    /// Returns the error for a request that has expired.
    pub(super) fn timeout_error(&self, timeouts: RequestTimeouts) -> UpstreamError {
        if self.began.elapsed() < timeouts.total {
            return UpstreamError::no_answer(timeouts.inactivity);
        }
        UpstreamError::TimedOut(TimeoutReason::Total {
            total: timeouts.total,
        })
    }
}

impl Drop for TrackedRequest<'_> {
    fn drop(&mut self) {
        self.tracker.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
