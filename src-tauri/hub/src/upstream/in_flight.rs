//! The requests in flight at one server: to whom belongs what the server sends meanwhile, and how long it may take.
//!
//! Over stdio a server does not say which request it works on when it asks something itself. What it
//! asks goes to the client whose request is in flight; where those of two clients are, to nobody.

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

/// What is in flight, by the ids of the requests.
#[derive(Default)]
pub(super) struct InFlight {
    requests: Mutex<BTreeMap<u64, Request>>,
}

struct Request {
    /// None for Drawbridge's own.
    back: Option<Back>,
    /// The client's own progress token.
    progress_token: Option<Box<RawValue>>,
    pulse: Arc<Pulse>,
}

/// The signs of life of a request.
struct Pulse {
    last: Mutex<Instant>,
    /// What the server has asked and waits for: a person may have to answer.
    asking: AtomicU32,
}

impl InFlight {
    /// Notes a request until the returned value is dropped.
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

    /// Passes progress on to the client that asked for it, with its own token.
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

    /// Who is to hear what the server says: the client of the request that it belongs to. Where that is not told, the
    /// one client that has something in flight; nobody where there is none, or more than one.
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

/// The client that hears what a server says.
pub(super) struct Owner {
    pub(super) back: Back,
    pulse: Arc<Pulse>,
}

impl Owner {
    /// The server waits for an answer until the returned value is dropped: meanwhile its own time stands still.
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

    /// Until when it may go on without another sign of life.
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
    /// Returns once the request has taken too long: without progress, or in all.
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

    /// Why it has expired.
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
