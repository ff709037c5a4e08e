//! Properties that hold for any input, for the targets in `fuzz/`. Not part of a product.

use crate::redact;

/// Checks JSON or other text from which secrets are removed.
pub fn redactor(text: &str) {
    redact::properties::redacted_text_is_stable(text);
    redact::properties::a_known_secret_is_masked(text);
}
