//! The one translation of failures to replies: `{"error":{"code","message"}}` for people and
//! scripts, JSON-RPC errors for MCP clients. There is no empty reply.

use std::any::Any;

use axum::{
    Json,
    extract::rejection::{BytesRejection, PathRejection},
    http::{StatusCode, header},
    response::IntoResponse,
};
use bytes::Bytes;
use drawbridge_hub::{
    api::{ApiError, ErrorCode},
    model::rpc::RpcError,
};
use serde_json::json;

use crate::wire::{self, Fault, Id};

/// A request that the door itself turns away.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) error: ApiError,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, error: ApiError::new(code_of(status), message) }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// The same words for whoever is not known, so that nothing is learnt from them.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "a valid bearer token is needed")
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self { status: status_of(error.code), error }
    }
}

impl From<BytesRejection> for Refusal {
    fn from(rejection: BytesRejection) -> Self {
        Self::new(rejection.status(), format!("body: {}", rejection.body_text()))
    }
}

impl From<PathRejection> for Refusal {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), format!("path: {}", rejection.body_text()))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> axum::response::Response {
        challenge(self.status, (self.status, Json(json!({ "error": self.error }))).into_response())
    }
}

/// A refusal on `/mcp`, where clients read JSON-RPC.
pub(crate) struct RpcRefusal {
    status: StatusCode,
    body: Bytes,
}

impl RpcRefusal {
    pub(crate) fn new(status: StatusCode, id: Option<Id<'_>>, error: &RpcError) -> Self {
        Self { status, body: wire::error(id, error) }
    }

    /// The JSON-RPC error alone.
    pub(crate) fn into_body(self) -> Bytes {
        self.body
    }
}

impl From<Refusal> for RpcRefusal {
    fn from(refusal: Refusal) -> Self {
        let error = RpcError::new(drawbridge_hub::model::rpc::code::INVALID_REQUEST, refusal.error.message);
        Self::new(refusal.status, None, &error)
    }
}

impl From<Fault<'_>> for RpcRefusal {
    fn from(fault: Fault<'_>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, fault.id, &fault.error)
    }
}

impl IntoResponse for RpcRefusal {
    fn into_response(self) -> axum::response::Response {
        challenge(self.status, (self.status, [(header::CONTENT_TYPE, "application/json")], self.body).into_response())
    }
}

/// Says with a 401 what is needed.
fn challenge(status: StatusCode, mut response: axum::response::Response) -> axum::response::Response {
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    }
    response
}

/// The reply of a handler that panicked.
pub(crate) fn panicked(_: Box<dyn Any + Send>) -> axum::response::Response {
    tracing::error!("a request handler panicked");
    internal().into_response()
}

/// The reply where Drawbridge itself is at fault.
pub(crate) fn internal() -> Refusal {
    ApiError::internal("Drawbridge failed at this request; its log says more").into()
}

pub(crate) async fn unknown_route() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is no such route")
}

pub(crate) async fn wrong_method() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this route has no such method; the header `Allow` lists those it has")
}

fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::Invalid => StatusCode::BAD_REQUEST,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict => StatusCode::CONFLICT,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The nearest of the closed list of codes; also for replies that are not from our door.
pub(crate) fn code_of(status: StatusCode) -> ErrorCode {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorCode::Forbidden,
        StatusCode::NOT_FOUND => ErrorCode::NotFound,
        StatusCode::CONFLICT => ErrorCode::Conflict,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY => {
            ErrorCode::Unavailable
        }
        StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => ErrorCode::Timeout,
        other if other.is_client_error() => ErrorCode::Invalid,
        _ => ErrorCode::Internal,
    }
}
