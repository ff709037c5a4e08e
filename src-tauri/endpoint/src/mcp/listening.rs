//! `GET /mcp`: the stream of a session's messages that belong to no request.
//!
//! A session has one such stream, and a new stream replaces the old one. Events have ids, and the
//! last ones are kept, so that a client whose connection broke can resume after its
//! `Last-Event-ID`.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode, Uri},
};
use bytes::Bytes;
use drawbridge_hub::{model::ids::SessionId, sessions::ClientSession};
use futures_util::{Stream, StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::{
    events, stateless,
    streamable_http::{Caller, Reply, check_version},
};
use crate::{
    headers::{accepts_events, text},
    rescue::Refusal,
    server::Door,
};

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The number of messages of a session that are kept for a client that reconnects.
const MAX_KEPT: usize = 64;

/// `GET /mcp`: streams a session's messages until the session ends, the endpoint stops or another
/// stream replaces this one.
pub(crate) async fn get(State(door): State<Arc<Door>>, uri: Uri, headers: HeaderMap) -> Reply {
    let caller = Caller::of(&door, &uri, &headers).await?;
    stateless::refuse_method(&headers)?;
    if !accepts_events(&headers) {
        let message = "the header `Accept` must allow text/event-stream";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message).into());
    }
    check_version(&headers)?;
    let session = caller.session(&door, &headers, None)?;
    let last = text(&headers, &LAST_EVENT).and_then(|id| id.parse().ok());
    let (stopping, ended) = (door.stopping.clone(), session.ended.clone());
    let messages = door.listeners.listen(session, last);
    let messages = messages
        .take_until(stopping.cancelled_owned())
        .take_until(ended.cancelled_owned());
    Ok(events::response(messages.map(|(id, message)| {
        events::message(&message).id(id.to_string())
    })))
}

/// The streams, by session, with the last messages sent on each.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<HashMap<SessionId, Listener>>);

struct Listener {
    session: Arc<ClientSession>,
    said: Arc<Mutex<Said>>,
    taken_over: CancellationToken,
}

/// The last messages of a session, each with its event id.
#[derive(Default)]
struct Said {
    last: u64,
    kept: VecDeque<(u64, Bytes)>,
}

impl Listeners {
    /// Returns the messages of a session with their ids, beginning with the kept ones after `last`.
    /// Ends the session's previous stream.
    fn listen(
        &self,
        session: Arc<ClientSession>,
        last: Option<u64>,
    ) -> impl Stream<Item = (u64, Bytes)> + use<> {
        let taken_over = CancellationToken::new();
        let said = self.take_over(&session, &taken_over);
        let missed = last
            .map(|last| lock(&said).behind(last))
            .unwrap_or_default();
        let live = stream::unfold((session, said), |(session, said)| async {
            let message = session.next_message().await;
            let id = lock(&said).keep(message.clone());
            Some(((id, message), (session, said)))
        });
        stream::iter(missed)
            .chain(live)
            .take_until(taken_over.cancelled_owned())
    }

    fn take_over(
        &self,
        session: &Arc<ClientSession>,
        taken_over: &CancellationToken,
    ) -> Arc<Mutex<Said>> {
        let mut listeners = lock(&self.0);
        listeners.retain(|_, listener| !listener.session.ended.is_cancelled());
        let listener = listeners
            .entry(session.id.clone())
            .or_insert_with(|| Listener {
                session: Arc::clone(session),
                said: Arc::default(),
                taken_over: CancellationToken::new(),
            });
        std::mem::replace(&mut listener.taken_over, taken_over.clone()).cancel();
        Arc::clone(&listener.said)
    }
}

impl Said {
    fn keep(&mut self, message: Bytes) -> u64 {
        self.last += 1;
        if self.kept.len() == MAX_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((self.last, message));
        self.last
    }

    fn behind(&self, last: u64) -> Vec<(u64, Bytes)> {
        self.kept
            .iter()
            .filter(|(id, _)| *id > last)
            .cloned()
            .collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
