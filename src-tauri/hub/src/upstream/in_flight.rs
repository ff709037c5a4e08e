//! The requests in flight at one server: which client receives the messages that the server sends
//! meanwhile, and how long a request may take.
//!
//! Over stdio, a server does not name the request that it works on when it sends a request of its
//! own. Drawbridge passes the server's request to the client that has a request in flight. If two
//! clients have one, neither receives it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};

use super::{UpstreamError, session::Patience};
use crate::{model::json::RawObject, sessions::Back};

/// The requests in flight, by id.
#[derive(Default)]
pub(super) struct InFlight {
    requests: Mutex<BTreeMap<u64, Request>>,
}

struct Request {
    /// The handle of the client, or `None` if the request is Drawbridge's own.
    back: Option<Back>,
    /// The client's own progress token.
    progress_token: Option<Box<RawValue>>,
    pulse: Arc<Pulse>,
}

/// The signs of life of a request.
struct Pulse {
    last: Mutex<Instant>,
    /// How many requests of the server wait for an answer. A person may have to give it.
    asking: AtomicU32,
}

impl InFlight {
    /// Registers a request until the returned value is dropped.
    pub(super) fn begin(
        &self,
        id: u64,
        back: Option<&Back>,
        progress_token: Option<&RawValue>,
    ) -> Flight<'_> {
        let pulse = Arc::new(Pulse {
            last: Mutex::new(Instant::now()),
            asking: AtomicU32::new(0),
        });
        let progress_token = progress_token.map(ToOwned::to_owned);
        self.lock().insert(
            id,
            Request {
                back: back.cloned(),
                progress_token,
                pulse: pulse.clone(),
            },
        );
        Flight {
            all: self,
            id,
            pulse,
            began: Instant::now(),
        }
    }

    /// Passes progress on to the client that asked for it, with the client's own token.
    pub(super) fn progress(&self, params: &RawValue) {
        let Ok(mut params) = RawObject::parse(params) else {
            return;
        };
        let id = params
            .get("progressToken")
            .and_then(|token| token.get().parse().ok());
        let requests = self.lock();
        let Some(request) = id.and_then(|id: u64| requests.get(&id)) else {
            return;
        };
        request.pulse.beat();
        if let Some(back) = &request.back
            && let Some(token) = back
                .progress_token()
                .or_else(|| request.progress_token.clone())
        {
            params.set("progressToken", token);
            back.notify("notifications/progress", Some(&params.to_raw()));
        }
    }

    /// Returns the client that receives a message from the server. If the transport names the
    /// request during which the message was sent, this is the client of that request. Otherwise it
    /// is the only client with a request in flight. Returns `None` if there is none, or more than
    /// one.
    pub(super) fn owner(&self, during: Option<u64>) -> Option<Owner> {
        let requests = self.lock();
        let owner = |request: &Request| {
            Some(Owner {
                back: request.back.clone()?,
                pulse: request.pulse.clone(),
            })
        };
        if let Some(id) = during {
            return requests.get(&id).and_then(owner);
        }
        let mut owners = requests.values().rev().filter_map(owner);
        let latest = owners.next()?;
        owners
            .all(|other| other.back.session().id == latest.back.session().id)
            .then_some(latest)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client that receives the server's messages.
pub(super) struct Owner {
    pub(super) back: Back,
    pulse: Arc<Pulse>,
}

impl Owner {
    /// Stops the timeout for signs of life until the returned value is dropped, because the server
    /// waits for an answer. The total timeout continues.
    pub(super) fn asked(&self) -> impl Drop + use<> {
        self.pulse.asking.fetch_add(1, Ordering::Relaxed);
        Asked(self.pulse.clone())
    }
}

struct Asked(Arc<Pulse>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.beat();
        self.0.asking.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pulse {
    fn beat(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the deadline for the next sign of life.
    fn due(&self, patience: Duration) -> Instant {
        if self.asking.load(Ordering::Relaxed) > 0 {
            return Instant::now() + patience;
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) + patience
    }
}

/// A request in flight.
pub(super) struct Flight<'a> {
    all: &'a InFlight,
    id: u64,
    pulse: Arc<Pulse>,
    began: Instant,
}

impl Flight<'_> {
    /// Returns once the request has taken too long: without progress, or in total.
    pub(super) async fn expired(&self, patience: Patience) {
        let end = self.began + patience.total;
        loop {
            let due = self.pulse.due(patience.quiet).min(end);
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
        }
    }

    /// Returns the error for a request that has expired.
    pub(super) fn too_slow(&self, patience: Patience) -> UpstreamError {
        if self.began.elapsed() < patience.total {
            return UpstreamError::no_answer(patience.quiet);
        }
        let total = patience.total.as_secs_f32();
        UpstreamError::TimedOut(format!(
            "it went on for {total} s without an answer, the most that its spec lets it"
        ))
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
    }
}
