//! Server-sent events towards MCP clients: one event per message, and comments that keep an idle
//! stream open.

use std::{
    convert::Infallible,
    fmt::Display,
    io::{self, Write},
    task::Poll,
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
/// The length in bytes from which a piece of the body takes no further event. hyper may take 16
/// pieces before it sends them, and the latest 64 KiB are kept for a client that resumes.
const PIECE_BYTES: usize = 4 * 1024;

/// Returns a response whose body has these encoded events.
pub(crate) fn sse_response(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = stream::unfold(join_ready(events), |mut pieces| async {
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

/// Joins events that are ready at the same time to pieces, so that each need not be sent as a chunk
/// of its own.
fn join_ready(
    events: impl Stream<Item = Bytes> + Send,
) -> impl Stream<Item = Bytes> + Send + Unpin {
    let mut events = Box::pin(events.fuse());
    stream::poll_fn(move |context| {
        let (mut ready, mut bytes) = (Vec::new(), 0);
        while bytes < PIECE_BYTES {
            match events.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => {
                    bytes += event.len();
                    ready.push(event);
                }
                Poll::Ready(None) if ready.is_empty() => return Poll::Ready(None),
                Poll::Pending if ready.is_empty() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        Poll::Ready(Some(match ready.as_mut_slice() {
            [event] => std::mem::take(event),
            events => events.concat().into(),
        }))
    })
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
