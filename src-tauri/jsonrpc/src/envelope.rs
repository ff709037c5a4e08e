//! Reads the top level of a message.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::json::fold_key;

const KEYS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// Which keys are rejected, besides a known key that occurs twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyCheck {
    /// Any key that occurs twice, and any key that differs only in case from another key or from a
    /// known key. Another reader could take the value of one key for the value of the other.
    Strict,
    /// No further keys. No decision depends on how another reader understands a message of a
    /// server.
    Tolerant,
}

/// The known members of a message, as raw JSON.
#[derive(Default)]
pub(crate) struct Envelope<'a> {
    pub(crate) jsonrpc: Option<&'a RawValue>,
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) method: Option<&'a RawValue>,
    pub(crate) params: Option<&'a RawValue>,
    pub(crate) result: Option<&'a RawValue>,
    pub(crate) error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// Returns an error if the text is not UTF-8 or not a JSON object, or if one of its keys is
    /// rejected.
    pub(crate) fn read(text: &'a [u8], check: KeyCheck) -> Result<Self, serde_json::Error> {
        // serde_json does not check that strings that it ignores are UTF-8.
        let text = str::from_utf8(text).map_err(serde_json::Error::custom)?;
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let envelope = check.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(envelope)
    }
}

impl<'de> DeserializeSeed<'de> for KeyCheck {
    type Value = Envelope<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for KeyCheck {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values: [Option<&'de RawValue>; KEYS.len()] = Default::default();
        let mut other_keys = HashSet::new();
        let occurs_twice =
            |key: &str| A::Error::custom(format_args!("the key '{key}' occurs twice"));
        while let Some(JsonString(key)) = map.next_key::<JsonString<'de>>()? {
            if let Some(index) = KEYS.iter().position(|known| *known == key) {
                if values[index].replace(map.next_value()?).is_some() {
                    return Err(occurs_twice(&key));
                }
                continue;
            }
            if self == Self::Tolerant {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let folded = fold_key(&key);
            if KEYS.contains(&folded.as_str()) {
                return Err(A::Error::custom(format_args!(
                    "the key '{folded}' must be in lower case"
                )));
            }
            map.next_value::<IgnoredAny>()?;
            if let Some(repeated) = other_keys.replace(folded) {
                return Err(occurs_twice(&repeated));
            }
        }
        let [jsonrpc, id, method, params, result, error] = values;
        Ok(Envelope {
            jsonrpc,
            id,
            method,
            params,
            result,
            error,
        })
    }
}

/// A JSON string, borrowed from the message if it has no escapes.
#[derive(Deserialize)]
struct JsonString<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the text of a JSON string, or `None` if the value is not a string.
pub(crate) fn read_string(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<JsonString<'_>>(raw.get())
        .ok()
        .map(|text| text.0)
}
