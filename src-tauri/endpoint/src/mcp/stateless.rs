//! Clients without sessions (MCP 2026-07-28). Each request describes itself in its `_meta`, and
//! over TCP repeats parts of that in its headers, which must agree with the body. A client cancels
//! a request by closing the connection.

use std::sync::{Arc, OnceLock};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use drawbridge_hub::{
    Hub,
    model::{
        json::RawObject,
        rpc::{RpcError, code},
    },
    protocol::{
        Era, RequestMeta, headers as repeated,
        meta::{self, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION},
    },
    sessions::{ClientSession, StatelessRequest, Subscription},
};
use futures_util::{StreamExt, stream};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{
    events,
    exchange::Conversation,
    streamable_http::{Caller, MAX_WAITING, Reply, VERSION, stream as streamed},
};
use crate::{
    headers::{is_events, text},
    rescue::{Refusal, RpcRefusal},
    server::{Door, Via},
    wire::{self, Id, Message},
};

/// The methods that were removed together with sessions and the experimental tasks.
const REMOVED: [&str; 7] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/list",
    "tasks/result",
];
/// Asks proxies to forward each event at once.
const NO_BUFFERING: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);

/// A request before its `_meta` is read.
pub(super) struct Asked<'a> {
    pub(super) caller: Caller,
    pub(super) id: Id<'a>,
    pub(super) method: &'a str,
    pub(super) params: Option<&'a RawValue>,
}

/// Returns whether the headers name a revision without sessions.
pub(super) fn is_named(headers: &HeaderMap) -> bool {
    text(headers, &VERSION).is_some_and(|version| Era::from_revision(&version) == Some(Era::Modern))
}

/// Returns whether a request belongs to the modern era, which has no sessions.
pub(super) fn is_meant(headers: &HeaderMap, method: &str, params: Option<&RawValue>) -> bool {
    is_named(headers) || method == "server/discover" || meta::named_revision(params).is_some()
}

/// Checks the revision of a GET or DELETE request.
///
/// # Errors
/// Returns 405 if the headers name a revision without sessions, which has only POST.
pub(super) fn refuse_method(headers: &HeaderMap) -> Result<(), Refusal> {
    if is_named(headers) {
        return Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this revision has POST only",
        ));
    }
    Ok(())
}

/// Handles a message that is not a request. Notifications have no effect in this era, and responses
/// are rejected.
pub(super) fn take(message: &Message<'_>) -> Reply {
    match message {
        Message::Notification { .. } => Ok(StatusCode::ACCEPTED.into_response()),
        Message::Request { .. } | Message::Response { .. } => {
            Err(Refusal::bad_request("this revision has requests and notifications only").into())
        }
    }
}

/// Answers a request.
pub(super) async fn answer(door: &Arc<Door>, headers: &HeaderMap, asked: Asked<'_>) -> Reply {
    let id = asked.id;
    match check(door, headers, &asked) {
        Ok((RequestMeta { hello, .. }, params)) if asked.method == "subscriptions/listen" => {
            let subscription = Subscription::from_params(id.to_raw(), &params)
                .map_err(|error| refused(id, &error))?;
            let Caller { client, reach } = asked.caller;
            let session = door.hub.listen(client, hello, reach, subscription).await;
            Ok(listen(
                door,
                id,
                session.map_err(|error| refused(id, &error))?,
            ))
        }
        Ok((RequestMeta { hello, log_level }, params)) => {
            let session = door
                .hub
                .stateless_session(&asked.caller.client, &hello, &asked.caller.reach)
                .await;
            let (stream, messages) = mpsc::channel(MAX_WAITING);
            let attempt = StatelessRequest {
                session,
                stream,
                log_level,
                method: asked.method.to_owned(),
                params,
            };
            Ok(converse(Arc::clone(&door.hub), id, attempt, messages).await)
        }
        Err(error) => Err(refused(id, &error)),
    }
}

/// Reads the request's `_meta`, and compares the request with its headers. Returns the params
/// without what the `_meta` held for Drawbridge.
fn check(
    door: &Door,
    headers: &HeaderMap,
    asked: &Asked<'_>,
) -> Result<(RequestMeta, Box<RawValue>), RpcError> {
    // No intermediary that routes by headers can be between a client and the local socket.
    let is_repeated = door.via == Via::Tcp;
    if let Some(version) = meta::named_revision(asked.params).filter(|_| is_repeated) {
        must_say(headers, repeated::VERSION, Some(&version), "params._meta")?;
    }
    let (meta, params) = meta::take_request_meta(asked.params)?;
    if is_repeated {
        check_headers(door, headers, asked, &params)?;
    }
    if REMOVED.contains(&asked.method) {
        return Err(RpcError::new(
            code::METHOD_NOT_FOUND,
            format!("there is no method '{}' here", asked.method),
        ));
    }
    Ok((meta, params))
}

