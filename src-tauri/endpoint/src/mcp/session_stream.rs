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
    streamable_http::{Caller, McpResult, check_version},
};
use crate::{
    error_response::Refusal,
    headers::{accepts_events, header_text},
    server::ListenerState,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The number of messages of a session that are kept for a client that reconnects.
const MAX_REPLAY_MESSAGES: usize = 64;

/// `GET /mcp`: streams a session's messages until the session ends, the endpoint stops or another
/// stream replaces this one.
pub(crate) async fn get(
    State(state): State<Arc<ListenerState>>,
    uri: Uri,
    headers: HeaderMap,
) -> McpResult {
    let caller = Caller::from_request(&state, &uri, &headers).await?;
    stateless::refuse_method(&headers)?;
    if !accepts_events(&headers) {
        let message = "the header `Accept` must allow text/event-stream";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message).into());
    }
    check_version(&headers)?;
    let session = caller.find_session(&state, &headers, None)?;
    let last_event_id = header_text(&headers, &LAST_EVENT_ID).and_then(|id| id.parse().ok());
    let (stopping, ended) = (state.stopping.clone(), session.ended.clone());
    let messages = state.session_streams.open(session, last_event_id);
    let messages = messages
        .take_until(stopping.cancelled_owned())
        .take_until(ended.cancelled_owned());
    Ok(events::sse_response(messages.map(|(id, message)| {
        events::message_event(&message).id(id.to_string())
    })))
}

/// The streams, by session, with the last messages sent on each.
#[derive(Default)]
pub(crate) struct SessionStreams(Mutex<HashMap<SessionId, SessionStream>>);

struct SessionStream {
    session: Arc<ClientSession>,
    replay: Arc<Mutex<ReplayBuffer>>,
    replaced: CancellationToken,
}

/// The last messages of a session, each with its event id.
#[derive(Default)]
struct ReplayBuffer {
    last_id: u64,
    messages: VecDeque<(u64, Bytes)>,
}

impl SessionStreams {
    /// Returns the messages of a session with their ids, beginning with the stored ones after
    /// `last_event_id`. Ends the session's previous stream.
    fn open(
        &self,
        session: Arc<ClientSession>,
        last_event_id: Option<u64>,
    ) -> impl Stream<Item = (u64, Bytes)> + use<> {
        let replaced = CancellationToken::new();
        let replay = self.replace_stream(&session, &replaced);
        let missed = last_event_id
            .map(|id| lock(&replay).messages_after(id))
            .unwrap_or_default();
        let live = stream::unfold((session, replay), |(session, replay)| async {
            let message = session.next_message().await;
            let id = lock(&replay).push(message.clone());
            Some(((id, message), (session, replay)))
        });
        stream::iter(missed)
            .chain(live)
            .take_until(replaced.cancelled_owned())
    }

    fn replace_stream(
        &self,
        session: &Arc<ClientSession>,
        replaced: &CancellationToken,
    ) -> Arc<Mutex<ReplayBuffer>> {
        let mut streams = lock(&self.0);
        streams.retain(|_, stream| !stream.session.ended.is_cancelled());
        let stream = streams
            .entry(session.id.clone())
            .or_insert_with(|| SessionStream {
                session: Arc::clone(session),
                replay: Arc::default(),
                replaced: CancellationToken::new(),
            });
        std::mem::replace(&mut stream.replaced, replaced.clone()).cancel();
        Arc::clone(&stream.replay)
    }
}

impl ReplayBuffer {
    fn push(&mut self, message: Bytes) -> u64 {
        self.last_id += 1;
        if self.messages.len() == MAX_REPLAY_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back((self.last_id, message));
        self.last_id
    }

    fn messages_after(&self, last_event_id: u64) -> Vec<(u64, Bytes)> {
        self.messages
            .iter()
            .filter(|(id, _)| *id > last_event_id)
            .cloned()
            .collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
