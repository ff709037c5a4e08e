//! Clients without sessions (MCP 2026-07-28). The `_meta` of each request states the revision, the
//! client and its capabilities. Over TCP, headers repeat parts of the body, and must agree with it.
//! A client cancels a request by closing the connection.

use std::sync::{Arc, OnceLock};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use drawbridge_hub::{
    Hub,
    methods::{self, Method},
};
use drawbridge_jsonrpc::{
    client_message::{ClientMessage, Id},
    encode,
    json::RawObject,
    rpc::{RpcError, code},
};
use drawbridge_model::protocol::{
    Era, RequestMeta, headers as repeated_headers,
    meta::{self, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION},
};
use drawbridge_sessions::{
    ClientSession, MessageReader, RequestPermit, StatelessRequest, Subscription, message_stream,
};
use futures_util::{StreamExt, stream};
use serde_json::value::RawValue;

use super::{
    events,
    request::{Caller, names_modern_revision},
    response::{McpResult, ResponseMessages, respond},
};
use crate::{
    error_response::{Refusal, RpcRefusal},
    headers::is_event_stream,
    state::{ListenerKind, ListenerState},
};

/// Asks proxies to forward each event at once.
const NO_BUFFERING: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);

/// A request before its `_meta` is read.
pub(super) struct RawRequest<'a> {
    pub(super) caller: Caller,
    pub(super) id: Id<'a>,
    pub(super) method: &'a str,
    pub(super) params: Option<&'a RawValue>,
}

/// Returns whether a request belongs to the modern era, which has no sessions.
pub(super) fn is_stateless_request(
    headers: &HeaderMap,
    method: &str,
    params: Option<&RawValue>,
) -> bool {
    names_modern_revision(headers)
        || method == "server/discover"
        || meta::named_revision(params).is_some()
}

/// Answers a message that is not a request. Notifications have no effect in this era, and responses
/// are rejected.
pub(super) fn answer_non_request(message: &ClientMessage<'_>) -> McpResult {
    match message {
        ClientMessage::Notification { .. } => Ok(StatusCode::ACCEPTED.into_response()),
        ClientMessage::Request { .. } | ClientMessage::Response { .. } => {
            Err(Refusal::bad_request(
                "in this revision of MCP, a client sends only requests and notifications",
            )
            .into())
        }
    }
}

/// Answers a request.
pub(super) async fn answer(
    state: &Arc<ListenerState>,
    headers: &HeaderMap,
    request: RawRequest<'_>,
    permit: RequestPermit,
) -> McpResult {
    let id = request.id;
    match check_request(state, headers, &request) {
        Ok((method, RequestMeta { hello, .. }, params)) if method.opens_stream() => {
            let subscription = Subscription::from_params(id.to_raw(), &params)
                .map_err(|error| to_refusal(id, &error))?;
            let Caller { client, scope } = request.caller;
            let sessions = state.hub.sessions();
            let session = sessions.open_subscription(client, hello, scope, subscription)?;
            let begun = state.hub.begin_subscription(&session).await;
            begun.map_err(|error| to_refusal(id, &error))?;
            Ok(stream_subscription(state, id, session, permit))
        }
        Ok((_, RequestMeta { hello, log_level }, params)) => {
            let session = state.hub.stateless_session(
                &request.caller.client,
                &hello,
                &request.caller.scope,
            )?;
            let (stream, messages) = message_stream();
            let stateless_request = StatelessRequest {
                session,
                stream,
                permit,
                log_level,
                method: request.method.to_owned(),
                params,
            };
            Ok(run_request(Arc::clone(&state.hub), id, stateless_request, messages).await)
        }
        Err(error) => Err(to_refusal(id, &error)),
    }
}

/// Reads the request's `_meta`, and compares the request with its headers. Returns the method's row
/// in the table of methods, the request's `_meta`, and the params without the members of `_meta`
/// that are for Drawbridge.
fn check_request(
    state: &ListenerState,
    headers: &HeaderMap,
    request: &RawRequest<'_>,
) -> Result<(&'static Method, RequestMeta, Box<RawValue>), RpcError> {
    // No intermediary that routes by headers can be between a client and the local socket.
    let has_repeated_headers = state.kind == ListenerKind::Tcp;
    let mut params = meta::parse_params(request.params)?;
    if has_repeated_headers && let Some(version) = meta::find_revision(&params) {
        require_header_match(
            headers,
            repeated_headers::VERSION,
            Some(&version),
            "params._meta",
        )?;
    }
    let meta = meta::take_request_meta(&mut params)?;
    if has_repeated_headers {
        check_headers(state, headers, request, &params)?;
    }
    let method = methods::find_request(request.method, Era::Modern)?;
    Ok((method, meta, params.to_raw()))
}

