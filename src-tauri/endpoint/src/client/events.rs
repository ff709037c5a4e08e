//! Reads server-sent events: <https://html.spec.whatwg.org/multipage/server-sent-events.html>,
//! limited to the parts that the endpoint sends.

use std::{collections::VecDeque, future::ready};

use bytes::Bytes;
use drawbridge_hub::model::event::Event;
use futures_util::{Stream, StreamExt, stream};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;

/// An event as it was sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Empty if the event has no id.
    pub(crate) id: String,
    pub(crate) data: Vec<u8>,
}

/// Returns the hub's events in the body of `/api/events`. Events of an unknown kind are skipped.
pub(super) fn read_hub_events<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> impl Stream<Item = Event> + Send + Unpin {
    read_events(body).filter_map(|event| ready(serde_json::from_slice(&event.data).ok()))
}

/// Returns the events of a body that have data. The stream ends when the body ends or fails.
pub(crate) fn read_events<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> impl Stream<Item = SseEvent> + Send + Unpin {
    let reader = Reader {
        body: Box::pin(body),
        lines: LineParser::default(),
        events: VecDeque::new(),
    };
    Box::pin(stream::unfold(reader, |mut reader| async move {
        loop {
            if let Some(event) = reader.events.pop_front() {
                return Some((event, reader));
            }
            let chunk = reader.body.next().await?.ok()?;
            reader.lines.push_chunk(&chunk, &mut reader.events);
        }
    }))
}

struct Reader<B> {
    body: B,
    lines: LineParser,
    events: VecDeque<SseEvent>,
}

#[derive(Default)]
struct LineParser {
    /// The beginning of a line whose end has not arrived.
    partial_line: Vec<u8>,
    event: SseEvent,
}

impl LineParser {
    fn push_chunk(&mut self, chunk: &[u8], events: &mut VecDeque<SseEvent>) {
        let mut lines = chunk.split(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            self.partial_line.extend_from_slice(line);
            if lines.peek().is_some() {
                self.end_line(events);
            }
        }
    }

    fn end_line(&mut self, events: &mut VecDeque<SseEvent>) {
        let line = std::mem::take(&mut self.partial_line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        let read_value = |field: &[u8]| field.strip_prefix(b" ").unwrap_or(field).to_vec();
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            events.extend((!event.data.is_empty()).then_some(event));
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if !self.event.data.is_empty() {
                self.event.data.push(b'\n');
            }
            self.event.data.extend(read_value(data));
        } else if let Some(id) = line.strip_prefix(b"id:") {
            self.event.id = String::from_utf8_lossy(&read_value(id)).into_owned();
        }
    }
}
