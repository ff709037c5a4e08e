//! The common part of the transports to a URL, streamable HTTP and HTTP+SSE: the headers and the
//! authorization of requests, redirects, refusals, and bounded bodies.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use drawbridge_jsonrpc::{
    json::Json,
    rpc::{RpcError, RpcResponse},
    server_message::{self, ServerMessage},
};
use drawbridge_model::{cause::MapText, display_url::DisplayUrl};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION},
    uri::InvalidUri,
};
use url::Url;

use super::{
    HttpRefusal, InvalidAnswer, LostReason, MAX_MESSAGE, NotSentReason, RefusedReason, RemoteError,
    TransportError,
};
use crate::{
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
    oauth::{Bearer, BearerError},
};

/// How many characters of a server's text are shown.
const MAX_EXCERPT_CHARS: usize = 2_000;

/// The URL of a remote server, and the headers of each request to it. The values of the headers are
/// resolved: no references to secrets are left.
pub struct HttpTarget {
    pub url: String,
    pub headers: BTreeMap<String, String>,
    /// Authorizes the requests, if a person can sign in to the server.
    pub bearer: Option<Bearer>,
}

/// A server at a URL, and the headers of each request to it.
pub(super) struct Remote {
    http: HttpClient,
    /// The URL as errors show it.
    pub(super) url: DisplayUrl,
    pub(super) uri: Uri,
    headers: HeaderMap,
    bearer: Option<Bearer>,
}

/// Why no request can be sent to a URL.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TargetError {
    #[error("'{url}' is not a URL: {source}")]
    NotUrl {
        url: DisplayUrl,
        source: url::ParseError,
    },
    #[error("Drawbridge cannot send requests to '{url}': {source}")]
    NotUri {
        url: DisplayUrl,
        source: Arc<InvalidUri>,
    },
    #[error("'{name}' cannot be the name of a header")]
    HeaderName { name: String },
    #[error("The value of the header '{name}' contains characters that no header can contain")]
    HeaderValue { name: HeaderName },
}

impl TargetError {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::NotUrl { url, source } => Self::NotUrl {
                url: url.map_text(change),
                source,
            },
            Self::NotUri { url, source } => Self::NotUri {
                url: url.map_text(change),
                source,
            },
            Self::HeaderName { .. } | Self::HeaderValue { .. } => self,
        }
    }
}

/// Why an HTTP request has no response.
pub(super) enum SendError {
    /// The HTTP exchange failed.
    Http(HttpError),
    /// The request was not carried out for lack of authorization.
    Unauthorized(TransportError),
}

impl SendError {
    /// Converts the error into a transport error. `map_http` converts a failure of the HTTP
    /// exchange.
    pub(super) fn into_transport_error(
        self,
        map_http: impl FnOnce(HttpError) -> TransportError,
    ) -> TransportError {
        match self {
            Self::Http(error) => map_http(error),
            Self::Unauthorized(error) => error,
        }
    }
}

impl Remote {
    /// Returns the server at the URL of `target`. A user and password in the URL become a header.
    ///
    /// # Errors
    /// Returns an error if the URL or a header cannot be sent.
    pub(super) fn new(http: HttpClient, target: &HttpTarget) -> Result<Self, TargetError> {
        let mut url = Url::parse(&target.url).map_err(|source| TargetError::NotUrl {
            url: DisplayUrl::new(&target.url),
            source,
        })?;
        let mut headers = HeaderMap::new();
        headers.extend(take_credentials(&mut url).map(|value| (AUTHORIZATION, value)));
        for (name, value) in &target.headers {
            let name = HeaderName::try_from(name)
                .map_err(|_| TargetError::HeaderName { name: name.clone() })?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| TargetError::HeaderValue { name: name.clone() })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let uri = to_uri(&url)?;
        Ok(Self {
            http,
            url: DisplayUrl::from(&url),
            uri,
            headers,
            bearer: target.bearer.clone(),
        })
    }

    /// Returns a request with the server's headers. `uri` must have the server's origin.
    pub(super) fn build_request(&self, method: Method, uri: &Uri) -> HttpRequest {
        let mut request = HttpRequest::new(Bytes::new());
        *request.method_mut() = method;
        request.uri_mut().clone_from(uri);
        request.headers_mut().clone_from(&self.headers);
        request
    }

    /// Returns a POST request with a message.
    pub(super) fn build_post(&self, uri: &Uri, body: Vec<u8>) -> HttpRequest {
        let mut request = self
            .build_request(Method::POST, uri)
            .map(|_| Bytes::from(body));
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request
    }

    /// Sends a request with its authorization.
    ///
    /// # Errors
    /// Returns an error if the HTTP exchange fails, or if the request was not carried out for lack
    /// of authorization.
    pub(super) async fn send(&self, request: HttpRequest) -> Result<HttpResponse, SendError> {
        let Some(bearer) = &self.bearer else {
            return self.http.send(request).await.map_err(SendError::Http);
        };
        Box::pin(bearer.send(&self.http, request))
            .await
            .map_err(|error| {
                SendError::Unauthorized(match error {
                    BearerError::Http(error) => return SendError::Http(error),
                    BearerError::NeedsSignIn(reason) => TransportError::NeedsSignIn(reason),
                    BearerError::Refused(reason) => {
                        TransportError::Refused(RefusedReason::Scope(reason))
                    }
                    BearerError::Token(error) => {
                        TransportError::NotSent(NotSentReason::Token(error))
                    }
                })
            })
    }

