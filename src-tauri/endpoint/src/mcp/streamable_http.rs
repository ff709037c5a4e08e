//! Streamable HTTP towards clients (MCP 2025-03-26 and later): one message a POST, answered
//! with one JSON body. There is no stream from the server yet, so GET is not among the methods.
//!
//! A client that goes away drops the handler's future, and with it the call.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use drawbridge_hub::{
    model::{
        ids::{ClientName, SessionId},
        rpc::{RpcError, code},
    },
    protocol,
    sessions::ClientSession,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    headers::{accepts_json, is_json, text},
    rescue::{Refusal, RpcRefusal},
    server::Door,
    wire::{self, Id, Message},
};

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

type Reply = Result<Response, RpcRefusal>;

/// `POST /mcp`: one message.
pub(crate) async fn post(
    State(door): State<Arc<Door>>,
    Extension(client): Extension<ClientName>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Reply {
    check_headers(&headers)?;
    let body = body.map_err(Refusal::from)?;
    match wire::parse(&body)? {
        Message::Request { id, method, params } if method == "initialize" => {
            initialize(&door, client, id, params).await
        }
        Message::Request { id, method, params } => {
            let session = session(&door, &client, &headers, Some(id))?;
            request(&door, &session, id, &method, params).await
        }
        Message::Notification { method, params } => {
            let session = session(&door, &client, &headers, None)?;
            notification(&door, &session, &method, params);
            Ok(StatusCode::ACCEPTED.into_response())
        }
        Message::Response => {
            session(&door, &client, &headers, None)?;
            Ok(StatusCode::ACCEPTED.into_response())
        }
    }
}

/// `DELETE /mcp`: ends the session and what it has in flight.
pub(crate) async fn delete(
    State(door): State<Arc<Door>>,
    Extension(client): Extension<ClientName>,
    headers: HeaderMap,
) -> Reply {
    let session = session(&door, &client, &headers, None)?;
    door.hub.sessions().close(&session.id);
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn check_headers(headers: &HeaderMap) -> Result<(), Refusal> {
    if !is_json(headers) {
        let message = "the header `Content-Type` must be application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if !accepts_json(headers) {
        let message = "the header `Accept` must allow application/json";
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, message));
    }
    match text(headers, &VERSION) {
        Some(version) if !protocol::is_known(&version) => Err(Refusal::bad_request(
            "the header `MCP-Protocol-Version` names a revision that Drawbridge does not know",
        )),
        _ => Ok(()),
    }
}

/// The client's session that the request names. Another client's is as unknown as none.
fn session(
    door: &Door,
    client: &ClientName,
    headers: &HeaderMap,
    id: Option<Id<'_>>,
) -> Result<Arc<ClientSession>, RpcRefusal> {
    let refusal = |status, message: &str| RpcRefusal::new(status, id, &RpcError::new(code::INVALID_REQUEST, message));
    let Some(name) = text(headers, &SESSION) else {
        return Err(refusal(
            StatusCode::BAD_REQUEST,
            "the header `Mcp-Session-Id` is missing: send `initialize` first, then its answer's session id",
        ));
    };
    let session = door.hub.sessions().get(&SessionId::new(name)).filter(|session| session.client == *client);
    session.ok_or_else(|| refusal(StatusCode::NOT_FOUND, "there is no such session: send `initialize` again"))
}

async fn initialize(door: &Door, client: ClientName, id: Id<'_>, params: Option<&RawValue>) -> Reply {
    let agreed = match protocol::initialize(params) {
        Ok(agreed) => agreed,
        Err(error) => return Ok(json(wire::error(Some(id), &error))),
    };
    let session = door.hub.open_session(client, &agreed).await;
    let name = header::HeaderValue::from_str(session.id.as_str()).map_err(|_| crate::rescue::internal())?;
    let mut response = json(wire::result(id, &agreed.result));
    response.headers_mut().insert(SESSION, name);
    Ok(response)
}

async fn request(door: &Door, session: &ClientSession, id: Id<'_>, method: &str, params: Option<&RawValue>) -> Reply {
    let Some(flight) = door.in_flight.begin(&session.id, id.as_str()) else {
        let error = RpcError::new(code::INVALID_REQUEST, "a request with this id is in flight already");
        return Err(RpcRefusal::new(StatusCode::BAD_REQUEST, Some(id), &error));
    };
    let answer = tokio::select! {
        answer = answer(door, session, id, method, params) => answer,
        () = flight.cancelled.cancelled() => cancelled(id, "cancelled"),
        () = session.ended.cancelled() => cancelled(id, "the session has ended"),
    };
    Ok(json(answer))
}

fn cancelled(id: Id<'_>, why: &str) -> Bytes {
    wire::error(Some(id), &RpcError::new(code::INTERNAL_ERROR, why))
}

async fn answer(door: &Door, session: &ClientSession, id: Id<'_>, method: &str, params: Option<&RawValue>) -> Bytes {
    match method {
        "ping" => wire::result(id, empty()),
        "tools/list" => wire::result(id, &door.hub.list_tools().await),
        "tools/call" => match door.hub.call_tool(session, params).await {
            Ok(result) => wire::result(id, &result),
            Err(error) => wire::error(Some(id), &error),
        },
        other => {
            let message = format!("there is no method '{other}' here");
            wire::error(Some(id), &RpcError::new(code::METHOD_NOT_FOUND, message))
        }
    }
}

fn notification(door: &Door, session: &ClientSession, method: &str, params: Option<&RawValue>) {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow, rename = "requestId")]
        request: &'a RawValue,
    }
    if method == "notifications/cancelled"
        && let Some(Ok(cancelled)) = params.map(|params| serde_json::from_str::<Cancelled<'_>>(params.get()))
    {
        door.in_flight.cancel(&session.id, cancelled.request.get());
    }
}

fn empty() -> &'static RawValue {
    serde_json::from_str("{}").unwrap_or(RawValue::NULL)
}

fn json(body: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
