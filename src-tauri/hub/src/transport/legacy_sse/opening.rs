//! Opens the stream, and reads it until the server has named its endpoint.

use http::{
    HeaderValue, Method, StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, LOCATION},
};
use serde::Deserialize;
use url::Url;

use crate::{
    http::HttpResponse,
    transport::{
        MAX_MESSAGE,
        remote::{Remote, excerpt, is_same_origin, to_uri},
        sse::{SseEvent, SseParser},
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

/// Opens the stream. Does not return if the server sends nothing.
///
/// # Errors
/// Returns an error, as text for people, if the stream cannot be opened, or ends without an
/// endpoint.
pub(super) async fn open(remote: &Remote) -> Result<OpenedStream, String> {
    let (mut response, url) = get(remote).await?;
    let mut opening = EndpointReader::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|e| remote.describe_error(&e))?
    {
        opening.push(&chunk).map_err(|why| format!("{url} {why}"))?;
        if let Some(said) = opening.endpoint {
            let endpoint = resolve_endpoint(&url, &said)?;
            return Ok(OpenedStream {
                endpoint,
                response,
                parser: opening.parser,
                early_events: opening.early_events,
            });
        }
    }
    Err(format!(
        "{url} ended its stream of events before it said where to post (its 'endpoint' event)"
    ))
}

/// Requests the stream, and returns the response and the URL of the stream. Follows one redirect,
/// as from `/sse` to `/sse/`, but not to another origin, because that server would receive the
/// headers too.
async fn get(remote: &Remote) -> Result<(HttpResponse, Url), String> {
    let mut url = Url::parse(&remote.uri.to_string())
        .map_err(|e| format!("{} is not a URL: {e}", remote.url))?;
    let mut response = send(remote, &url).await?;
    if let Some(place) = redirect_location(&response) {
        url = require_same_origin(&url, url.join(&place), "redirects to", &place)?;
        response = send(remote, &url).await?;
    }
    let status = response.status();
    if !status.is_success() {
        let text = remote.read_text(response).await;
        let why = remote
            .parse_refusal(status, &text)
            .map_or_else(|e| e.to_string(), |e| format!("it refused: {}", e.message));
        return Err(format!("{why}. {TRY_HTTP_HINT}"));
    }
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("nothing");
    if !kind.starts_with("text/event-stream") {
        return Err(format!(
            "{url} answered with {}, not with a stream of events. {TRY_HTTP_HINT}",
            excerpt(kind)
        ));
    }
    Ok((response, url))
}

const TRY_HTTP_HINT: &str = "If it speaks streamable HTTP, choose the transport 'http'";

async fn send(remote: &Remote, url: &Url) -> Result<HttpResponse, String> {
    let mut request = remote.build_request(Method::GET, &to_uri(url)?);
    request
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    request
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let sent = remote.send(request).await.map_err(|e| e.to_string())?;
    sent.map_err(|error| remote.describe_error(&error))
}

fn redirect_location(response: &HttpResponse) -> Option<String> {
    let moved = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let place = response
        .headers()
        .get(LOCATION)
        .filter(|_| moved.contains(&response.status()))?;
    place.to_str().ok().map(str::to_owned)
}

/// Returns the URL for messages that the `endpoint` event names: as a URL or a path, bare or as
/// `{"uri": …}`, or only as `{"session_id": …}`.
///
/// # Errors
/// Returns an error if the event names no URL, or one at another origin.
pub(super) fn resolve_endpoint(url: &Url, data: &str) -> Result<Url, String> {
    let said = data.trim();
    let place = if said.starts_with('{') {
        match serde_json::from_str::<EndpointData>(said) {
            Ok(EndpointData { uri: Some(uri), .. }) => uri,
            Ok(EndpointData {
                session_id: Some(id),
                ..
            }) => return Ok(messages_url(url, &id)),
            Ok(EndpointData { .. }) | Err(_) => {
                return Err(format!(
                    "{url} did not say where to post: {} has neither 'uri' nor 'session_id'",
                    excerpt(said)
                ));
            }
        }
    } else {
        said.to_owned()
    };
    require_same_origin(url, url.join(&place), "wants messages at", &place)
}

#[derive(Deserialize)]
struct EndpointData {
    uri: Option<String>,
    session_id: Option<String>,
}

/// Returns the URL of `messages/` in the same folder as the stream, with the session in its query.
fn messages_url(url: &Url, session: &str) -> Url {
    let mut place = url.clone();
    let path = url.path().trim_end_matches('/');
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    place.set_path(&format!("{folder}/messages/"));
    place.set_fragment(None);
    place
        .query_pairs_mut()
        .clear()
        .append_pair("session_id", session);
    place
}

fn require_same_origin(
    url: &Url,
    place: Result<Url, url::ParseError>,
    does: &str,
    said: &str,
) -> Result<Url, String> {
    let place =
        place.map_err(|e| format!("{url} {does} {}, which is not a URL: {e}", excerpt(said)))?;
    if is_same_origin(url, &place) {
        return Ok(place);
    }
    Err(format!(
        "{url} {does} {}, which is another server: Drawbridge sends nothing there. If that is its right place, \
         give its URL there",
        excerpt(place.as_str())
    ))
}

/// The beginning of a stream, bounded until the endpoint is known.
pub(super) struct EndpointReader {
    parser: SseParser,
    lines: usize,
    bytes: usize,
    pub(super) endpoint: Option<String>,
    early_events: Vec<SseEvent>,
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

    /// Takes the next bytes.
    ///
    /// # Errors
    /// Returns an error if there are too many bytes or lines without an endpoint, or if an event is
    /// too long.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        // Each piece ends at most one line, so that events after the endpoint are recognized as
        // early events.
        for line in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            if self.endpoint.is_none() {
                self.lines += usize::from(line.ends_with(b"\n"));
                self.bytes += line.len();
                if self.lines > MAX_LINES || self.bytes > MAX_BYTES {
                    let max = format!("{MAX_LINES} lines or {} KiB", MAX_BYTES / 1024);
                    return Err(format!(
                        "sent more than {max} without saying where to post (its 'endpoint' event)"
                    ));
                }
            }
            for event in self
                .parser
                .push(line)
                .map_err(|_| format!("sent more than {MAX_MESSAGE} bytes"))?
            {
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
