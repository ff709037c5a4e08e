//! Lines of a server's stdout and stderr, and of a client's stdin, bounded: whatever comes, memory stays small and the
//! next good line is found.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// What the reader found.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its line break and without a BOM.
    Whole(Vec<u8>),
    /// A line that was longer than the bound, and how it began.
    TooLong(Vec<u8>),
}

/// How much of a line is kept that is too long, in bytes.
const SHOWN: usize = 200;
/// A line of that length, in bytes, gets all the room that it may take at once: growing by copies takes twice as much.
const LONG: usize = 2 * 1024 * 1024;

/// Reads the next line of at most `max` bytes; nothing at the end. A longer one is read to its end and dropped.
///
/// # Errors
/// Those of the reader.
pub async fn next_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    max: usize,
) -> std::io::Result<Option<Line>> {
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
        let kept = if too_long {
            part.len().min(SHOWN - line.len())
        } else {
            part.len()
        };
        if line.len() >= LONG && line.len() + kept > line.capacity() {
            line.reserve_exact(max - line.len());
        }
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
    if line.len() >= LONG {
        line.shrink_to_fit();
    }
    Line::Whole(line)
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
