//! Server-sent events: from bytes as they come to the name and the data of each event.

/// An event: `message` where the server did not name it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SseEvent {
    pub(super) name: String,
    pub(super) data: String,
}

/// Collects events of at most `max` bytes.
pub(super) struct Events {
    max: usize,
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    after_cr: bool,
}

/// An event was longer than the bound.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    pub(super) fn new(max: usize) -> Self {
        Self { max, line: Vec::new(), name: String::new(), data: String::new(), has_data: false, after_cr: false }
    }

    /// Takes the next bytes; the events that they complete. Events without data are none.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, TooLong> {
        let mut events = Vec::new();
        if bytes.is_empty() {
            return Ok(events);
        }
        // The other half of a CRLF that came in two.
        let mut rest =
            if std::mem::take(&mut self.after_cr) { bytes.strip_prefix(b"\n").unwrap_or(bytes) } else { bytes };
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            self.add(&rest[..end])?;
            events.extend(self.end_line());
            let is_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.after_cr = is_cr && rest.is_empty();
            rest = if is_cr { rest.strip_prefix(b"\n").unwrap_or(rest) } else { rest };
        }
        self.add(rest)?;
        Ok(events)
    }

    fn add(&mut self, part: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + self.name.len() + self.data.len() + part.len() > self.max {
            return Err(TooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            let complete = std::mem::take(&mut self.has_data) && !data.trim().is_empty();
            let name = if name.is_empty() { "message".to_owned() } else { name };
            return complete.then_some(SseEvent { name, data });
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
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests;
