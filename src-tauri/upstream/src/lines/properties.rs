//! Properties of [`next_line`] that hold for any bytes.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::FutureExt;
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

use super::{Line, PREVIEW_LEN, next_line};

/// A reader that returns exactly these pieces.
pub(crate) struct Pieces<'a>(Vec<&'a [u8]>);

impl<'a> Pieces<'a> {
    pub(crate) fn new(pieces: &[&'a [u8]]) -> Self {
        Self(
            pieces
                .iter()
                .rev()
                .filter(|piece| !piece.is_empty())
                .copied()
                .collect(),
        )
    }
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let piece = self.0.last().copied().unwrap_or_default();
        let count = piece.len().min(into.remaining());
        into.put_slice(&piece[..count]);
        self.consume(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for Pieces<'_> {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<&[u8]>> {
        Poll::Ready(Ok(self.get_mut().0.last().copied().unwrap_or_default()))
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        let Some(piece) = self.0.last_mut() else {
            return;
        };
        *piece = &piece[count..];
        if piece.is_empty() {
            self.0.pop();
        }
    }
}

/// Checks that the lines do not depend on how the bytes are cut into pieces.
pub(crate) fn lines_do_not_depend_on_cuts(pieces: &[&[u8]], max: usize) {
    let mut reader = Pieces::new(pieces);
    let mut read_lines = Vec::new();
    while let Some(line) = next_line(&mut reader, max)
        .now_or_never()
        .expect("the pieces are ready")
        .expect("the reader does not fail")
    {
        read_lines.push(line);
    }
    let whole = pieces.concat();
    let mut lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let expected: Vec<Line> = lines
        .into_iter()
        .map(|line| expected_line(line, max))
        .collect();
    assert_eq!(read_lines, expected, "with lines of at most {max} bytes");
}

fn expected_line(line: &[u8], max: usize) -> Line {
    if line.len() > max {
        return Line::TooLong(line[..line.len().min(PREVIEW_LEN)].to_vec());
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Line::Whole(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).to_vec())
}