    /// Returns the URL to which the server redirects a POST (307, 308). A redirect to another
    /// origin is not followed, because the other server would receive the headers too.
    pub(super) fn redirect_target(&self, response: &HttpResponse) -> Option<Uri> {
        let moved = [
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ]
        .contains(&response.status());
        let location = response
            .headers()
            .get(LOCATION)
            .filter(|_| moved)?
            .to_str()
            .ok()?;
        let url = Url::parse(&self.uri.to_string()).ok()?;
        let target = url
            .join(location)
            .ok()
            .filter(|target| is_same_origin(&url, target))?;
        to_uri(&target).ok()
    }

    /// Returns the JSON-RPC error in a response with a failure status.
    ///
    /// # Errors
    /// Returns an error with the status and the text if the response contains no JSON-RPC error.
    pub(super) fn parse_refusal(
        &self,
        status: StatusCode,
        text: &str,
    ) -> Result<RpcError, TransportError> {
        if let Some(ServerMessage::Response {
            response: RpcResponse::Error(error),
            ..
        }) = server_message::parse(&Json::new(text))
        {
            return Ok(error);
        }
        let refusal = HttpRefusal {
            url: self.url.clone(),
            status,
            text: excerpt(text),
        };
        // A gateway that timed out also answers with 5xx, and the server behind it may have carried
        // out the request.
        Err(if status.is_server_error() {
            TransportError::Lost(LostReason::ServerError(refusal))
        } else {
            TransportError::Refused(RefusedReason::Http(refusal))
        })
    }

    /// Reads a body to its end, at most [`MAX_MESSAGE`] bytes.
    pub(super) async fn read_body(&self, response: HttpResponse) -> Result<Json, TransportError> {
        let body =
            response
                .bytes(MAX_MESSAGE)
                .await
                .map_err(|error| match self.error_from(error) {
                    error if error.is_too_long() => {
                        TransportError::Protocol(InvalidAnswer::Remote(error))
                    }
                    error => TransportError::Lost(LostReason::Remote(error)),
                })?;
        Json::from_utf8(body.into()).map_err(|_| {
            TransportError::Protocol(InvalidAnswer::NotUtf8 {
                url: self.url.clone(),
            })
        })
    }

    /// Returns the body of a response with a failure status, or an empty text if the body cannot be
    /// read.
    pub(super) async fn read_text(&self, response: HttpResponse) -> String {
        let body = response.bytes(MAX_MESSAGE).await.unwrap_or_default();
        String::from_utf8_lossy(&body).into_owned()
    }

    /// Converts an HTTP error, and adds the URL.
    pub(super) fn error_from(&self, error: HttpError) -> RemoteError {
        RemoteError::new(&self.url, error)
    }

    pub(super) fn too_long_error(&self) -> RemoteError {
        RemoteError::TooLong {
            url: self.url.clone(),
            max: MAX_MESSAGE,
        }
    }

    pub(super) fn stream_ended_error(&self) -> RemoteError {
        RemoteError::StreamEnded {
            url: self.url.clone(),
        }
    }
}

/// Returns the error for a message that the server did not accept in time.
pub(super) fn send_timeout_error(time_limit: Duration) -> TransportError {
    TransportError::Lost(LostReason::SendTimedOut { time_limit })
}

/// Returns the beginning of a server's text.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(MAX_EXCERPT_CHARS).collect()
}

/// Returns whether both URLs lead to the same server.
pub(super) fn is_same_origin(a: &Url, b: &Url) -> bool {
    // A `blob:` URL has the origin of the URL that it contains, but not the scheme of that URL.
    a.origin() == b.origin() && a.scheme() == b.scheme()
}

/// Converts a URL for use in a request.
pub(super) fn to_uri(url: &Url) -> Result<Uri, TargetError> {
    Uri::try_from(url.as_str()).map_err(|source| TargetError::NotUri {
        url: DisplayUrl::from(url),
        source: Arc::new(source),
    })
}

/// Removes the user and password from a URL, and returns them as the value of a header.
fn take_credentials(url: &mut Url) -> Option<HeaderValue> {
    let password = url.password().unwrap_or_default();
    if url.username().is_empty() && password.is_empty() {
        return None;
    }
    let decoded = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    let credentials =
        BASE64_STANDARD.encode(format!("{}:{}", decoded(url.username()), decoded(password)));
    let mut value = HeaderValue::try_from(format!("Basic {credentials}")).ok()?;
    value.set_sensitive(true);
    let _ = url.set_password(None);
    let _ = url.set_username("");
    Some(value)
}

/// Returns whether a refusal means that the server does not know the session. The protocol requires
/// 404. Some servers answer with 400 and mention the session.
pub(super) fn is_session_lost(status: StatusCode, text: &str) -> bool {
    status == StatusCode::NOT_FOUND
        || status == StatusCode::BAD_REQUEST && text.to_lowercase().contains("session")
}
