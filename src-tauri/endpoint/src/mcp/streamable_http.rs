//! Streamable HTTP towards clients (MCP 2025-03-26 and later). A POST carries one message or a
//! [`batch`]. The answer is a JSON body or, if messages that belong to the request precede it, an
//! event stream. [`session_stream`](super::session_stream) is the stream of messages that belong to
//! no request.
//!
//! If a client disconnects, the handler's future or the response's body is dropped, which cancels
//! the call.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, StatusCode, Uri, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use drawbridge_hub::{
    model::{
        ids::{ClientName, ServerId},
        rpc::{RpcError, code},
    },
    protocol::{self, handshake},
    sessions::{ClientScope, ClientSession},
};
use futures_util::StreamExt;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{
    batch, events,
    exchange::{Exchange, ResponseMessages, handle_notification},
    stateless::{self, RawRequest},
};
use crate::{
    auth, body,
    error_response::{Refusal, RpcRefusal},
    headers::{accepts_events, accepts_json, header_text, is_json},
    server::ListenerState,
    wire::{self, Id, Message},
};

pub(crate) const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The largest number of messages of a request that wait for the client to read them.
pub(super) const MAX_QUEUED_MESSAGES: usize = 64;

pub(super) type McpResult = Result<Response, RpcRefusal>;

/// The client that sent a request, and the scope that the path names.
pub(super) struct Caller {
    pub(super) client: ClientName,
    pub(super) scope: ClientScope,
}

impl Caller {
    /// Returns the caller of a request.
    ///
    /// # Errors
    /// Returns an error if the client is unknown, or if the path names a server that does not exist
    /// or may not run.
    pub(super) async fn from_request(
        state: &ListenerState,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Self, RpcRefusal> {
        let client = auth::authenticate_client(state, headers).await?;
        let server = uri
            .path()
            .strip_prefix("/mcp")
            .map(|rest| rest.trim_matches('/'))
            .unwrap_or_default();
        if server.is_empty() {
            return Ok(Self {
                client,
                scope: ClientScope::All,
            });
        }
        let id = ServerId::new(server);
        if state.hub.has_server(&id) {
            return Ok(Self {
                client,
                scope: ClientScope::One(id),
            });
        }
        Err(Refusal::new(
            StatusCode::NOT_FOUND,
            format!("there is no server '{id}' that is enabled and accepted"),
        )
        .into())
    }

    /// Returns the session that the request names.
    ///
    /// # Errors
    /// Returns 400 if the request names no session. Returns 404 if there is no such session, or if
    /// it belongs to another client or scope.
    pub(super) fn find_session(
        &self,
        state: &ListenerState,
        headers: &HeaderMap,
        id: Option<Id<'_>>,
    ) -> Result<Arc<ClientSession>, RpcRefusal> {
        let refusal = |status, message: &str| {
            RpcRefusal::new(status, id, &RpcError::new(code::INVALID_REQUEST, message))
        };
        let Some(name) = header_text(headers, &SESSION_HEADER) else {
            return Err(refusal(
                StatusCode::BAD_REQUEST,
                "the header `Mcp-Session-Id` is missing; send `initialize` first, then repeat the session id of its answer",
            ));
        };
        let session = state.hub.sessions().get(&name);
        let session =
            session.filter(|session| session.client == self.client && session.scope == self.scope);
        session.ok_or_else(|| {
            refusal(
                StatusCode::NOT_FOUND,
                "this session does not exist or has ended; send `initialize` again",
            )
        })
    }
}

/// `POST /mcp`: handles one message or a batch.
pub(crate) async fn post(State(state): State<Arc<ListenerState>>, request: Request) -> McpResult {
    let (Parts { uri, headers, .. }, body) = request.into_parts();
    let caller = Caller::from_request(&state, &uri, &headers).await?;
    check_content_type(&headers)?;
    if !accepts_json(&headers) {
        let message = "the header `Accept` must allow application/json";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message).into());
    }
    let body = body::read_body(body).await?;
    if batch::is_batch(&body) {
        return Box::pin(batch::handle(&state, &caller, &headers, &body)).await;
    }
    let message = wire::parse(&body)?;
    if let Message::Request { id, method, params } = &message
        && stateless::is_stateless_request(&headers, method, *params)
    {
        let raw = RawRequest {
            caller,
            id: *id,
            method,
            params: *params,
        };
        return Box::pin(stateless::answer(&state, &headers, raw)).await;
    }
    if stateless::names_modern_revision(&headers) {
        return stateless::handle_non_request(&message);
    }
    check_version(&headers)?;
    match message {
        Message::Request { id, method, params } if method == "initialize" => {
            Box::pin(initialize(&state, caller, id, params)).await
        }
        Message::Request { id, method, params } => {
            let session = caller.find_session(&state, &headers, Some(id))?;
            let exchange = Exchange::begin(&state, &session, id, &method, params)?;
            if accepts_events(&headers) {
                return Ok(run_exchange(exchange).await);
            }
            Ok(json_response(exchange.answer(None).await))
        }
        Message::Notification { method, params } => {
            let session = caller.find_session(&state, &headers, None)?;
            handle_notification(&state, &session, &method, params);
            Ok(StatusCode::ACCEPTED.into_response())
        }
        Message::Response { id, reply } => {
            let session = caller.find_session(&state, &headers, None)?;
            session.deliver_reply(id, wire::read_reply(reply).map_err(malformed_error)?);
            Ok(StatusCode::ACCEPTED.into_response())
        }
    }
}

