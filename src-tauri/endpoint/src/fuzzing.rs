//! Properties of the parsers that hold for any input, for the targets in `fuzz/`. Not part of a
//! release.

use crate::{client::events, wire};

/// Checks a message of a client.
pub fn message(text: &[u8]) {
    wire::properties::read_is_what_was_sent(text);
    wire::properties::deep_nesting_is_refused(text);
}

/// Checks the body of a hub's event stream, given in pieces.
pub fn events(pieces: &[&[u8]]) {
    events::properties::events_do_not_depend_on_cuts(pieces);
}
