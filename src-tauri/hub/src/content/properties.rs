//! Properties of the content defence that hold for any JSON of a server.

use std::collections::BTreeSet;

use drawbridge_jsonrpc::json::{Json, RawObject};
use drawbridge_model::{
    content::{ContentFlag, FlagKind},
    invisible_chars::is_hidden,
};
use serde_json::{Value, value::RawValue};

use super::{MAX_CHECKED, MAX_EXCERPT, MAX_FLAGS, notice, scan};

/// Checks that a scan returns a bounded number of short flags without hidden characters. Checks
/// that the kinds of flags do not depend on the JSON around a text, and that the flags do not
/// depend on how the characters of the text are written.
pub(crate) fn flags_do_not_depend_on_spelling(json: &str) {
    if serde_json::from_str::<&RawValue>(json).is_err() {
        return;
    }
    let flags = scan::scan(json, MAX_CHECKED);
    assert!(flags.len() <= MAX_FLAGS, "{json}: {flags:?}");
    for flag in &flags {
        let length = flag.excerpt.chars().count();
        assert!(length <= MAX_EXCERPT + 1, "{json}: {flag:?}");
        assert!(!flag.excerpt.chars().any(is_hidden), "{json}: {flag:?}");
        assert!(!flag.place.chars().any(is_hidden), "{json}: {flag:?}");
    }
    let Ok(value) = serde_json::from_str::<Value>(json) else {
        return;
    };
    let is_complete = |flags: &[ContentFlag]| {
        flags.len() < MAX_FLAGS && flags.iter().all(|flag| flag.kind != FlagKind::Unchecked)
    };
    let kinds = |flags: &[ContentFlag]| -> BTreeSet<FlagKind> {
        flags.iter().map(|flag| flag.kind).collect()
    };
    let wrapped = scan::scan(&format!(r#"{{"content":[{json}]}}"#), MAX_CHECKED);
    if is_complete(&flags) && is_complete(&wrapped) {
        assert_eq!(kinds(&flags), kinds(&wrapped), "{json}");
    }
    // If a key is repeated, `value` has only the last member with this key. Both spellings are
    // therefore made from `value`, not from `json`.
    let plain = value.to_string();
    let escaped = scan::scan(&escape_non_ascii(&plain), MAX_CHECKED);
    assert_eq!(scan::scan(&plain, MAX_CHECKED), escaped, "{json}");
}

/// Checks that adding a notice changes nothing else in a result.
pub(crate) fn a_notice_changes_nothing_else(result: &str) {
    const TEXT: &str = "the notice of this test";
    let Ok(raw) = serde_json::from_str::<Box<RawValue>>(result) else {
        return;
    };
    let json = Json::from(raw);
    let Ok(object) = RawObject::parse(&json) else {
        return;
    };
    let Ok(Some(with_notice)) = notice::insert_notice(object, TEXT, true) else {
        return;
    };
    // A `Value` cannot represent all JSON, for example a lone surrogate.
    let Ok(before) = serde_json::from_str::<Value>(json.get()) else {
        return;
    };
    let mut after: Value = serde_json::from_str(with_notice.get()).expect("the result is JSON");
    assert!(with_notice.get().contains(TEXT), "{with_notice:?}");
    remove_notice(&mut after, &before, TEXT);
    if let (Some(after), Some(before)) = (after.get_mut("result"), before.get("result")) {
        remove_notice(after, before, TEXT);
    }
    assert_eq!(before, after);
}

/// Removes the notice from each member that has it, and removes each member that was added for the
/// notice.
fn remove_notice(result: &mut Value, original: &Value, text: &str) {
    let Some(result) = result.as_object_mut() else {
        return;
    };
    for member in ["content", "messages", "contents"] {
        let Some(Value::Array(items)) = result.get_mut(member) else {
            continue;
        };
        let notice = if member == "contents" {
            items.len().checked_sub(1)
        } else {
            Some(0)
        };
        if let Some(at) = notice.filter(|at| items[*at].to_string().contains(text)) {
            items.remove(at);
        }
        if items.is_empty() && original.get(member).is_none() {
            result.remove(member);
        }
    }
}

/// Returns the JSON with an escape for each character outside ASCII.
fn escape_non_ascii(json: &str) -> String {
    let mut escaped = String::new();
    for c in json.chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}
