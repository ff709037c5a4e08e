//! One text for each JSON value, so that two of them are the same where their texts are.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{number::Number, pointer};
use crate::model::json;

/// The value's one text; none if an object in it has a key twice, or it is nested too deep.
pub(super) fn of(value: &RawValue) -> Option<String> {
    // Within a string of JSON there may be more than a message can have.
    if json::depth_exceeds(value.get().as_bytes(), json::MAX_DEPTH) {
        return None;
    }
    let mut text = String::new();
    write(value, &mut text)?;
    Some(text)
}

fn write(value: &RawValue, into: &mut String) -> Option<()> {
    let text = value.get();
    match text.as_bytes().first()? {
        b'{' => {
            let mut members = pointer::members(value)?;
            members.sort_by(|one, other| one.0.cmp(&other.0));
            if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return None;
            }
            into.push('{');
            for (key, value) in members {
                into.push_str(&json::string(&key));
                into.push(':');
                write(value, into)?;
                into.push(',');
            }
            into.push('}');
        }
        b'[' => {
            into.push('[');
            for item in pointer::items(value)? {
                write(item, into)?;
                into.push(',');
            }
            into.push(']');
        }
        b'"' => into.push_str(&json::string(
            &serde_json::from_str::<Cow<'_, str>>(text).ok()?,
        )),
        b't' | b'f' | b'n' => into.push_str(text),
        _ => into.push_str(&Number::parse(text)?.canonical()),
    }
    Some(())
}