fn check_headers(
    state: &ListenerState,
    headers: &HeaderMap,
    request: &RawRequest<'_>,
    params: &RawObject<'_>,
) -> Result<(), RpcError> {
    require_header_match(
        headers,
        repeated_headers::METHOD,
        Some(request.method),
        "the body's method",
    )?;
    if let Some(member) = repeated_headers::name_member(request.method) {
        require_header_match(
            headers,
            repeated_headers::NAME,
            params.get_string(member).as_deref(),
            &format!("params.{member}"),
        )?;
    }
    if request.method == "tools/call" {
        let name = params.get_string("name").unwrap_or_default();
        for header_param in
            state
                .hub
                .header_params(&request.caller.client, &request.caller.scope, &name)
        {
            let argument = params
                .get("arguments")
                .and_then(|arguments| repeated_headers::param_value(arguments, &header_param));
            require_header_match(
                headers,
                &header_param.header,
                argument.as_deref(),
                &format!("the argument '{}'", header_param.path.join(".")),
            )?;
        }
    }
    Ok(())
}

/// Checks that a header repeats a value of the body. `body` is this value, if the body has it, and
/// `body_field` names its place in the error.
///
/// # Errors
/// Returns `-32020` if the header and the body differ, if only one of them has the value, or if the
/// header is repeated or malformed.
fn require_header_match(
    headers: &HeaderMap,
    name: &str,
    body: Option<&str>,
    body_field: &str,
) -> Result<(), RpcError> {
    let mismatch = |reason: &str| {
        RpcError::new(
            HEADER_MISMATCH,
            format!("Header mismatch: `{name}` {reason} ({body_field})"),
        )
    };
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next(), body) {
        (None, _, None) => Ok(()),
        (None, _, Some(_)) => Err(mismatch("is missing")),
        (Some(_), Some(_), _) => Err(mismatch("occurs twice")),
        (Some(_), None, None) => Err(mismatch("has a value that the body does not have")),
        (Some(value), None, Some(body)) => {
            let value = value
                .to_str()
                .ok()
                .and_then(repeated_headers::decode)
                .ok_or_else(|| mismatch("is malformed"))?;
            if repeated_headers::values_match(&value, body) {
                Ok(())
            } else {
                Err(mismatch("differs from the body"))
            }
        }
    }
}

/// Returns the error response to a request, with the status of the error in this era.
fn to_refusal(id: Id<'_>, error: &RpcError) -> RpcRefusal {
    RpcRefusal::new(status_for_code(error.code, true), Some(id), error)
}

/// Returns the status for an error. Invalid params are a bad request only if the request was
/// refused before it ran (`was_refused`): the error of a request that ran may come from a server.
fn status_for_code(code: i64, was_refused: bool) -> StatusCode {
    match code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        code::INVALID_PARAMS if was_refused => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

async fn run_request(
    hub: Arc<Hub>,
    id: Id<'_>,
    stateless_request: StatelessRequest,
    messages: MessageReader,
) -> Response {
    let error_code = Arc::new(OnceLock::new());
    let (id, error_code_setter) = (id.as_json().to_owned(), Arc::clone(&error_code));
    let session = Arc::clone(&stateless_request.session);
    let answer = async move {
        let response = tokio::select! {
            response = hub.handle_stateless_request(stateless_request) => response,
            () = session.ended.cancelled() => Err(RpcError::new(code::INTERNAL_ERROR, "Drawbridge ended the client's session and aborted this request; if the client was not revoked, it may send the request again")),
        };
        if let Err(error) = &response {
            let _ = error_code_setter.set(error.code);
        }
        encode::encode_response(&id, &response)
    };
    let mut response = respond(ResponseMessages::new(messages, answer)).await;
    if let Some(code) = error_code.get()
        && !is_event_stream(response.headers())
    {
        *response.status_mut() = status_for_code(*code, false);
    }
    response
}

/// Returns the stream of a subscription, which is open until the client closes it, its session
/// ends, or the listener stops.
fn stream_subscription(
    state: &Arc<ListenerState>,
    id: Id<'_>,
    session: Arc<ClientSession>,
    permit: RequestPermit,
) -> Response {
    let completion = encode::encode_result(id, &meta::subscription_ended_result(&id.to_raw()));
    let (stopping, ended) = (state.stopping.clone(), session.ended.clone());
    let messages = session.listen();
    let open = OpenSubscription {
        hub: Arc::clone(&state.hub),
        session,
        _permit: permit,
    };
    let messages = stream::unfold((messages, open), |(mut messages, open)| async {
        Some((messages.next().await?, (messages, open)))
    });
    let messages = messages
        .take_until(ended.cancelled_owned())
        .take_until(stopping.cancelled_owned());
    let mut response = events::sse_response(
        messages
            .chain(stream::iter([completion]))
            .map(|message| events::message_event(&message)),
    );
    response
        .headers_mut()
        .insert(NO_BUFFERING.0, NO_BUFFERING.1);
    response
}

/// The session of a subscription, closed when its connection closes.
struct OpenSubscription {
    hub: Arc<Hub>,
    session: Arc<ClientSession>,
    /// Accounts for the memory of the subscription's filter, which may be long.
    _permit: RequestPermit,
}

impl Drop for OpenSubscription {
    fn drop(&mut self) {
        self.hub.sessions().close(&self.session.id);
    }
}
