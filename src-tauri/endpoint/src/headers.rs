//! Headers: the security headers of every response, and the reading of headers of requests and
//! responses.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use axum::http::{
    HeaderMap, StatusCode,
    header::{self, HeaderName, HeaderValue},
};
use drawbridge_jsonrpc::sse;

use crate::{
    body::{self, MAX_BODY_BYTES},
    error_response::Refusal,
};

const CSP: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src data:; font-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Adds the security headers, which deny a browser everything that the web UI does not need.
pub(crate) fn add_security_headers(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, CSP);
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    // A website that opens the web UI gets no handle to the window of the web UI.
    headers.insert(
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    );
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

/// Checks `Content-Length`, before the body is read.
///
/// # Errors
/// Returns 413 if the length is greater than [`MAX_BODY_BYTES`].
pub(crate) fn check_content_length(headers: &HeaderMap) -> Result<(), Refusal> {
    let length: Option<usize> = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length| length > MAX_BODY_BYTES) {
        return Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            body::too_long_message(),
        ));
    }
    Ok(())
}

/// Returns whether `Content-Type` is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let essence = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok()?.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Returns whether `Content-Type` is an event stream.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| sse::is_event_stream(value.as_bytes()))
}

/// Returns whether the client accepts JSON. A client without an `Accept` header accepts everything.
pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::ACCEPT)
        || accepts(headers, ["application/json", "application/*", "*/*"])
}

/// Returns whether the `Accept` header includes server-sent events, by name or by a wildcard. A
/// client without the header does not accept events.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    accepts(headers, ["text/event-stream", "text/*", "*/*"])
}

/// Returns whether the `Accept` header includes a media type. `ranges` are the ranges that contain
/// the type, the most specific first: the first of them that the header lists decides, and a weight
/// of 0 excludes the type (RFC 9110, section 12.5.1).
fn accepts(headers: &HeaderMap, ranges: [&str; 3]) -> bool {
    // The most specific range so far, and whether the header includes it.
    let mut most_specific = (ranges.len(), false);
    let values = headers.get_all(header::ACCEPT).iter();
    for listed in values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
    {
        let (essence, parameters) = listed.split_once(';').unwrap_or((listed, ""));
        let is_listed = |range: &&str| essence.trim().eq_ignore_ascii_case(range);
        let Some(rank) = ranges.iter().position(is_listed) else {
            continue;
        };
        let is_included = !has_zero_weight(parameters);
        if rank < most_specific.0 {
            most_specific = (rank, is_included);
        } else if rank == most_specific.0 {
            most_specific.1 |= is_included;
        }
    }
    most_specific.1
}

/// Returns whether the parameters of a media range contain `q=0`.
fn has_zero_weight(parameters: &str) -> bool {
    parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .any(|(name, weight)| {
            name.trim().eq_ignore_ascii_case("q") && weight.trim().parse::<f32>() == Ok(0.0)
        })
}

/// Returns the text of a header, or of its first value if the header is repeated.
pub(crate) fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Cow<'a, str>> {
    headers
        .get(name)
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
}