fn check_headers(
    door: &Door,
    headers: &HeaderMap,
    asked: &Asked<'_>,
    params: &RawValue,
) -> Result<(), RpcError> {
    must_say(
        headers,
        repeated::METHOD,
        Some(asked.method),
        "the body's method",
    )?;
    let params = RawObject::parse(params).unwrap_or_default();
    if let Some(member) = repeated::name_member(asked.method) {
        must_say(
            headers,
            repeated::NAME,
            params.get_string(member).as_deref(),
            &format!("params.{member}"),
        )?;
    }
    if asked.method == "tools/call" {
        let name = params.get_string("name").unwrap_or_default();
        for one in door
            .hub
            .header_params(&asked.caller.client, &asked.caller.reach, &name)
        {
            let given = params
                .get("arguments")
                .and_then(|arguments| repeated::param_value(arguments, &one));
            must_say(
                headers,
                &one.header,
                given.as_deref(),
                &format!("the argument '{}'", one.path.join(".")),
            )?;
        }
    }
    Ok(())
}

/// Checks that a header repeats a value of the body.
///
/// # Errors
/// Returns `-32020` if the header and the body differ, or if only one of them has the value.
fn must_say(
    headers: &HeaderMap,
    name: &str,
    body: Option<&str>,
    what: &str,
) -> Result<(), RpcError> {
    let mismatch = |why: &str| {
        RpcError::new(
            HEADER_MISMATCH,
            format!("Header mismatch: `{name}` {why} ({what})"),
        )
    };
    let mut given = headers.get_all(name).iter();
    match (given.next(), given.next(), body) {
        (None, _, None) => Ok(()),
        (None, _, Some(_)) => Err(mismatch("is missing")),
        (Some(_), Some(_), _) => Err(mismatch("is there twice")),
        (Some(_), None, None) => Err(mismatch("repeats what the body does not have")),
        (Some(value), None, Some(body)) => {
            let value = value
                .to_str()
                .ok()
                .and_then(repeated::decode)
                .ok_or_else(|| mismatch("is not well formed"))?;
            if repeated::values_match(&value, body) {
                Ok(())
            } else {
                Err(mismatch("does not say what the body says"))
            }
        }
    }
}

/// Returns the error response to a request, with the status of the error in this era.
fn refused(id: Id<'_>, error: &RpcError) -> RpcRefusal {
    RpcRefusal::new(status_of(error.code, true), Some(id), error)
}

fn status_of(code: i64, is_ours: bool) -> StatusCode {
    match code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        code::INVALID_PARAMS if is_ours => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

async fn converse(
    hub: Arc<Hub>,
    id: Id<'_>,
    attempt: StatelessRequest,
    messages: mpsc::Receiver<bytes::Bytes>,
) -> Response {
    let failed = Arc::new(OnceLock::new());
    let (id, failed_with) = (id.as_str().to_owned(), Arc::clone(&failed));
    let session = Arc::clone(&attempt.session);
    let answer = async move {
        let reply = tokio::select! {
            reply = hub.handle_stateless_request(attempt) => reply,
            () = session.ended.cancelled() => Err(RpcError::new(code::INTERNAL_ERROR, "the client was shut out")),
        };
        if let Err(error) = &reply {
            let _ = failed_with.set(error.code);
        }
        wire::reply(&id, &reply)
    };
    let mut response = streamed(Conversation::new(messages, answer)).await;
    if let Some(code) = failed.get()
        && !is_events(response.headers())
    {
        *response.status_mut() = status_of(*code, false);
    }
    response
}

/// Returns the stream of a subscription, which is open until the client closes it, its session
/// ends, or the endpoint stops.
fn listen(door: &Arc<Door>, id: Id<'_>, session: Arc<ClientSession>) -> Response {
    let over = wire::result(id, &meta::subscription_ended_result(&id.to_raw()));
    let (stopping, ended) = (door.stopping.clone(), session.ended.clone());
    let open = Open {
        hub: Arc::clone(&door.hub),
        session,
    };
    let messages = stream::unfold(open, |open| async {
        Some((open.session.next_message().await, open))
    });
    let messages = messages
        .take_until(ended.cancelled_owned())
        .take_until(stopping.cancelled_owned());
    let mut response = events::response(
        messages
            .chain(stream::iter([over]))
            .map(|message| events::message(&message)),
    );
    response
        .headers_mut()
        .insert(NO_BUFFERING.0, NO_BUFFERING.1);
    response
}

/// The session of a subscription, closed when its connection closes.
struct Open {
    hub: Arc<Hub>,
    session: Arc<ClientSession>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.hub.sessions().close(&self.session.id);
    }
}
