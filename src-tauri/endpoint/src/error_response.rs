//! Translates failures into responses: `{"error":{"code","message"}}` for people and scripts,
//! JSON-RPC errors for MCP clients, and OAuth errors for clients that look for OAuth. Each of these
//! responses has a body.

use std::{any::Any, fmt::Write};

use axum::{
    Json,
    extract::rejection::{BytesRejection, PathRejection},
    http::{StatusCode, Uri, header},
    response::{AppendHeaders, IntoResponse, Response},
};
use bytes::Bytes;
use drawbridge_hub::api::{ApiError, ErrorCode};
use drawbridge_jsonrpc::{
    client_message::{Id, ParseError},
    encode,
    rpc::RpcError,
};
use drawbridge_sessions::{BudgetExceeded, TooManyOpened};
use serde::Serialize;
use serde_json::json;

/// The endpoint's refusal of a request.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) error: ApiError,
    /// Has no effect unless the status is 401.
    challenge: Challenge,
    /// After how many seconds the client may send the request again.
    retry_after_s: Option<u64>,
}

/// The reason for a 401, which decides whether the header `WWW-Authenticate` names an error
/// (RFC 6750, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Challenge {
    /// No token was sent, so the header names no error.
    NoToken,
    /// The token that was sent is not valid.
    InvalidToken,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            error: ApiError::new(code_for_status(status), message),
            challenge: Challenge::NoToken,
            retry_after_s: None,
        }
    }

    /// Returns a 429 for a client that may send the request again after this many seconds.
    pub(crate) fn too_many(message: impl Into<String>, retry_after_s: u64) -> Self {
        Self {
            retry_after_s: Some(retry_after_s),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, message)
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// Returns a 401 for a request without a token. `message` says which token to send.
    pub(crate) fn no_token(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// Returns a 401 for a request with an invalid token. `message` must not tell a revoked token
    /// from a token that never existed; only an expired token gets a message of its own. The
    /// message becomes an `error_description`, so it must not contain `"` or `\`.
    pub(crate) fn invalid_token(message: &str) -> Self {
        Self {
            challenge: Challenge::InvalidToken,
            ..Self::new(StatusCode::UNAUTHORIZED, message)
        }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self {
            status: status_for_code(error.code),
            error,
            challenge: Challenge::NoToken,
            retry_after_s: None,
        }
    }
}

impl From<BudgetExceeded> for Refusal {
    fn from(exceeded: BudgetExceeded) -> Self {
        Self {
            retry_after_s: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, exceeded.to_string())
        }
    }
}

impl From<TooManyOpened> for Refusal {
    fn from(error: TooManyOpened) -> Self {
        Self::too_many(error.to_string(), error.wait_s)
    }
}

impl From<BytesRejection> for Refusal {
    fn from(rejection: BytesRejection) -> Self {
        Self::new(
            rejection.status(),
            format!("body: {}", rejection.body_text()),
        )
    }
}

impl From<PathRejection> for Refusal {
    fn from(rejection: PathRejection) -> Self {
        Self::new(
            rejection.status(),
            format!("path: {}", rejection.body_text()),
        )
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let headers = AppendHeaders(self.headers());
        (self.status, headers, Json(json!({ "error": self.error }))).into_response()
    }
}

/// A refusal on the MCP routes. Clients expect JSON-RPC there.
pub(crate) struct RpcRefusal {
    status: StatusCode,
    body: Bytes,
    headers: Vec<(header::HeaderName, String)>,
}

impl RpcRefusal {
    pub(crate) fn new(status: StatusCode, id: Option<Id<'_>>, error: &RpcError) -> Self {
        Self {
            status,
            body: encode::encode_error(id, error),
            headers: Vec::new(),
        }
    }

    /// Returns the JSON-RPC error without the status and headers.
    pub(crate) fn into_body(self) -> Bytes {
        self.body
    }
}

impl From<Refusal> for RpcRefusal {
    fn from(refusal: Refusal) -> Self {
        let headers = refusal.headers();
        let error = RpcError::new(
            drawbridge_jsonrpc::rpc::code::INVALID_REQUEST,
            refusal.error.message,
        );
        Self {
            headers,
            ..Self::new(refusal.status, None, &error)
        }
    }
}

