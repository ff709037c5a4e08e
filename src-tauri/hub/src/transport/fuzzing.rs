//! Properties of the parsers that hold for any input, for the targets in `fuzz/`. Not part of a
//! product.

use serde_json::value::RawValue;

use super::{legacy_sse::opening, message, sse};
use crate::{lines, model::json};

/// Checks a server's stdout, split into pieces.
pub fn lines(pieces: &[&[u8]]) {
    lines::properties::lines_do_not_depend_on_cuts(pieces, 16);
    lines::properties::lines_do_not_depend_on_cuts(pieces, 1_000);
}

/// Checks the body of a stream of events, split into pieces.
pub fn events(pieces: &[&[u8]]) {
    sse::properties::events_do_not_depend_on_cuts(pieces, 16);
    sse::properties::events_do_not_depend_on_cuts(pieces, 1_000);
    sse::properties::written_is_read(&String::from_utf8_lossy(&pieces.concat()));
}

/// Checks the beginning of a stream on which the server has to name its endpoint.
pub fn opening(pieces: &[&[u8]]) {
    opening::properties::the_endpoint_does_not_depend_on_cuts(pieces);
    opening::properties::endpoint_has_the_same_origin(&String::from_utf8_lossy(&pieces.concat()));
}

/// Checks a server's message.
pub fn message(text: &[u8]) {
    message::properties::read_is_what_was_sent(text);
    let text = String::from_utf8_lossy(text);
    message::properties::written_is_read(
        7,
        &text,
        RawValue::from_string(text.clone().into_owned())
            .ok()
            .as_deref(),
    );
}

/// Checks a JSON object, and a key of one.
pub fn object(text: &str) {
    json::properties::rewritten_is_the_same(text);
    json::properties::a_key_folds_like_its_variants(text);
}