/// `DELETE /mcp`: ends the session and its requests in flight.
pub(crate) async fn delete(
    State(state): State<Arc<ListenerState>>,
    uri: Uri,
    headers: HeaderMap,
) -> McpResult {
    let caller = Caller::from_request(&state, &uri, &headers).await?;
    stateless::refuse_method(&headers)?;
    let session = caller.find_session(&state, &headers, None)?;
    state.hub.sessions().close(&session.id);
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Checks the `Content-Type` of a message.
///
/// # Errors
/// Returns 415 if `Content-Type` is not JSON.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    if is_json(headers) {
        return Ok(());
    }
    let message = "the header `Content-Type` must be application/json";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

/// Checks the `MCP-Protocol-Version` header, if there is one.
///
/// # Errors
/// Returns 400 if the header names an unknown revision.
pub(super) fn check_version(headers: &HeaderMap) -> Result<(), Refusal> {
    match header_text(headers, &VERSION_HEADER) {
        Some(version) if !protocol::is_known_revision(&version) => Err(Refusal::bad_request(
            "the header `MCP-Protocol-Version` names a revision that Drawbridge does not know",
        )),
        _ => Ok(()),
    }
}

/// Returns the refusal of a client's response whose `error` is malformed.
pub(super) fn malformed_error(error: serde_json::Error) -> RpcRefusal {
    Refusal::bad_request(format!("'error' must be a JSON-RPC error: {error}")).into()
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
        Err(error) => return Ok(json_response(wire::encode_error(Some(id), &error))),
    };
    let result = handshake::initialize_result(&hello, state.hub.instructions(&scope).as_deref());
    let session = state.hub.open_session(client, hello, scope).await;
    let name = header::HeaderValue::from_str(session.id.as_str())
        .expect("a session id consists of visible ASCII characters");
    let mut response = json_response(wire::encode_result(id, &result));
    response.headers_mut().insert(SESSION_HEADER, name);
    Ok(response)
}

/// Runs a request. The answer is a JSON body if it is the only message, and otherwise the last
/// event of a stream.
async fn run_exchange(exchange: Exchange) -> Response {
    let (sender, messages) = mpsc::channel(MAX_QUEUED_MESSAGES);
    respond(ResponseMessages::new(
        messages,
        exchange.answer(Some(sender)),
    ))
    .await
}

/// Returns the response: a JSON body for a single message, otherwise a stream.
pub(super) async fn respond(mut messages: ResponseMessages) -> Response {
    let first = messages
        .next()
        .await
        .expect("the answer itself is always a message");
    if messages.is_finished() {
        return json_response(first);
    }
    let rest = futures_util::stream::unfold(messages, |mut messages| async {
        Some((messages.next().await?, messages))
    });
    events::sse_response(
        futures_util::stream::iter([first])
            .chain(rest)
            .map(|message| events::message_event(&message)),
    )
}

pub(super) fn json_response(body: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
