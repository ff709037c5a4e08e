//! JSON pointers (RFC 6901), followed in every way in which a server may read an object.

use std::{borrow::Cow, fmt};

use drawbridge_jsonrpc::json;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::ConditionFault;

/// The values to which a pointer leads.
pub(super) struct Resolved<'a> {
    /// More than one value if a key occurs several times, or in both upper and lower case.
    pub(super) values: Vec<Cow<'a, RawValue>>,
    /// Whether there is exactly one value, under exactly these keys, and outside any string.
    pub(super) is_unambiguous: bool,
    /// Whether part of the path cannot be read here, although a server might read it.
    pub(super) is_unreadable: bool,
}

/// The JSON text in a string.
pub(super) enum EmbeddedJson {
    Nothing,
    /// An object or a list.
    Value(Box<RawValue>),
    /// Text that only some parsers accept as JSON.
    Unreadable,
}

/// Returns the keys of a pointer.
///
/// # Errors
/// Returns an error if the text is not a JSON pointer.
pub(super) fn parse(pointer: &str) -> Result<Vec<String>, ConditionFault> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let rest = pointer
        .strip_prefix('/')
        .ok_or_else(|| ConditionFault::InvalidPointer(pointer.to_owned()))?;
    Ok(rest
        .split('/')
        .map(|key| key.replace("~1", "/").replace("~0", "~"))
        .collect())
}

pub(super) fn resolve<'a>(keys: &[String], value: &'a RawValue) -> Resolved<'a> {
    let mut found = Resolved {
        values: vec![Cow::Borrowed(value)],
        is_unambiguous: true,
        is_unreadable: false,
    };
    for key in keys {
        for value in std::mem::take(&mut found.values) {
            match (embedded_json(&value), value) {
                (EmbeddedJson::Unreadable, _) => found.is_unreadable = true,
                (EmbeddedJson::Value(inner), _) => {
                    found.is_unambiguous = false;
                    resolve_key(key, &inner, &mut found, |value| {
                        Cow::Owned(value.to_owned())
                    });
                }
                (EmbeddedJson::Nothing, Cow::Borrowed(value)) => {
                    resolve_key(key, value, &mut found, Cow::Borrowed)
                }
                (EmbeddedJson::Nothing, Cow::Owned(value)) => {
                    resolve_key(key, &value, &mut found, |value| {
                        Cow::Owned(value.to_owned())
                    })
                }
            }
        }
        found.is_unambiguous &= found.values.len() == 1;
    }
    found
}

/// Follows one key into an object or a list. `keep` borrows or copies each value that is found.
fn resolve_key<'v, 'a>(
    key: &str,
    value: &'v RawValue,
    found: &mut Resolved<'a>,
    keep: impl Fn(&'v RawValue) -> Cow<'a, RawValue>,
) {
    if value.get().starts_with('{') {
        let Some(members) = members(value) else {
            found.is_unreadable = true;
            return;
        };
        let folded = json::fold_key(key);
        for (name, value) in members
            .into_iter()
            .filter(|(name, _)| json::fold_key(name) == folded)
        {
            found.is_unambiguous &= name == key;
            found.values.push(keep(value));
        }
    } else if let Some(items) = items(value)
        && let Some(item) = key
            .parse()
            .ok()
            .and_then(|at: usize| items.get(at).copied())
    {
        found.is_unambiguous &= key == "0" || !key.starts_with(['0', '+']);
        found.values.push(keep(item));
    }
}

/// Returns the object or list that a string contains as JSON text. Many servers read this value in
/// place of the string.
pub(super) fn embedded_json(value: &RawValue) -> EmbeddedJson {
    let Some(text) = value
        .get()
        .strip_prefix('"')
        .filter(|text| text.contains(['{', '[', '\\']))
    else {
        return EmbeddedJson::Nothing;
    };
    let Ok(text) = serde_json::from_str::<String>(value.get()) else {
        // The string has a lone surrogate, which some parsers accept.
        return if text.contains(['{', '[']) {
            EmbeddedJson::Unreadable
        } else {
            EmbeddedJson::Nothing
        };
    };
    if !text.trim_start().starts_with(['{', '[']) {
        return EmbeddedJson::Nothing;
    }
    // Python's JSON parser accepts `NaN` and `Infinity`.
    let has_python_number = text.contains("NaN") || text.contains("Infinity");
    match RawValue::from_string(text) {
        Ok(value) => EmbeddedJson::Value(value),
        Err(_) if has_python_number => EmbeddedJson::Unreadable,
        Err(_) => EmbeddedJson::Nothing,
    }
}

/// Returns the entries of a list, or `None` if the value is not a list.
pub(super) fn items(value: &RawValue) -> Option<Vec<&RawValue>> {
    value
        .get()
        .starts_with('[')
        .then(|| serde_json::from_str(value.get()).ok())?
}

/// Returns the members of an object, including members with duplicate keys. Returns `None` if the
/// value is not an object, or if a key has a lone surrogate.
pub(super) fn members(value: &RawValue) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    value.get().starts_with('{').then(|| {
        serde_json::from_str(value.get())
            .ok()
            .map(|Members(all)| all)
    })?
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                    members.push((key, map.next_value::<&'de RawValue>()?));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}
