//! What must hold for any input of the parsers, for the targets in `fuzz/`. Not part of a product.

use serde_json::value::RawValue;

use super::{legacy_sse::opening, message, sse};
use crate::{lines, model::json};

/// A server's stdout, as it comes.
pub fn lines(pieces: &[&[u8]]) {
    lines::properties::lines_do_not_depend_on_cuts(pieces, 16);
    lines::properties::lines_do_not_depend_on_cuts(pieces, 1_000);
}

/// The body of a stream of events, as it comes.
pub fn events(pieces: &[&[u8]]) {
    sse::properties::events_do_not_depend_on_cuts(pieces, 16);
    sse::properties::events_do_not_depend_on_cuts(pieces, 1_000);
    sse::properties::written_is_read(&String::from_utf8_lossy(&pieces.concat()));
}

/// The same from a server that has to say where to post.
pub fn opening(pieces: &[&[u8]]) {
    opening::properties::the_endpoint_does_not_depend_on_cuts(pieces);
    opening::properties::a_place_is_at_the_same_origin(&String::from_utf8_lossy(&pieces.concat()));
}

/// A message of a server.
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

/// A JSON object, and a key of one.
pub fn object(text: &str) {
    json::properties::rewritten_is_the_same(text);
    json::properties::a_key_folds_like_its_variants(text);
}
