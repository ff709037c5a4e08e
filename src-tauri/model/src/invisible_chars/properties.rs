//! Properties of escaped text that hold for any text.

use serde_json::Value;

use super::{escape, escape_json, escape_lines, is_hidden};

/// Checks that escaped text has no hidden characters, that text without hidden characters stays as
/// it is, and that escaping a second time changes nothing. Checks that [`escape_lines`] keeps the
/// number of lines, and leaves no hidden characters in them.
pub(crate) fn escaped_text_is_visible(text: &str) {
    let escaped = escape(text);
    assert!(!escaped.contains(is_hidden), "{text:?} became {escaped:?}");
    assert_eq!(escape(&escaped), escaped);
    if !text.contains(is_hidden) {
        assert_eq!(escaped, text);
    }
    let lines = escape_lines(text);
    assert_eq!(lines.split('\n').count(), text.split('\n').count());
    assert!(
        lines.split('\n').all(|line| !line.contains(is_hidden)),
        "{text:?} became {lines:?}"
    );
}

/// Checks that escaped JSON has the same value, and no hidden characters if there is no white space
/// between its tokens.
pub(crate) fn escaped_json_has_the_same_value(json: &str) {
    let Ok(value) = serde_json::from_str::<Value>(json) else {
        return;
    };
    let compact = value.to_string();
    let escaped = escape_json(&compact);
    assert!(!escaped.contains(is_hidden), "{compact:?}: {escaped:?}");
    let read: Value = serde_json::from_str(&escaped).expect("escaped JSON is JSON");
    assert_eq!(read, value);
}
