//! Server-sent events towards MCP clients: one event per message, and comments that keep an idle
//! stream open.

use std::{
    convert::Infallible,
    fmt::Display,
    io::{self, Write},
    time::Duration,
};

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::timeout;

/// How long a stream may be idle before a comment is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A comment, which clients skip.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");
/// The most events that are sent as one piece if they are ready at the same time.
const MAX_EVENTS_IN_PIECE: usize = 32;

/// Returns a response whose body has these encoded events.
pub(crate) fn sse_response(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let pieces = Box::pin(events.ready_chunks(MAX_EVENTS_IN_PIECE).map(join));
    let body = stream::unfold(pieces, |mut pieces| async {
        let piece = match timeout(KEEP_ALIVE, pieces.next()).await {
            Ok(piece) => piece?,
            Err(_) => COMMENT,
        };
        Some((Ok::<_, Infallible>(piece), pieces))
    });
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, Body::from_stream(body)).into_response()
}

fn join(mut events: Vec<Bytes>) -> Bytes {
    match events.as_mut_slice() {
        [event] => std::mem::take(event),
        events => events.concat().into(),
    }
}

/// Encodes the event of a message.
pub(crate) fn message_event(message: &[u8]) -> Bytes {
    encode("message", message, None)
}

/// Encodes the event of a message, with the id after which a client can resume the stream.
pub(crate) fn message_event_with_id(message: &[u8], id: &dyn Display) -> Bytes {
    encode("message", message, Some(id))
}

/// Encodes the event that names the URL for the messages of an HTTP+SSE client.
pub(super) fn endpoint_event(url: &str) -> Bytes {
    encode("endpoint", url.as_bytes(), None)
}

/// Encodes an event. JSON has line breaks only between tokens, and each line feed begins a new line
/// of data. A carriage return becomes a space, because simple readers do not take it for a line
/// break.
fn encode(name: &str, data: &[u8], id: Option<&dyn Display>) -> Bytes {
    let mut bytes = Vec::with_capacity(data.len() + 64);
    write_event(&mut bytes, name, data, id).expect("a write to memory succeeds");
    bytes.into()
}

fn write_event(
    bytes: &mut Vec<u8>,
    name: &str,
    data: &[u8],
    id: Option<&dyn Display>,
) -> io::Result<()> {
    for part in ["event: ", name, "\n"] {
        bytes.extend_from_slice(part.as_bytes());
    }
    let begin = bytes.len();
    for line in data.split(|byte| *byte == b'\n') {
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    if data.contains(&b'\r') {
        let carriage_returns = bytes[begin..].iter_mut().filter(|byte| **byte == b'\r');
        carriage_returns.for_each(|byte| *byte = b' ');
    }
    if let Some(id) = id {
        writeln!(bytes, "id: {id}")?;
    }
    bytes.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests;
