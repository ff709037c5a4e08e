//! Reads the hub's event streams, in which each server-sent event carries one event of the hub or
//! one MCP message.

use std::{collections::VecDeque, future::ready};

use bytes::Bytes;
use drawbridge_jsonrpc::sse::{SseEvent, SseParser};
use drawbridge_model::event::Event;
use futures_util::{Stream, StreamExt, stream};

#[cfg(test)]
mod tests;

/// The longest event, in bytes. A message has at most 16 MiB.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// Returns the hub's events in the body of `/api/events`. Events of an unknown kind are skipped.
pub(super) fn read_hub_events<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> impl Stream<Item = Event> + Send + Unpin {
    read_events(body).filter_map(|event| ready(serde_json::from_str(&event.data).ok()))
}

/// Returns the events in a body, and skips events without data. The stream ends when the body ends
/// or fails, or if an event is too long.
pub(crate) fn read_events<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> impl Stream<Item = SseEvent> + Send + Unpin {
    let reader = Reader {
        body: Box::pin(body),
        parser: SseParser::new(MAX_EVENT_BYTES),
        events: VecDeque::new(),
    };
    Box::pin(stream::unfold(reader, |mut reader| async move {
        loop {
            if let Some(event) = reader.events.pop_front() {
                return Some((event, reader));
            }
            let chunk = reader.body.next().await?.ok()?;
            reader.events.extend(reader.parser.push(&chunk).ok()?);
        }
    }))
}

struct Reader<B> {
    body: B,
    parser: SseParser,
    events: VecDeque<SseEvent>,
}
