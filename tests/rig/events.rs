//! Server-sent events, read one by one.

use std::io::BufRead;

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

/// The events of a response, in order of arrival, until the response ends.
pub struct Events(Box<dyn BufRead + Send>);

impl Events {
    #[track_caller]
    pub fn new(response: Response) -> Self {
        let kind = response.header("Content-Type").unwrap_or_default();
        assert!(
            response.status == 200 && kind.starts_with("text/event-stream"),
            "no stream: {} {kind}",
            response.status
        );
        Self(response.body)
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end_matches(['\r', '\n']);
            match line.split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("id", id)) => id.clone_into(&mut event.id),
                Some(("data", data)) => event.data += data,
                _ if line.is_empty() && !event.data.is_empty() => return Some(event),
                _ => {}
            }
        }
    }
}
