//! Properties of the parsers that hold for any input, for the targets in `fuzz/`. Not part of a
//! product.

use super::legacy_sse::opening;
use crate::lines;

/// Checks a server's stdout, split into pieces.
pub fn lines(pieces: &[&[u8]]) {
    lines::properties::lines_do_not_depend_on_cuts(pieces, 16);
    lines::properties::lines_do_not_depend_on_cuts(pieces, 1_000);
}

/// Checks the beginning of a stream on which the server has to name its endpoint.
pub fn opening(pieces: &[&[u8]]) {
    opening::properties::the_endpoint_does_not_depend_on_cuts(pieces);
    opening::properties::endpoint_has_the_same_origin(&String::from_utf8_lossy(&pieces.concat()));
}
