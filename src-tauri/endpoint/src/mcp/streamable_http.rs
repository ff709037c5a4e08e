//! Streamable HTTP towards clients (MCP 2025-03-26 and later). A POST carries one message or a
//! [`batch`]. The answer is a JSON body or, if messages that belong to the request precede it, an
//! event stream. [`session_stream`](super::session_stream) is the stream of messages that belong to
//! no request.
//!
//! If a client disconnects before the stream has begun, the handler's future is dropped, which
//! cancels the request. Once the stream has begun, its client can resume, if the request belongs to
//! a session and to no batch, and arrived over TCP: see [`answer_stream`](super::answer_stream).

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use drawbridge_hub::methods;
use drawbridge_jsonrpc::{
    client_message::{self, ClientMessage, Id},
    encode,
    headers::SESSION_ID,
};
use drawbridge_model::protocol::handshake;
use drawbridge_sessions::{ClientSession, message_stream};
use serde_json::value::RawValue;

use super::{
    answer_stream::AnswerStream,
    batch,
    exchange::Exchange,
    request::{
        Caller, check_content_type, check_version, malformed_error, names_modern_revision,
        refuse_modern_revision,
    },
    response::{McpResult, ResponseMessages, json_response, respond},
    stateless::{self, RawRequest},
};
use crate::{
    body,
    error_response::Refusal,
    headers::{accepts_events, accepts_json},
    state::{ListenerKind, ListenerState},
};

/// `POST /mcp`: answers one message or a batch.
pub(crate) async fn post(State(state): State<Arc<ListenerState>>, request: Request) -> McpResult {
    let (parts, mut body) = request.into_parts();
    let caller = Caller::from_request(&state, &parts, Some(&mut body)).await?;
    let Parts { headers, .. } = parts;
    check_content_type(&headers)?;
    if !accepts_json(&headers) {
        let message = "the header `Accept` must allow application/json";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message).into());
    }
    let mut permit = state.hub.sessions().budget().begin(&caller.client)?;
    let body = body::read_body(body, &mut permit).await?;
    if batch::is_batch(&body) {
        return Box::pin(batch::answer(&state, &caller, &headers, &body, permit)).await;
    }
    let message = client_message::parse(&body)?;
    if let ClientMessage::Request { id, method, params } = &message
        && stateless::is_stateless_request(&headers, method, *params)
    {
        let raw = RawRequest {
            caller,
            id: *id,
            method,
            params: *params,
        };
        return Box::pin(stateless::answer(&state, &headers, raw, permit)).await;
    }
    if names_modern_revision(&headers) {
        return stateless::answer_non_request(&message);
    }
    check_version(&headers)?;
    match message {
        ClientMessage::Request { id, method, params } if methods::opens_session(&method) => {
            Box::pin(initialize(&state, caller, id, params)).await
        }
        ClientMessage::Request { id, method, params } => {
            let session = caller.find_session(&state, &headers, Some(id))?;
            let exchange = Exchange::begin(&state, &session, id, &method, params, permit)?;
            // The exchange has its own copy of the params.
            drop(body);
            if accepts_events(&headers) {
                return Ok(run_exchange(state, session, exchange).await);
            }
            Ok(json_response(exchange.answer(None).await))
        }
        ClientMessage::Notification { method, params } => {
            let session = caller.find_session(&state, &headers, None)?;
            state.hub.handle_notification(&session, &method, params);
            Ok(StatusCode::ACCEPTED.into_response())
        }
        ClientMessage::Response { id, response } => {
            let session = caller.find_session(&state, &headers, None)?;
            session.deliver_response(
                id,
                client_message::read_response(response).map_err(malformed_error)?,
            );
            Ok(StatusCode::ACCEPTED.into_response())
        }
    }
}

/// `DELETE /mcp`: ends the session and its requests in flight.
pub(crate) async fn delete(State(state): State<Arc<ListenerState>>, request: Request) -> McpResult {
    let (parts, _) = request.into_parts();
    let caller = Caller::from_request(&state, &parts, None).await?;
    let Parts { headers, .. } = parts;
    refuse_modern_revision(&headers)?;
    let session = caller.find_session(&state, &headers, None)?;
    state.hub.sessions().close(&session.id);
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn initialize(
    state: &ListenerState,
    caller: Caller,
    id: Id<'_>,
    params: Option<&RawValue>,
) -> McpResult {
    let Caller { client, scope } = caller;
    let hello = match handshake::read_initialize(params) {
        Ok(hello) => hello,
        Err(error) => return Ok(json_response(encode::encode_error(Some(id), &error))),
    };
    let servers = state.hub.introduce_servers(&client, &scope);
    let result = handshake::initialize_result(&hello, &servers);
    let session = state.hub.open_session(client, hello, scope)?;
    let name = header::HeaderValue::from_str(session.id.as_str())
        .expect("a session id consists of visible ASCII characters");
    let mut response = json_response(encode::encode_result(id, &result));
    response.headers_mut().insert(SESSION_ID, name);
    Ok(response)
}

/// Runs a request. The answer is a JSON body if it is the only message, and otherwise the last
/// event of a stream.
async fn run_exchange(
    state: Arc<ListenerState>,
    session: Arc<ClientSession>,
    exchange: Exchange,
) -> Response {
    let (sender, messages) = message_stream();
    let mut messages = ResponseMessages::new(messages, exchange.answer(Some(sender)));
    // A connection over the local socket breaks only when its program ends, so no client resumes.
    if state.kind == ListenerKind::Local {
        return respond(messages).await;
    }
    let first = messages.first().await;
    if messages.is_finished() {
        return json_response(first);
    }
    AnswerStream::respond(state, session, first, messages)
}
