//! Properties that hold for any input, for the targets in `fuzz/`. Not part of a product.

use crate::{invisible_chars, spec};

/// Checks text of other programs, as it is shown.
pub fn escaped_text(text: &str) {
    invisible_chars::properties::escaped_text_is_visible(text);
}

/// Checks JSON of other programs, as it is shown.
pub fn escaped_json(json: &str) {
    invisible_chars::properties::escaped_json_has_the_same_value(json);
}

/// Checks the texts of two spec files.
pub fn specs(one: &str, other: &str) {
    spec::properties::written_is_read(one);
    spec::properties::equal_specs_have_no_changes(one, other);
}
