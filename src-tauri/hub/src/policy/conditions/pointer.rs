//! JSON pointers (RFC 6901), followed in every way in which a server may read an object.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::model::json;

/// What a pointer leads to.
pub(super) struct Found<'a> {
    /// More than one where a key stands twice, or in several cases.
    pub(super) values: Vec<&'a RawValue>,
    /// There is exactly one, under exactly these keys.
    pub(super) is_sure: bool,
}

/// The keys of a pointer.
///
/// # Errors
/// Where it is none.
pub(super) fn parse(pointer: &str) -> Result<Vec<String>, String> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let rest = pointer.strip_prefix('/').ok_or_else(|| format!("a JSON pointer begins with /, such as /{pointer}"))?;
    Ok(rest.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect())
}

pub(super) fn resolve<'a>(keys: &[String], value: &'a RawValue) -> Found<'a> {
    let mut found = Found { values: vec![value], is_sure: true };
    for key in keys {
        let folded = json::fold(key);
        let mut next = Vec::new();
        for value in found.values {
            if let Some(members) = members(value) {
                let alike = members.into_iter().filter(|(name, _)| json::fold(name) == folded);
                for (name, value) in alike {
                    found.is_sure &= name == *key;
                    next.push(value);
                }
            } else if let Some(items) = items(value)
                && let Some(item) = key.parse().ok().and_then(|at: usize| items.get(at).copied())
            {
                found.is_sure &= *key == "0" || !key.starts_with(['0', '+']);
                next.push(item);
            }
        }
        found.is_sure &= next.len() == 1;
        found.values = next;
    }
    found
}

/// The entries of a list; none where it is no list.
pub(super) fn items(value: &RawValue) -> Option<Vec<&RawValue>> {
    value.get().starts_with('[').then(|| serde_json::from_str(value.get()).ok())?
}

/// The members of an object, also such as stand twice; none where it is no object.
pub(super) fn members(value: &RawValue) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    value.get().starts_with('{').then(|| serde_json::from_str(value.get()).ok().map(|Members(all)| all))?
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
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

        deserializer.deserialize_map(Each)
    }
}
