//! Opens the SSE stream of a server, and reads it until the server has sent the `endpoint` event,
//! which names the URL for messages.

use drawbridge_jsonrpc::sse::{self, SseEvent, SseParser};
use drawbridge_model::display_url::DisplayUrl;
use http::{
    HeaderValue, Method, StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, LOCATION},
};
use serde::Deserialize;
use url::Url;

use super::{Referral, SseError};
use crate::{
    http::HttpResponse,
    transport::{
        LostReason, MAX_MESSAGE, RefusedReason, RemoteError, TransportError,
        remote::{Remote, SendError, TargetError, excerpt, is_same_origin, to_uri},
    },
};

/// The most lines and bytes that the server may send ahead of its `endpoint` event.
const MAX_LINES: usize = 100;
const MAX_BYTES: usize = 64 * 1024;

/// A stream whose endpoint is known.
pub(super) struct OpenedStream {
    pub(super) endpoint: Url,
    pub(super) response: HttpResponse,
    pub(super) parser: SseParser,
    /// Events that arrived after the endpoint, in the same chunk.
    pub(super) early_events: Vec<SseEvent>,
}

/// Opens the stream. Waits without a timeout if the server sends nothing.
///
/// # Errors
/// Returns an error if the stream cannot be opened, ends without an endpoint, or names an endpoint
/// that cannot be used.
pub(super) async fn open(remote: &Remote) -> Result<OpenedStream, SseError> {
    let (mut response, url) = request_stream(remote).await?;
    let mut reader = EndpointReader::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|e| SseError::Remote(remote.error_from(e)))?
    {
        reader
            .push(&chunk)
            .map_err(|error| error.to_sse_error(&url))?;
        if let Some(data) = reader.endpoint {
            let endpoint = resolve_endpoint(&url, &data)?;
            return Ok(OpenedStream {
                endpoint,
                response,
                parser: reader.parser,
                early_events: reader.early_events,
            });
        }
    }
    Err(SseError::Ended {
        url: DisplayUrl::from(&url),
    })
}

/// Requests the stream, and returns the response and the URL of the stream. Follows one redirect,
/// as from `/sse` to `/sse/`, but not to another origin, because the other server would receive the
/// headers too.
async fn request_stream(remote: &Remote) -> Result<(HttpResponse, Url), SseError> {
    let mut url = Url::parse(&remote.uri.to_string()).map_err(|source| TargetError::NotUrl {
        url: remote.url.clone(),
        source,
    })?;
    let mut response = send_request(remote, &url).await?;
    if let Some(location) = redirect_location(&response) {
        url = require_same_origin(&url, url.join(&location), Referral::Redirect, &location)?;
        response = send_request(remote, &url).await?;
    }
    let status = response.status();
    if !status.is_success() {
        let text = remote.read_text(response).await;
        return Err(match remote.parse_refusal(status, &text) {
            Ok(error) => SseError::Rpc {
                url: DisplayUrl::from(&url),
                message: error.message,
            },
            Err(
                TransportError::Refused(RefusedReason::Http(refusal))
                | TransportError::Lost(LostReason::ServerError(refusal)),
            ) => SseError::Http(refusal),
            Err(error) => error.into(),
        });
    }
    let content_type = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !sse::is_event_stream(content_type.as_bytes()) {
        return Err(SseError::NotStream {
            url: DisplayUrl::from(&url),
            content_type: excerpt(content_type),
        });
    }
    Ok((response, url))
}

async fn send_request(remote: &Remote, url: &Url) -> Result<HttpResponse, SseError> {
    let mut request = remote.build_request(Method::GET, &to_uri(url)?);
    request
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    request
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    remote.send(request).await.map_err(|error| match error {
        SendError::Http(error) => SseError::Remote(remote.error_from(error)),
        SendError::Unauthorized(error) => error.into(),
    })
}

fn redirect_location(response: &HttpResponse) -> Option<String> {
    let moved = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let location = response
        .headers()
        .get(LOCATION)
        .filter(|_| moved.contains(&response.status()))?;
    location.to_str().ok().map(str::to_owned)
}

