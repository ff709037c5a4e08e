//! Properties of the parsers that hold for any input, for the targets in `fuzz/`. The feature
//! `fuzzing` enables this module.

use serde_json::value::RawValue;

use crate::{client_message, json, server_message, sse};

/// Checks how a client's message is read.
pub fn client_message(text: &[u8]) {
    client_message::properties::check_message(text);
    client_message::properties::check_deep_nesting_is_rejected(text);
}

/// Checks how a stream of events that arrives in these pieces is read.
pub fn events(pieces: &[&[u8]]) {
    sse::properties::events_do_not_depend_on_cuts(pieces, 16);
    sse::properties::events_do_not_depend_on_cuts(pieces, 1_000);
    sse::properties::data_survives_a_round_trip(&String::from_utf8_lossy(&pieces.concat()));
}

/// Checks how a server's message is read, and how messages with this text are written.
pub fn server_message(text: &[u8]) {
    server_message::properties::read_is_what_was_sent(text);
    let text = String::from_utf8_lossy(text);
    server_message::properties::messages_survive_a_round_trip(
        7,
        &text,
        RawValue::from_string(text.clone().into_owned())
            .ok()
            .as_deref(),
    );
}

/// Checks how `text` is read as a JSON object, and how it is folded as a key.
pub fn object(text: &str) {
    json::properties::rewritten_is_the_same(text);
    json::properties::a_key_folds_like_its_variants(text);
}
