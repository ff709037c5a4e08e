//! Properties of the parsers that hold for any input, for the targets in `fuzz/`. Not part of a
//! release.

use crate::{client::events, wire};

/// Checks a message of a client.
pub fn message(text: &[u8]) {
    wire::properties::check_message(text);
    wire::properties::check_deep_nesting_is_rejected(text);
}

/// Checks the body of a hub's event stream, given in pieces.
pub fn events(pieces: &[&[u8]]) {
    events::properties::check_events_do_not_depend_on_pieces(pieces);
}