/// Returns the URL for messages from the data of the `endpoint` event. The data is a URL or a path,
/// either bare or in `{"uri": …}`. Some servers send only `{"session_id": …}`: [`messages_url`]
/// returns their URL for messages.
///
/// # Errors
/// Returns an error if the data names no URL, or a URL at another origin.
pub(super) fn resolve_endpoint(url: &Url, data: &str) -> Result<Url, SseError> {
    let data = data.trim();
    let endpoint = if data.starts_with('{') {
        match serde_json::from_str::<EndpointData>(data) {
            Ok(EndpointData { uri: Some(uri), .. }) => uri,
            Ok(EndpointData {
                session_id: Some(id),
                ..
            }) => return Ok(messages_url(url, &id)),
            Ok(EndpointData { .. }) | Err(_) => {
                return Err(SseError::EmptyEndpoint {
                    url: DisplayUrl::from(url),
                    data: excerpt(data),
                });
            }
        }
    } else {
        data.to_owned()
    };
    require_same_origin(url, url.join(&endpoint), Referral::Endpoint, &endpoint)
}

#[derive(Deserialize)]
struct EndpointData {
    uri: Option<String>,
    session_id: Option<String>,
}

/// Returns the URL of `messages/` in the same folder as the stream, with the session in its query.
fn messages_url(url: &Url, session: &str) -> Url {
    let mut messages = url.clone();
    let path = url.path().trim_end_matches('/');
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    messages.set_path(&format!("{folder}/messages/"));
    messages.set_fragment(None);
    messages
        .query_pairs_mut()
        .clear()
        .append_pair("session_id", session);
    messages
}

fn require_same_origin(
    url: &Url,
    target: Result<Url, url::ParseError>,
    referral: Referral,
    target_text: &str,
) -> Result<Url, SseError> {
    let target = target.map_err(|source| SseError::NotUrl {
        url: DisplayUrl::from(url),
        referral,
        target: DisplayUrl::new(target_text),
        source,
    })?;
    if is_same_origin(url, &target) {
        return Ok(target);
    }
    Err(SseError::OtherOrigin {
        url: DisplayUrl::from(url),
        referral,
        target: DisplayUrl::from(&target),
    })
}

/// Reads the beginning of a stream. The lines and bytes are limited until the endpoint is known.
pub(super) struct EndpointReader {
    parser: SseParser,
    lines: usize,
    bytes: usize,
    pub(super) endpoint: Option<String>,
    early_events: Vec<SseEvent>,
}

/// The limit that the beginning of a stream exceeds.
#[derive(Debug)]
pub(super) enum TooMuchData {
    BeforeEndpoint,
    InEvent,
}

impl TooMuchData {
    fn to_sse_error(&self, url: &Url) -> SseError {
        let url = DisplayUrl::from(url);
        match self {
            Self::BeforeEndpoint => SseError::NoEndpoint {
                url,
                max_lines: MAX_LINES,
                max_bytes: MAX_BYTES,
            },
            Self::InEvent => SseError::Remote(RemoteError::TooLong {
                url,
                max: MAX_MESSAGE,
            }),
        }
    }
}

impl EndpointReader {
    pub(super) fn new() -> Self {
        Self {
            parser: SseParser::new(MAX_MESSAGE),
            lines: 0,
            bytes: 0,
            endpoint: None,
            early_events: Vec::new(),
        }
    }

    /// Reads the next bytes of the stream.
    ///
    /// # Errors
    /// Returns an error if there are too many bytes or lines without an endpoint, or if an event is
    /// too long.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), TooMuchData> {
        // One line at a time, so that only the lines up to the endpoint count towards the limits.
        for line in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            if self.endpoint.is_none() {
                self.lines += usize::from(line.ends_with(b"\n"));
                self.bytes += line.len();
                if self.lines > MAX_LINES || self.bytes > MAX_BYTES {
                    return Err(TooMuchData::BeforeEndpoint);
                }
            }
            for event in self.parser.push(line).map_err(|_| TooMuchData::InEvent)? {
                match &self.endpoint {
                    Some(_) => self.early_events.push(event),
                    None if event.name == "endpoint" => self.endpoint = Some(event.data),
                    None => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
