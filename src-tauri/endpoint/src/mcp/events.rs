//! Server-sent events towards MCP clients: one event per message, and comments that keep an idle
//! stream open.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// How long a stream may be idle before a comment is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Returns a response whose body is this stream.
pub(crate) fn sse_response(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    Sse::new(events.map(Ok::<_, Infallible>))
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response()
}

/// Returns the event of a message. JSON has line breaks only between tokens, and each line feed
/// begins a new line of data. A carriage return becomes a space, because simple readers do not take
/// it for a line break.
pub(crate) fn message_event(message: &Bytes) -> Event {
    let mut text = String::from_utf8_lossy(message);
    if text.contains('\r') {
        text = text.replace('\r', " ").into();
    }
    Event::default().event("message").data(text)
}

#[cfg(test)]
mod tests;
