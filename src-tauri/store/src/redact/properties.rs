//! Properties of [`redact_json`] that hold for any text.

use serde_json::Value;

use super::{MASK, redact_json};

/// A secret that no well-known format or name reveals.
const SECRET: &str = "plain/Value+9";

/// Checks that redacting a redacted text again changes nothing, and that JSON stays JSON.
pub(crate) fn redacted_text_is_stable(text: &str) {
    let redacted = redact_json(text, &|_| None);
    assert_eq!(
        redact_json(&redacted, &|_| None),
        redacted,
        "{text} became {redacted}"
    );
    if is_json(text) {
        assert!(is_json(&redacted), "{text} became {redacted}");
    }
}

/// Checks that the result does not contain a secret that the caller knows: neither as written, nor
/// escaped in a name or string.
pub(crate) fn a_known_secret_is_masked(text: &str) {
    let replace = |text: &str| {
        let masked = text.replace(SECRET, MASK);
        (masked != text).then_some(masked)
    };
    let texts = [text.to_owned(), text.replace("a", SECRET)];
    for text in texts {
        let redacted = redact_json(&text, &replace);
        assert!(!redacted.contains(SECRET), "{text} became {redacted}");
        if let Ok(value) = serde_json::from_str(&redacted) {
            assert!(!contains_secret(&value), "{text} became {redacted}");
        }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn contains_secret(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains(SECRET),
        Value::Array(items) => items.iter().any(contains_secret),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(SECRET) || contains_secret(value)),
    }
}
