//! Properties that hold for any input, for the targets in `fuzz/`. Not part of a product.

use crate::{format, import};

/// Checks a configuration file. `choice` selects its format and the change.
pub fn edit(choice: u8, text: &str) {
    format::properties::an_entry_is_added_and_removed(choice, text);
}

/// Checks text that a person pastes.
pub fn import(text: &str) {
    import::properties::a_text_is_read_or_rejected(text);
}
