//! Properties that hold for any input, for the targets in `fuzz/`. The feature `fuzzing` enables
//! this module.

use crate::redact;

/// Checks the redaction of JSON or other text.
pub fn redactor(text: &str) {
    redact::properties::redacted_text_is_stable(text);
    redact::properties::a_known_secret_is_masked(text);
}
