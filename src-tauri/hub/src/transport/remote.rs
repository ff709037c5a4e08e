//! The common part of both transports to a URL: the headers, posting a message, the text of a
//! refusal, and reading a bounded body.

use std::{collections::BTreeMap, sync::OnceLock, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION},
};
use url::Url;

use super::{
    MAX_MESSAGE, TransportError,
    message::{self, Message},
};
use crate::{
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
    model::{json::Json, rpc::RpcError},
    oauth::{Bearer, BearerError},
};

/// How many characters of a server's text are shown.
const MAX_EXCERPT_CHARS: usize = 2_000;
/// The error if a server has lost the session.
pub(super) const SESSION_LOST: &str =
    "the server forgot the session, as after a restart; the next call begins a new one";

/// The address of a remote server. The header values are resolved: no references to secrets are
/// left.
pub struct HttpTarget {
    pub url: String,
    pub headers: BTreeMap<String, String>,
    /// Authorizes the requests, if a person can sign in to the server.
    pub bearer: Option<Bearer>,
}

/// A server at a URL, and the headers of each request to it.
pub(super) struct Remote {
    http: HttpClient,
    /// The URL as in the spec.
    pub(super) url: String,
    pub(super) uri: Uri,
    headers: HeaderMap,
    bearer: Option<Bearer>,
    /// Why a person has to sign in, once the server has required it.
    sign_in_reason: OnceLock<String>,
}

impl Remote {
    /// # Errors
    /// Returns an error, as text for people, if the URL or a header cannot be sent.
    pub(super) fn new(http: HttpClient, target: &HttpTarget) -> Result<Self, String> {
        let mut url =
            Url::parse(&target.url).map_err(|e| format!("{} is not a URL: {e}", target.url))?;
        let mut headers = HeaderMap::new();
        headers.extend(take_credentials(&mut url).map(|user| (AUTHORIZATION, user)));
        for (name, value) in &target.headers {
            let name = HeaderName::try_from(name)
                .map_err(|_| format!("'{name}' cannot be the name of a header"))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| format!("the value of header '{name}' cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let uri = to_uri(&url)?;
        let (url, bearer) = (target.url.clone(), target.bearer.clone());
        Ok(Self {
            http,
            url,
            uri,
            headers,
            bearer,
            sign_in_reason: OnceLock::new(),
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

    /// Sends a request with its authorization. The inner result is that of the HTTP exchange.
    ///
    /// # Errors
    /// Returns an error if the request was not carried out for lack of authorization.
    pub(super) async fn send(
        &self,
        request: HttpRequest,
    ) -> Result<Result<HttpResponse, HttpError>, TransportError> {
        let Some(bearer) = &self.bearer else {
            return Ok(self.http.send(request).await);
        };
        Box::pin(bearer.send(&self.http, request))
            .await
            .map_err(|error| match error {
                BearerError::NeedsSignIn(why) => {
                    let _ = self.sign_in_reason.set(why.clone());
                    TransportError::NeedsSignIn(why)
                }
                BearerError::Refused(why) => TransportError::Refused {
                    status: StatusCode::FORBIDDEN.as_u16(),
                    why,
                },
                BearerError::Secret(_) | BearerError::Refresh(_) => {
                    TransportError::NotSent(error.to_string())
                }
            })
    }

    /// Returns why a person has to sign in, if the server has required it.
    pub(super) fn sign_in_reason(&self) -> Option<String> {
        self.sign_in_reason.get().cloned()
    }

    /// Returns the URL to which the server redirects a POST (307, 308). A redirect to another
    /// origin is not followed, because that server would receive the headers too.
    pub(super) fn redirect_target(&self, response: &HttpResponse) -> Option<Uri> {
        let moved = [
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ]
        .contains(&response.status());
        let place = response
            .headers()
            .get(LOCATION)
            .filter(|_| moved)?
            .to_str()
            .ok()?;
        let url = Url::parse(&self.uri.to_string()).ok()?;
        let place = url
            .join(place)
            .ok()
            .filter(|place| is_same_origin(&url, place))?;
        to_uri(&place).ok()
    }

    /// Returns the JSON-RPC error in a response with a failure status.
    ///
    /// # Errors
    /// Returns an error, with a text for people, if the response contains no JSON-RPC error.
    pub(super) fn parse_refusal(
        &self,
        status: StatusCode,
        text: &str,
    ) -> Result<RpcError, TransportError> {
        if let Some(Message::Answer {
            reply: Err(error), ..
        }) = message::parse(&Json::new(text))
        {
            return Ok(error);
        }
        let hint = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; check the token in its headers",
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => "; check the URL's path",
            _ if status.is_redirection() => {
                "; it redirects elsewhere: enter the URL that it redirects to"
            }
            _ => "",
        };
        let why = format!(
            "{} answered HTTP {status}{hint} {}",
            self.url,
            excerpt(text)
        )
        .trim_end()
        .to_owned();
        // A gateway that timed out also answers with 5xx. The call may have run behind it.
        Err(if status.is_server_error() {
            TransportError::Lost(why)
        } else {
            TransportError::Refused {
                status: status.as_u16(),
                why,
            }
        })
    }

    /// Reads a body to its end.
    pub(super) async fn read_body(&self, response: HttpResponse) -> Result<Json, TransportError> {
        let body = response
            .bytes(MAX_MESSAGE)
            .await
            .map_err(|error| match error {
                HttpError::TooLong(_) => TransportError::Protocol(self.describe_error(&error)),
                HttpError::NotSent(_) | HttpError::Interrupted(_) => {
                    TransportError::Lost(self.describe_error(&error))
                }
            })?;
        Json::from_utf8(body.into()).map_err(|_| {
            TransportError::Protocol(format!("{} answered something that is not UTF-8", self.url))
        })
    }

    /// Reads the body of a response with a failure status, or nothing if that fails.
    pub(super) async fn read_text(&self, response: HttpResponse) -> String {
        let body = response.bytes(MAX_MESSAGE).await.unwrap_or_default();
        String::from_utf8_lossy(&body).into_owned()
    }

    /// Returns the text for an HTTP error.
    pub(super) fn describe_error(&self, error: &HttpError) -> String {
        match error {
            HttpError::NotSent(why) => format!("cannot connect to {}: {why}", self.url),
            HttpError::Interrupted(why) => format!("the connection to {} broke: {why}", self.url),
            HttpError::TooLong(_) => self.too_long_message(),
        }
    }

    pub(super) fn too_long_message(&self) -> String {
        format!("{} answered with more than {MAX_MESSAGE} bytes", self.url)
    }
}

/// Returns the error for a message that the server did not accept in time.
pub(super) fn send_timeout_error(time_limit: Duration) -> TransportError {
    TransportError::Lost(format!(
        "it did not take the message within {} s",
        time_limit.as_secs()
    ))
}

/// Returns the beginning of a server's text.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(MAX_EXCERPT_CHARS).collect()
}

/// Returns whether both URLs lead to the same server.
pub(super) fn is_same_origin(one: &Url, other: &Url) -> bool {
    // A `blob:` URL has the origin of the URL in it.
    one.origin() == other.origin() && one.scheme() == other.scheme()
}

/// Converts a URL for use in a request.
pub(super) fn to_uri(url: &Url) -> Result<Uri, String> {
    Uri::try_from(url.as_str()).map_err(|e| format!("{url} cannot be asked for: {e}"))
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
    let user = BASE64_STANDARD.encode(format!("{}:{}", decoded(url.username()), decoded(password)));
    let mut value = HeaderValue::try_from(format!("Basic {user}")).ok()?;
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
