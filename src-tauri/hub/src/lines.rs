//! Lines of a server's stdout and stderr, and of a client's stdin. Memory is bounded for any input,
//! and the next good line is found.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A line that [`next_line`] has read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its line break and without a BOM.
    Whole(Vec<u8>),
    /// The beginning of a line that exceeded the bound.
    TooLong(Vec<u8>),
}

/// The part of a too long line that is kept, in bytes.
const PREVIEW_LEN: usize = 200;
/// A line that reaches this length, in bytes, gets its maximum capacity at once. Growing by copies
/// would take twice as much memory.
const LARGE_LINE: usize = 2 * 1024 * 1024;

/// Reads the next line of at most `max` bytes, or returns `None` at the end. A longer line is read
/// to its end, and only its beginning is kept.
///
/// # Errors
/// Returns an error if the reader fails.
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
            line.truncate(PREVIEW_LEN);
            line.shrink_to_fit();
        }
        let kept = if too_long {
            part.len().min(PREVIEW_LEN - line.len())
        } else {
            part.len()
        };
        if line.len() >= LARGE_LINE && line.len() + kept > line.capacity() {
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
    if line.len() >= LARGE_LINE {
        line.shrink_to_fit();
    }
    Line::Whole(line)
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
