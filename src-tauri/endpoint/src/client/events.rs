//! Server-sent events, read: <https://html.spec.whatwg.org/multipage/server-sent-events.html>,
//! as much of it as our door sends.

use std::collections::VecDeque;

use bytes::Bytes;
use drawbridge_hub::model::event::Event;
use futures_util::{Stream, StreamExt, stream};

#[cfg(test)]
mod tests;

/// The events of a body. It ends where the body does; an event of a kind not known is passed over.
pub(super) fn read<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> impl Stream<Item = Event> + Send + Unpin {
    let reader = Reader { body: Box::pin(body), lines: Lines::default(), events: VecDeque::new() };
    Box::pin(stream::unfold(reader, |mut reader| async move {
        loop {
            if let Some(event) = reader.events.pop_front() {
                return Some((event, reader));
            }
            let chunk = reader.body.next().await?.ok()?;
            reader.lines.read(&chunk, &mut reader.events);
        }
    }))
}

struct Reader<B> {
    body: B,
    lines: Lines,
    events: VecDeque<Event>,
}

#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
    data: Vec<u8>,
}

impl Lines {
    fn read(&mut self, chunk: &[u8], events: &mut VecDeque<Event>) {
        for byte in chunk {
            match byte {
                b'\n' => self.end_line(events),
                _ => self.rest.push(*byte),
            }
        }
    }

    fn end_line(&mut self, events: &mut VecDeque<Event>) {
        let line = std::mem::take(&mut self.rest);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            events.extend(serde_json::from_slice::<Event>(&std::mem::take(&mut self.data)).ok());
        } else if let Some(data) = line.strip_prefix(b"data:") {
            self.data.extend_from_slice(data);
        }
    }
}
