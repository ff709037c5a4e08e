//! Server-sent events: from bytes as they come to the data of each event.

/// Collects events of at most `max` bytes.
pub(super) struct Events {
    max: usize,
    line: Vec<u8>,
    data: String,
    has_data: bool,
    after_cr: bool,
}

/// An event was longer than the bound.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    pub(super) fn new(max: usize) -> Self {
        Self { max, line: Vec::new(), data: String::new(), has_data: false, after_cr: false }
    }

    /// Takes the next bytes; the data of each event that they complete. Events without data are none.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ if self.line.len() + self.data.len() >= self.max => return Err(TooLong),
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            let complete = std::mem::take(&mut self.has_data) && !data.trim().is_empty();
            return complete.then_some(data);
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        if field == "data" {
            if self.has_data {
                self.data.push('\n');
            }
            self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
            self.has_data = true;
        }
        None
    }
}

#[cfg(test)]
mod tests;
