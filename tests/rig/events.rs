//! Server-sent events, read one by one.

use std::{collections::VecDeque, io::BufRead};

use drawbridge_jsonrpc::sse::{SseEvent, SseParser};
use serde_json::Value;

use crate::http::Response;

/// A server-sent event.
#[derive(Debug, Default)]
pub struct Event {
    pub name: String,
    pub id: String,
    pub data: String,
}

impl Event {
    /// Returns the JSON message in the event.
    #[track_caller]
    pub fn message(&self) -> Value {
        assert_eq!(self.name, "message", "{self:?}");
        serde_json::from_str(&self.data).unwrap_or_else(|e| panic!("not JSON ({e}): {self:?}"))
    }
}

/// The longest event, in bytes.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// The events of a response, in order of arrival, until the response ends or cannot be read.
pub struct Events {
    body: Box<dyn BufRead + Send>,
    parser: SseParser,
    ready: VecDeque<SseEvent>,
}

impl Events {
    #[track_caller]
    pub fn new(response: Response) -> Self {
        let kind = response.header("Content-Type").unwrap_or_default();
        assert!(
            response.status == 200 && kind.starts_with("text/event-stream"),
            "no stream: {} {kind}",
            response.status
        );
        Self {
            body: response.body,
            parser: SseParser::new(MAX_EVENT_BYTES),
            ready: VecDeque::new(),
        }
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(SseEvent { name, id, data }) = self.ready.pop_front() {
                return Some(Event { name, id, data });
            }
            let bytes = self.body.fill_buf().ok()?;
            if bytes.is_empty() {
                return None;
            }
            let length = bytes.len();
            self.ready.extend(self.parser.push(bytes).ok()?);
            self.body.consume(length);
        }
    }
}
