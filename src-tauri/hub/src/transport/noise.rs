//! Lines from a server's stdout or stderr, bounded: whatever it writes, memory stays small and
//! the next good line is found.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// What the reader found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its line break and without a BOM.
    Whole(Vec<u8>),
    /// A line that was longer than the bound, and how it began.
    TooLong(Vec<u8>),
}

const SHOWN: usize = 200;

/// Reads the next line of at most `max` bytes; nothing at the end. A longer one is read to its end and dropped.
pub(super) async fn next_line(reader: &mut (impl AsyncBufRead + Unpin), max: usize) -> std::io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            let nothing = line.is_empty() && !too_long;
            return Ok((!nothing).then(|| finish(line, too_long)));
        }
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        if line.len() + part.len() > max {
            too_long = true;
            line.truncate(SHOWN);
            line.shrink_to_fit();
        }
        let kept = if too_long { part.len().min(SHOWN - line.len()) } else { part.len() };
        line.extend_from_slice(&part[..kept]);
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(finish(line, too_long)));
        }
    }
}

fn finish(mut line: Vec<u8>, too_long: bool) -> Line {
    if too_long {
        return Line::TooLong(line);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    if line.starts_with(b"\xef\xbb\xbf") {
        line.drain(..3);
    }
    Line::Whole(line)
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
