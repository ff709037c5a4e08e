//! Properties of the parsers that hold for any input, for the targets in `fuzz/`. The feature
//! `fuzzing` enables this module.

use super::legacy_sse::opening;
use crate::lines;

/// Checks how the lines of a server's stdout are read if the output arrives in these pieces.
pub fn lines(pieces: &[&[u8]]) {
    lines::properties::lines_do_not_depend_on_cuts(pieces, 16);
    lines::properties::lines_do_not_depend_on_cuts(pieces, 1_000);
}

/// Checks how the beginning of an SSE stream, which names the server's endpoint, is read if the
/// stream arrives in these pieces.
pub fn opening(pieces: &[&[u8]]) {
    opening::properties::the_endpoint_does_not_depend_on_cuts(pieces);
    opening::properties::endpoint_has_the_same_origin(&String::from_utf8_lossy(&pieces.concat()));
}
