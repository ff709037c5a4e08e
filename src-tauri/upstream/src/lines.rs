//! Reads lines: of a server's stdout and stderr, and of the stdio bridge's stdin. Memory is bounded
//! for any input, and a line that is too long does not affect the next line.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A line that [`next_line`] has read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its line break and without a BOM.
    Whole(Vec<u8>),
    /// The beginning of a line that exceeded the bound.
    TooLong(Vec<u8>),
}

/// The number of bytes that are kept of a line that is too long.
const PREVIEW_LEN: usize = 200;
/// If a line is at least this long, in bytes, its buffer grows to the maximum capacity at once, and
/// shrinks at the end of the line. If the buffer grew step by step, each step would copy the line
/// and hold it in memory twice.
const LARGE_LINE: usize = 2 * 1024 * 1024;

/// Reads the next line, or returns `None` at the end of the input. A line longer than `max` bytes
/// is read to its end, but only its beginning is kept.
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
            let at_end = line.is_empty() && !too_long;
            return Ok((!at_end).then(|| into_line(line, too_long)));
        }
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        if line.len() + part.len() > max {
            too_long = true;
            line.truncate(PREVIEW_LEN);
            line.shrink_to_fit();
        }
        let kept_len = if too_long {
            part.len().min(PREVIEW_LEN - line.len())
        } else {
            part.len()
        };
        if line.len() >= LARGE_LINE && line.len() + kept_len > line.capacity() {
            line.reserve_exact(max - line.len());
        }
        line.extend_from_slice(&part[..kept_len]);
        let consumed = part.len() + usize::from(end.is_some());
        reader.consume(consumed);
        if end.is_some() {
            return Ok(Some(into_line(line, too_long)));
        }
    }
}

fn into_line(mut line: Vec<u8>, too_long: bool) -> Line {
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
