//! Properties that hold for any input, for the targets in `fuzz/`. The feature `fuzzing` enables
//! this module.

use crate::{format, import};

/// Checks changes of a configuration file. `choice` selects the format of the file, and where and
/// how it lists its servers.
pub fn edit(choice: u8, text: &str) {
    format::properties::an_entry_is_added_and_removed(choice, text);
}

/// Checks how text that a person pastes is read.
pub fn import(text: &str) {
    import::properties::a_text_is_read_or_rejected(text);
}
