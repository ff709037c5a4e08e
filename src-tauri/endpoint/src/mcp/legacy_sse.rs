//! HTTP+SSE towards clients (MCP 2024-11-05), replaced in later revisions. `GET /sse` opens the
//! only stream of a session, which carries every message from the hub. A client sends its messages
//! with `POST /messages/?session_id=…`.
//!
//! The session ends with its stream, and its requests in flight are cancelled.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, request::Parts},
    response::{IntoResponse, Response, sse::Event},
};
use bytes::Bytes;
use drawbridge_hub::{
    Hub,
    model::{
        ids::ClientName,
        rpc::{RpcError, code},
    },
    protocol::handshake,
    random,
    sessions::{ClientScope, ClientSession},
};
use futures_util::{StreamExt, stream};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    events,
    exchange::{Exchange, handle_notification},
    streamable_http::{McpResult, check_content_type, malformed_error},
};
use crate::{
    auth, body,
    error_response::Refusal,
    server::ListenerState,
    wire::{self, Id, Message},
};

/// The largest number of messages that wait for a client. If a client reads too slowly, its stream
/// is closed.
const MAX_QUEUED_MESSAGES: usize = 256;

/// The open streams, by session id.
#[derive(Default)]
pub(crate) struct SseStreams(Mutex<HashMap<String, Arc<Outlet>>>);

/// The sending side of a client's stream.
struct Outlet {
    client: ClientName,
    queue: mpsc::Sender<Bytes>,
    /// Set by `initialize`.
    session: OnceLock<Arc<ClientSession>>,
    closed: CancellationToken,
}

/// `GET /sse`: opens a stream. Its first event names the URL to post messages to.
pub(crate) async fn open(
    State(state): State<Arc<ListenerState>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let client = auth::authenticate_client(&state, &headers).await?;
    let id = random::token();
    let (queue, messages) = mpsc::channel(MAX_QUEUED_MESSAGES);
    let outlet = Outlet {
        client,
        queue,
        session: OnceLock::new(),
        closed: CancellationToken::new(),
    };
    let endpoint_event = Event::default()
        .event("endpoint")
        .data(format!("/messages/?session_id={id}"));
    let stopping = state.stopping.clone();
    let open = OpenStream::new(state, id, Arc::new(outlet));
    let closed = open.outlet.closed.clone();
    let messages = stream::unfold((messages, open), |(mut messages, open)| async {
        Some((
            events::message_event(&messages.recv().await?),
            (messages, open),
        ))
    });
    let all_events = stream::iter([endpoint_event]).chain(messages);
    Ok(events::sse_response(
        all_events
            .take_until(closed.cancelled_owned())
            .take_until(stopping.cancelled_owned()),
    ))
}

/// `POST /messages/?session_id=…`: takes one message. An answer is sent on the stream.
pub(crate) async fn post(State(state): State<Arc<ListenerState>>, request: Request) -> McpResult {
    let (Parts { uri, headers, .. }, body) = request.into_parts();
    let client = auth::authenticate_client(&state, &headers).await?;
    let id = uri.query().and_then(|query| {
        query
            .split('&')
            .find_map(|pair| pair.strip_prefix("session_id="))
    });
    let id = id.ok_or_else(|| {
        Refusal::bad_request("the query has no `session_id`; open `GET /sse` first, and post to the URL that it sends")
    })?;
    let outlet = state.sse_streams.find(id, &client);
    let outlet = outlet.ok_or_else(|| {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "this session does not exist or has ended; open `GET /sse` again, and keep it open",
        )
    })?;
    check_content_type(&headers)?;
    let body = body::read_body(body).await?;
    match wire::parse(&body)? {
        Message::Request { id, method, params } if method == "initialize" => {
            initialize(&state, &outlet, id, params).await;
        }
        Message::Request { id, method, params } => match outlet.session.get() {
            Some(session) => {
                let exchange = Exchange::begin(&state, session, id, &method, params)?;
                tokio::spawn(send_answer(outlet, exchange));
            }
            None => outlet.refuse(id, "send `initialize` first"),
        },
        Message::Notification { method, params } => {
            if let Some(session) = outlet.session.get() {
                handle_notification(&state, session, &method, params);
            }
        }
        Message::Response { id, reply } => {
            let reply = wire::read_reply(reply).map_err(malformed_error)?;
            if let Some(session) = outlet.session.get() {
                session.deliver_reply(id, reply);
            }
        }
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

async fn initialize(
    state: &ListenerState,
    outlet: &Arc<Outlet>,
    id: Id<'_>,
    params: Option<&RawValue>,
) {
    let hello = match handshake::read_initialize(params) {
        Ok(hello) => hello,
        Err(error) => return outlet.send(wire::encode_error(Some(id), &error)),
    };
    let result =
        handshake::initialize_result(&hello, state.hub.instructions(&ClientScope::All).as_deref());
    let session = state
        .hub
        .open_session(outlet.client.clone(), hello, ClientScope::All)
        .await;
    if outlet.session.set(Arc::clone(&session)).is_err() || outlet.closed.is_cancelled() {
        state.hub.sessions().close(&session.id);
        return outlet.refuse(id, "this stream has a session already; open another stream");
    }
    outlet.send(wire::encode_result(id, &result));
    tokio::spawn(forward_messages(
        Arc::clone(&state.hub),
        Arc::clone(outlet),
        session,
    ));
}

/// Forwards the messages that belong to no request to the stream. If the stream or the session
/// ends, so does the other.
async fn forward_messages(hub: Arc<Hub>, outlet: Arc<Outlet>, session: Arc<ClientSession>) {
    loop {
        tokio::select! {
            message = session.next_message() => outlet.send(message),
            () = session.ended.cancelled() => break,
            () = outlet.closed.cancelled() => break,
        }
    }
    outlet.closed.cancel();
    hub.sessions().close(&session.id);
}

async fn send_answer(outlet: Arc<Outlet>, exchange: Exchange) {
    tokio::select! {
        answer = exchange.answer(Some(outlet.queue.clone())) => outlet.send(answer),
        () = outlet.closed.cancelled() => {}
    }
}

impl Outlet {
    /// Queues a message for the stream. Closes the stream if the queue is full.
    fn send(&self, message: Bytes) {
        if self.queue.try_send(message).is_err() && !self.closed.is_cancelled() {
            tracing::warn!(
                "client {}: its stream is closed, because the client does not read it",
                self.client
            );
            self.closed.cancel();
        }
    }

    fn refuse(&self, id: Id<'_>, why: &str) {
        self.send(wire::encode_error(
            Some(id),
            &RpcError::new(code::INVALID_REQUEST, why),
        ));
    }
}

/// An open stream. Dropping it, when its connection closes, removes it from the table.
struct OpenStream {
    state: Arc<ListenerState>,
    id: String,
    outlet: Arc<Outlet>,
}

impl OpenStream {
    fn new(state: Arc<ListenerState>, id: String, outlet: Arc<Outlet>) -> Self {
        state
            .sse_streams
            .lock()
            .insert(id.clone(), Arc::clone(&outlet));
        Self { state, id, outlet }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.state.sse_streams.lock().remove(&self.id);
        self.outlet.closed.cancel();
    }
}

impl SseStreams {
    /// Returns the stream with this id. Returns `None` if the stream belongs to another client.
    fn find(&self, id: &str, client: &ClientName) -> Option<Arc<Outlet>> {
        self.lock()
            .get(id)
            .filter(|outlet| outlet.client == *client && !outlet.closed.is_cancelled())
            .cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Outlet>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
