//! Properties that hold for any input, for the targets in `fuzz/`. The feature `fuzzing` enables
//! this module.

use crate::{invisible_chars, spec};

/// Checks how text of other programs is escaped before it is shown.
pub fn escaped_text(text: &str) {
    invisible_chars::properties::escaped_text_is_visible(text);
}

/// Checks how JSON of other programs is escaped before it is shown.
pub fn escaped_json(json: &str) {
    invisible_chars::properties::escaped_json_has_the_same_value(json);
}

/// Checks how two spec files are read, written and compared.
pub fn specs(first: &str, second: &str) {
    spec::properties::specs_survive_a_round_trip(first);
    spec::properties::equal_specs_have_no_changes(first, second);
}
