//! HTTP+SSE towards clients (MCP 2024-11-05), replaced in later revisions. `GET /sse` opens the
//! only stream of a session, which carries every message from the hub. A client sends its messages
//! with `POST /messages/?session_id=…`.
//!
//! The session ends with its stream, and its requests in flight are cancelled.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use drawbridge_hub::{Hub, methods};
use drawbridge_jsonrpc::{
    client_message::{self, ClientMessage, Id},
    encode,
};
use drawbridge_model::{protocol::handshake, random};
use drawbridge_sessions::{ClientScope, ClientSession};
use futures_util::{StreamExt, stream};
use serde_json::value::RawValue;

use super::{
    events,
    exchange::Exchange,
    request::{check_content_type, malformed_error},
    response::McpResult,
};
use crate::{
    auth, body,
    error_response::Refusal,
    state::{ListenerState, Outlet},
};

/// `GET /sse`: opens a stream. Its first event names the URL for the client's messages.
pub(crate) async fn open(
    State(state): State<Arc<ListenerState>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, _) = request.into_parts();
    let client = auth::authenticate_client(&state, &parts, None).await?;
    let id = random::token();
    let (open_stream, messages) = state.sse_streams.open(&id, client);
    let endpoint_event = events::endpoint_event(&format!("/messages/?session_id={id}"));
    let stopping = state.stopping.clone();
    let closed = open_stream.outlet.closed.clone();
    // The events own `open_stream`, so the stream counts as closed when the connection drops them.
    let messages = stream::unfold(
        (messages, open_stream),
        |(mut messages, open_stream)| async {
            Some((
                events::message_event(&messages.next().await?),
                (messages, open_stream),
            ))
        },
    );
    let all_events = stream::iter([endpoint_event]).chain(messages);
    Ok(events::sse_response(
        all_events
            .take_until(closed.cancelled_owned())
            .take_until(stopping.cancelled_owned()),
    ))
}

/// `POST /messages/?session_id=…`: accepts one message. Its answer is sent on the stream.
pub(crate) async fn post(State(state): State<Arc<ListenerState>>, request: Request) -> McpResult {
    let (parts, mut body) = request.into_parts();
    let client = auth::authenticate_client(&state, &parts, Some(&mut body)).await?;
    let Parts { uri, headers, .. } = parts;
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
    let mut permit = state.hub.sessions().budget().begin(&client)?;
    let body = body::read_body(body, &mut permit).await?;
    match client_message::parse(&body)? {
        ClientMessage::Request { id, method, params } if methods::opens_session(&method) => {
            initialize(&state, &outlet, id, params).await;
        }
        ClientMessage::Request { id, method, params } => match outlet.session.get() {
            Some(session) => {
                let exchange = Exchange::begin(&state, session, id, &method, params, permit)?;
                tokio::spawn(send_answer(outlet, exchange));
            }
            None => outlet.send_error(id, "send `initialize` first"),
        },
        ClientMessage::Notification { method, params } => {
            if let Some(session) = outlet.session.get() {
                state.hub.handle_notification(session, &method, params);
            }
        }
        ClientMessage::Response { id, response } => {
            let response = client_message::read_response(response).map_err(malformed_error)?;
            if let Some(session) = outlet.session.get() {
                session.deliver_response(id, response);
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
        Err(error) => return outlet.send_answer(encode::encode_error(Some(id), &error)),
    };
    let servers = state
        .hub
        .introduce_servers(&outlet.client, &ClientScope::ALL);
    let result = handshake::initialize_result(&hello, &servers);
    let session = state
        .hub
        .open_session(outlet.client.clone(), hello, ClientScope::ALL);
    let session = match session {
        Ok(session) => session,
        Err(error) => return outlet.send_error(id, &error.to_string()),
    };
    if outlet.session.set(Arc::clone(&session)).is_err() || outlet.closed.is_cancelled() {
        state.hub.sessions().close(&session.id);
        return outlet.send_error(id, "this stream has a session already; open another stream");
    }
    outlet.send_answer(encode::encode_result(id, &result));
    tokio::spawn(forward_messages(
        Arc::clone(&state.hub),
        Arc::clone(outlet),
        session,
    ));
}

/// Forwards to the stream the messages that belong to no request. Ends the session when the stream
/// ends, and the stream when the session ends.
async fn forward_messages(hub: Arc<Hub>, outlet: Arc<Outlet>, session: Arc<ClientSession>) {
    let mut messages = session.listen();
    loop {
        tokio::select! {
            message = messages.next() => match message {
                Some(message) => outlet.send(message),
                None => break,
            },
            () = session.ended.cancelled() => break,
            () = outlet.closed.cancelled() => break,
        }
    }
    outlet.closed.cancel();
    hub.sessions().close(&session.id);
}

async fn send_answer(outlet: Arc<Outlet>, exchange: Exchange) {
    tokio::select! {
        answer = exchange.answer(Some(outlet.queue.clone())) => outlet.send_answer(answer),
        () = outlet.closed.cancelled() => {}
    }
}
