//! Canonical text of JSON values: two values are equal if their texts are equal.

use std::borrow::Cow;

use drawbridge_jsonrpc::json;
use serde_json::value::RawValue;

use super::{number::Number, pointer};

/// Returns the canonical text, or `None` if an object has a duplicate key, a string has a lone
/// surrogate, or the value is nested too deeply.
pub fn canonical_text(value: &RawValue) -> Option<String> {
    // The value may be JSON text from a string. The parser of the message did not check the depth
    // of such text.
    if json::depth_exceeds(value.get().as_bytes(), json::MAX_DEPTH) {
        return None;
    }
    let mut text = String::new();
    write_canonical(value, &mut text)?;
    Some(text)
}

fn write_canonical(value: &RawValue, into: &mut String) -> Option<()> {
    let text = value.get();
    match text.as_bytes().first()? {
        b'{' => {
            let mut members = pointer::members(value)?;
            members.sort_by(|left, right| left.0.cmp(&right.0));
            if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return None;
            }
            into.push('{');
            for (key, value) in members {
                into.push_str(&json::quote(&key));
                into.push(':');
                write_canonical(value, into)?;
                into.push(',');
            }
            into.push('}');
        }
        b'[' => {
            into.push('[');
            for item in pointer::items(value)? {
                write_canonical(item, into)?;
                into.push(',');
            }
            into.push(']');
        }
        b'"' => into.push_str(&json::quote(
            &serde_json::from_str::<Cow<'_, str>>(text).ok()?,
        )),
        b't' | b'f' | b'n' => into.push_str(text),
        _ => into.push_str(&Number::parse(text)?.to_canonical()),
    }
    Some(())
}
