//! Output from any thread: whole lines, parts of lines, and repeated bytes.

use std::io::{self, Write};

/// Writes a line to stdout.
pub(crate) fn write_line(line: impl AsRef<[u8]>) {
    write_piece([line.as_ref(), b"\n"].concat());
}

/// Writes a part of a line to stdout. No other thread may write before the end of the line.
pub(crate) fn write_piece(piece: impl AsRef<[u8]>) {
    let mut stdout = io::stdout().lock();
    let result = stdout
        .write_all(piece.as_ref())
        .and_then(|()| stdout.flush());
    if result.is_err() {
        // The hub closed the other end.
        std::process::exit(0);
    }
}

/// Writes the bytes repeatedly, `total` bytes in all.
pub(crate) fn write_repeated(mut to: impl Write, bytes: &[u8], total: usize) {
    let piece: Vec<u8> = bytes
        .iter()
        .copied()
        .cycle()
        .take(bytes.len() * 65_536_usize.div_ceil(bytes.len()))
        .collect();
    let mut remaining = total;
    while remaining > 0 {
        let part = &piece[..piece.len().min(remaining)];
        if to.write_all(part).is_err() {
            std::process::exit(0);
        }
        remaining -= part.len();
    }
    let _ = to.flush();
}
