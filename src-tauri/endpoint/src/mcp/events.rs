//! Server-sent events towards MCP clients: a message an event, and comments that keep a quiet stream open.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// From one sign of life to the next.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The answer whose body is this stream.
pub(crate) fn response(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    Sse::new(events.map(Ok::<_, Infallible>))
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response()
}

/// The event of a message. Line breaks, which JSON has only between its tokens, begin a new line of data; for the
/// sake of simple readers that is never a carriage return.
pub(crate) fn message(message: &Bytes) -> Event {
    let mut text = String::from_utf8_lossy(message);
    if text.contains('\r') {
        text = text.replace('\r', " ").into();
    }
    Event::default().event("message").data(text)
}

#[cfg(test)]
mod tests;