impl From<BudgetExceeded> for RpcRefusal {
    fn from(exceeded: BudgetExceeded) -> Self {
        Refusal::from(exceeded).into()
    }
}

impl From<TooManyOpened> for RpcRefusal {
    fn from(error: TooManyOpened) -> Self {
        Refusal::from(error).into()
    }
}

impl From<ParseError<'_>> for RpcRefusal {
    fn from(parse_error: ParseError<'_>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, parse_error.id, &parse_error.error)
    }
}

impl IntoResponse for RpcRefusal {
    fn into_response(self) -> Response {
        (
            self.status,
            AppendHeaders(self.headers),
            [(header::CONTENT_TYPE, "application/json")],
            self.body,
        )
            .into_response()
    }
}

impl Refusal {
    /// Returns the `WWW-Authenticate` header of a 401, and `Retry-After` if waiting helps.
    fn headers(&self) -> Vec<(header::HeaderName, String)> {
        let mut headers = Vec::new();
        if self.status == StatusCode::UNAUTHORIZED {
            let mut value = r#"Bearer realm="drawbridge""#.to_owned();
            if self.challenge == Challenge::InvalidToken {
                let description = &self.error.message;
                let _ = write!(
                    value,
                    r#", error="invalid_token", error_description="{description}""#
                );
            }
            headers.push((header::WWW_AUTHENTICATE, value));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.push((header::RETRY_AFTER, seconds.to_string()));
        }
        headers
    }
}

/// Returns the response for a handler that panicked.
pub(crate) fn panic_response(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a request handler panicked");
    internal_error().into_response()
}

/// Returns the refusal for an error in Drawbridge itself.
pub(crate) fn internal_error() -> Refusal {
    ApiError::internal("Drawbridge failed to handle this request; see its log for the reason")
        .into()
}

pub(crate) async fn answer_unknown_route(uri: Uri) -> Response {
    if is_oauth_path(uri.path()) {
        return (
            StatusCode::NOT_FOUND,
            Json(OauthError {
                error: "not_supported",
                error_description: NO_OAUTH,
            }),
        )
            .into_response();
    }
    route_not_found().into_response()
}

pub(crate) fn route_not_found() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "there is no such path; check the URL",
    )
}

/// An error in the format of RFC 6749 and RFC 7591, the only format that OAuth clients read.
#[derive(Serialize)]
struct OauthError {
    error: &'static str,
    error_description: &'static str,
}

const NO_OAUTH: &str = "Drawbridge's clients do not sign in with OAuth. Add the client on Drawbridge's Clients screen, or with \
    `drawbridge clients add NAME`, and copy the token that it shows. In this client's configuration, set the header \
    Authorization: Bearer TOKEN with this token. If the header is set already, its token is wrong or was revoked.";

/// Returns whether clients look for OAuth at this path: for a metadata document in `/.well-known/`,
/// with or without a path before or after, or for an endpoint that clients try if there is no
/// metadata.
fn is_oauth_path(path: &str) -> bool {
    let documents = [
        "oauth-protected-resource",
        "oauth-authorization-server",
        "openid-configuration",
    ];
    let well_known = path
        .split_once("/.well-known/")
        .and_then(|(_, rest)| rest.split('/').next());
    well_known.is_some_and(|name| documents.contains(&name))
        || ["/register", "/authorize", "/token"].contains(&path)
}

pub(crate) async fn refuse_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path does not support this method; the header `Allow` lists the supported methods",
    )
}

fn status_for_code(code: ErrorCode) -> StatusCode {
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

/// Returns the error code that fits a status best. Also used for responses that did not come from
/// this endpoint.
pub(crate) fn code_for_status(status: StatusCode) -> ErrorCode {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorCode::Forbidden,
        StatusCode::NOT_FOUND => ErrorCode::NotFound,
        StatusCode::CONFLICT => ErrorCode::Conflict,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::BAD_GATEWAY => ErrorCode::Unavailable,
        StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => ErrorCode::Timeout,
        other if other.is_client_error() => ErrorCode::Invalid,
        _ => ErrorCode::Internal,
    }
}
