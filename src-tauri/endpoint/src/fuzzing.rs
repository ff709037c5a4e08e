//! What must hold for any input of the parsers, for the targets in `fuzz/`. Not part of a product.

use crate::{client::events, wire};

/// A message of a client.
pub fn message(text: &[u8]) {
    wire::properties::read_is_what_was_sent(text);
    wire::properties::deep_nesting_is_refused(text);
}

/// The body of a stream of events of a hub, as it comes.
pub fn events(pieces: &[&[u8]]) {
    events::properties::events_do_not_depend_on_cuts(pieces);
}
