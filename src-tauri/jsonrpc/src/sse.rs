//! Parses server-sent events.

use std::time::Duration;

/// An event. Its name is `message` if the server did not name it.
#[derive(Debug, PartialEq, Eq)]
pub struct SseEvent {
    pub name: String,
    /// The last id of the stream up to this event; empty if there is none. A new connection resumes
    /// after this id.
    pub id: String,
    pub data: String,
}

/// Parses a stream of events, each of at most `max` bytes.
pub struct SseParser {
    max: usize,
    line: Vec<u8>,
    name: String,
    data: String,
    /// Whether the event that is being read has a line of data, which may be blank.
    has_data: bool,
    /// Whether the last piece ended with a CR. An LF that begins the next piece is then part of the
    /// same line break.
    after_cr: bool,
    has_read_line: bool,
    /// Whether an event was too long. All later pieces are then refused.
    too_long: bool,
    /// The id of the event that is being read.
    id: Option<String>,
    /// The id of the last event that is complete or too long, and has an id. The event may have no
    /// data.
    last_id: String,
    retry: Option<Duration>,
}

/// The error for an event that exceeds the limit.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

/// Returns whether the value of a `Content-Type` header is an event stream, with any parameters.
pub fn is_event_stream(content_type: &[u8]) -> bool {
    const EVENT_STREAM: &[u8] = b"text/event-stream";
    content_type
        .get(..EVENT_STREAM.len())
        .is_some_and(|essence| essence.eq_ignore_ascii_case(EVENT_STREAM))
}

impl SseParser {
    pub fn new(max: usize) -> Self {
        Self {
            max,
            line: Vec::new(),
            name: String::new(),
            data: String::new(),
            has_data: false,
            after_cr: false,
            has_read_line: false,
            too_long: false,
            id: None,
            last_id: String::new(),
            retry: None,
        }
    }

    /// Returns the id of the event after which a new connection resumes, or `None` if the server
    /// sent no id.
    pub fn last_id(&self) -> Option<&str> {
        (!self.last_id.is_empty()).then_some(self.last_id.as_str())
    }

    /// Returns how long the server wants a client to wait before it connects again, or `None` if
    /// the server did not say.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Prepares for a new connection. Drops an incomplete event of the old connection.
    pub fn reset_for_reconnect(&mut self) {
        let (last_id, retry) = (std::mem::take(&mut self.last_id), self.retry);
        *self = Self {
            last_id,
            retry,
            ..Self::new(self.max)
        };
    }

    /// Parses the next bytes, and returns the events that they complete. Ignores events without
    /// data or with blank data.
    ///
    /// # Errors
    /// Returns an error if an event is too long. If the bytes complete other events before that
    /// event, this call returns these events, and the next call returns the error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, TooLong> {
        if self.too_long {
            return Err(TooLong);
        }
        let mut events = Vec::new();
        if bytes.is_empty() {
            return Ok(events);
        }
        // Skip the second half of a CRLF that arrived in two pieces.
        let mut rest = if std::mem::take(&mut self.after_cr) {
            bytes.strip_prefix(b"\n").unwrap_or(bytes)
        } else {
            bytes
        };
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            if !self.try_append(&rest[..end]) {
                break;
            }
            events.extend(self.end_line());
            let is_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.after_cr = is_cr && rest.is_empty();
            rest = if is_cr {
                rest.strip_prefix(b"\n").unwrap_or(rest)
            } else {
                rest
            };
        }
        let is_whole = !self.too_long && self.try_append(rest);
        if !is_whole && events.is_empty() {
            Err(TooLong)
        } else {
            Ok(events)
        }
    }

    /// Adds a part of a line, unless the event is then too long. Returns whether the part was
    /// added.
    fn try_append(&mut self, part: &[u8]) -> bool {
        self.too_long = self.line.len() + self.name.len() + self.data.len() + part.len() > self.max;
        if self.too_long {
            // A new connection resumes after this event, or the server would send it again.
            self.end_id();
        } else {
            self.line.extend_from_slice(part);
        }
        !self.too_long
    }

    /// Records the id of the event that ends.
    fn end_id(&mut self) {
        if let Some(id) = self.id.take() {
            self.last_id = id;
        }
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let mut line = std::mem::take(&mut self.line);
        // A stream may begin with a BOM, which is not part of its text.
        if !std::mem::replace(&mut self.has_read_line, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            self.end_id();
            let (name, data) = (
                std::mem::take(&mut self.name),
                std::mem::take(&mut self.data),
            );
            let complete = std::mem::take(&mut self.has_data) && !data.trim().is_empty();
            let name = if name.is_empty() {
                "message".to_owned()
            } else {
                name
            };
            let id = self.last_id.clone();
            return complete.then_some(SseEvent { name, id, data });
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            _ => {}
        }
        None
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
