//! The clients' requests in flight at one server: to whom belongs what the server sends meanwhile.
//!
//! Over stdio a server does not say which request it works on when it asks something itself. What it
//! asks goes to the client whose request is in flight; where those of two clients are, to nobody.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::value::RawValue;

use crate::{
    model::json::{self, RawObject},
    sessions::Back,
};

/// What is in flight.
#[derive(Default)]
pub(super) struct InFlight {
    next: AtomicU64,
    requests: Mutex<BTreeMap<u64, Request>>,
}

struct Request {
    back: Back,
    /// The client's own progress token.
    progress_token: Option<Box<RawValue>>,
}

impl InFlight {
    /// Notes a request until the returned value is dropped.
    pub(super) fn begin(&self, back: &Back, progress_token: Option<&RawValue>) -> Flight<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request { back: back.clone(), progress_token: progress_token.map(ToOwned::to_owned) };
        self.lock().insert(number, request);
        Flight { all: self, number }
    }

    /// Passes progress on to the client that asked for it, with its own token.
    pub(super) fn progress(&self, params: &RawValue) {
        let Ok(mut params) = RawObject::parse(params) else { return };
        let number = params.get("progressToken").and_then(|token| token.get().parse().ok());
        let requests = self.lock();
        let request = number.and_then(|number: u64| requests.get(&number));
        if let Some((back, token)) = request.and_then(|request| Some((&request.back, request.progress_token.clone()?)))
        {
            params.set("progressToken", token);
            back.notify("notifications/progress", Some(&params.to_raw()));
        }
    }

    /// The way back to the one client that has something in flight; nothing where there is none, or more than one.
    pub(super) fn owner(&self) -> Option<Back> {
        let requests = self.lock();
        let mut backs = requests.values().rev().map(|request| &request.back);
        let latest = backs.next()?;
        backs.all(|other| other.session().id == latest.session().id).then(|| latest.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight.
pub(super) struct Flight<'a> {
    all: &'a InFlight,
    number: u64,
}

impl Flight<'_> {
    /// The params with Drawbridge's own progress token in the place of the client's.
    pub(super) fn with_token(&self, params: Option<&RawValue>) -> Box<RawValue> {
        let empty = json::raw("{}".into());
        let Ok(mut params) = RawObject::parse(params.unwrap_or(&empty)) else { return empty };
        let meta = params.get("_meta").map_or_else(|| empty.clone(), ToOwned::to_owned);
        let mut meta = RawObject::parse(&meta).unwrap_or_default();
        meta.set("progressToken", json::raw(self.number.to_string()));
        let meta = meta.to_raw();
        params.set("_meta", meta);
        params.to_raw()
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.all.lock().remove(&self.number);
    }
}
