//! What both ways to a URL have in common: headers, a message to post, a refusal in words, a bounded body.

use std::{collections::BTreeMap, sync::OnceLock, time::Duration};

use futures_util::StreamExt;
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};

use super::{
    LinkError, MAX_MESSAGE,
    message::{self, Message},
};
use crate::{
    model::rpc::RpcError,
    oauth::{Bearer, BearerError},
};

/// How much of what a server said is shown.
const SHOWN: usize = 2_000;
/// Said where a server forgot the session.
pub(super) const FORGOTTEN: &str = "the server forgot the session, as after a restart; the next call begins a new one";

/// Where a remote server is. Header values are resolved: no references to secrets are left.
pub struct HttpTarget {
    pub url: String,
    pub headers: BTreeMap<String, String>,
    /// What authorizes its requests, where a person may sign in to it.
    pub bearer: Option<Bearer>,
}

/// A server at a URL, and the headers that each request to it has.
pub(super) struct Remote {
    http: Client,
    pub(super) url: String,
    headers: HeaderMap,
    bearer: Option<Bearer>,
    /// Why a person has to sign in, once it has said so.
    wants_sign_in: OnceLock<String>,
}

impl Remote {
    /// # Errors
    /// In plain words, for a header that cannot be sent.
    pub(super) fn new(http: Client, target: &HttpTarget) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &target.headers {
            let name = HeaderName::try_from(name).map_err(|_| format!("'{name}' cannot be the name of a header"))?;
            let mut value =
                HeaderValue::try_from(value).map_err(|_| format!("the value of header '{name}' cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let (url, bearer) = (target.url.clone(), target.bearer.clone());
        Ok(Self { http, url, headers, bearer, wants_sign_in: OnceLock::new() })
    }

    /// A request with the server's headers; `url` must be of its origin.
    pub(super) fn request(&self, method: Method, url: &str) -> RequestBuilder {
        self.http.request(method, url).headers(self.headers.clone())
    }

    /// A message to be posted.
    pub(super) fn post(&self, url: &str, body: Vec<u8>) -> RequestBuilder {
        self.request(Method::POST, url).header(CONTENT_TYPE, "application/json").body(body)
    }

    /// Sends a request with what authorizes it.
    ///
    /// # Errors
    /// Where it was not carried out for want of that; inside, what HTTP itself says.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Result<Response, reqwest::Error>, LinkError> {
        let Some(bearer) = &self.bearer else { return Ok(request.send().await) };
        Box::pin(bearer.send(request)).await.map_err(|error| match error {
            BearerError::Needed(why) => {
                let _ = self.wants_sign_in.set(why.clone());
                LinkError::NeedsSignIn(why)
            }
            BearerError::Secret(_) | BearerError::Refresh(_) => LinkError::NotSent(error.to_string()),
        })
    }

    /// Why a person has to sign in, where the server said so.
    pub(super) fn wants_sign_in(&self) -> Option<String> {
        self.wants_sign_in.get().cloned()
    }

    /// What a status of failure means: the server's JSON-RPC error, or an error in words.
    pub(super) fn refused(&self, status: StatusCode, text: &str) -> Result<RpcError, LinkError> {
        if let Some(Message::Answer { reply: Err(error), .. }) = message::parse(text.as_bytes()) {
            return Ok(error);
        }
        let hint = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; check the token in its headers",
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => "; check the URL's path",
            _ => "",
        };
        let why = format!("{} answered HTTP {status}{hint} {}", self.url, shown(text)).trim_end().to_owned();
        // A gateway that gave up waiting says 5xx too: the call may have run behind it.
        Err(if status.is_server_error() {
            LinkError::Lost(why)
        } else {
            LinkError::Refused { status: status.as_u16(), why }
        })
    }

    /// Reads a body to its end.
    pub(super) async fn read_text(&self, response: Response) -> Result<String, LinkError> {
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|e| LinkError::Lost(self.broke(&e)))?;
            if body.len() + chunk.len() > MAX_MESSAGE {
                return Err(LinkError::Protocol(self.too_long()));
            }
            body.extend_from_slice(&chunk);
        }
        String::from_utf8(body)
            .map_err(|_| LinkError::Protocol(format!("{} answered something that is not UTF-8", self.url)))
    }

    pub(super) fn cannot_connect(&self, error: &reqwest::Error) -> String {
        format!("cannot connect to {}: {}", self.url, cause(error))
    }

    pub(super) fn broke(&self, error: &reqwest::Error) -> String {
        format!("the connection to {} broke: {}", self.url, cause(error))
    }

    pub(super) fn too_long(&self) -> String {
        format!("{} answered with more than {MAX_MESSAGE} bytes", self.url)
    }
}

/// Nobody took what needs no answer.
pub(super) fn too_slow(patience: Duration) -> LinkError {
    LinkError::Lost(format!("it did not take the message within {} s", patience.as_secs()))
}

/// The beginning of what a server said.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// Whether an error says that nothing was sent.
pub(super) fn is_unsent(error: &reqwest::Error) -> bool {
    error.is_connect() || error.is_builder()
}

/// Whether a refusal means that the server does not know the session: 404 by the protocol; some servers
/// answer 400 and say so.
pub(super) fn is_about_the_session(status: StatusCode, text: &str) -> bool {
    status == StatusCode::NOT_FOUND || status == StatusCode::BAD_REQUEST && text.to_lowercase().contains("session")
}

/// The innermost reason, which says the most.
fn cause(error: &reqwest::Error) -> String {
    std::iter::successors(std::error::Error::source(error), |e| e.source())
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string)
}
