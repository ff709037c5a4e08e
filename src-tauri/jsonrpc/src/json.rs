//! Raw JSON: shared texts, and objects that keep their members in order.
//!
//! Serde's maps would reorder keys and rewrite numbers. These types keep the order of the members,
//! and every byte of a value that is not replaced.

use std::{borrow::Cow, collections::HashSet, fmt, ops::Range, string::FromUtf8Error, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// Shared JSON text. Clones and parts of it share the memory of the whole.
#[derive(Clone)]
pub struct Json {
    whole: Arc<String>,
    part: Range<usize>,
}

impl Json {
    /// Wraps text that is JSON, or that is about to be parsed as JSON.
    pub fn new(text: impl Into<String>) -> Self {
        let whole = Arc::new(text.into());
        Self {
            part: 0..whole.len(),
            whole,
        }
    }

    /// Wraps bytes that are JSON text.
    ///
    /// # Errors
    /// Returns an error if the bytes are not valid UTF-8. The error holds the bytes.
    pub fn from_utf8(bytes: Vec<u8>) -> Result<Self, FromUtf8Error> {
        String::from_utf8(bytes).map(Self::new)
    }

    pub fn get(&self) -> &str {
        &self.whole[self.part.clone()]
    }

    /// Returns a copy as serde's raw value. Panics if the text is not JSON.
    pub fn to_raw(&self) -> Box<RawValue> {
        raw(self.get().to_owned())
    }

    /// Returns `part` as JSON text. If `part` is a slice of this text, its bytes are not copied.
    #[must_use]
    pub fn slice_ref(&self, part: &str) -> Self {
        let begin = (part.as_ptr().addr()).wrapping_sub(self.whole.as_ptr().addr());
        let range = begin..begin.wrapping_add(part.len());
        match self.whole.get(range.clone()) {
            Some(_) => Self {
                whole: self.whole.clone(),
                part: range,
            },
            None => Self::new(part),
        }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self::new(Box::<str>::from(raw))
    }
}

/// A value that holds JSON text.
pub trait AsJson {
    fn text(&self) -> &str;
}

impl AsJson for RawValue {
    fn text(&self) -> &str {
        self.get()
    }
}

impl AsJson for Json {
    fn text(&self) -> &str {
        self.get()
    }
}

impl<T: AsJson + ?Sized> AsJson for Box<T> {
    fn text(&self) -> &str {
        (**self).text()
    }
}

/// The members of a JSON object in their order.
#[derive(Debug, Default)]
pub struct RawObject<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> RawObject<'a> {
    /// Parses an object.
    ///
    /// # Errors
    /// Returns an error if `json` is not an object, or if a key occurs twice or is malformed.
    pub fn parse(json: &'a (impl AsJson + ?Sized)) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json.text())
    }

    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_ref())
    }

    /// Returns the string at `key`, if the value is a string.
    pub fn get_string(&self, key: &str) -> Option<String> {
        self.get(key)
            .and_then(|value| serde_json::from_str(value.get()).ok())
    }

    /// Replaces the value at `key` in its place, or adds it at the end if there is none.
    pub fn set(&mut self, key: &'a str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = Cow::Owned(value),
            None => self.0.push((Cow::Borrowed(key), Cow::Owned(value))),
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_ref())
    }

    /// Returns the members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// Returns the object without these members, or `None` if no member is left.
    pub fn without(&self, keys: &[&str]) -> Option<Box<RawValue>> {
        let rest = self
            .0
            .iter()
            .filter(|(key, _)| !keys.contains(&key.as_ref()))
            .cloned()
            .collect::<Vec<_>>();
        (!rest.is_empty()).then(|| RawObject(rest).to_raw())
    }

    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    /// Returns the object as JSON text.
    pub fn to_raw(&self) -> Box<RawValue> {
        to_raw(self)
    }
}

/// Writes the values as they are, without parsing them again.
impl Serialize for RawObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Folds the case of a key. All keys that a reader might take for the same key have the same
/// result, even if they contain `ſ`, `ẞ` or the Kelvin sign.
pub fn fold_key(key: &str) -> String {
    let lower = key.chars().flat_map(char::to_lowercase);
    lower
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

/// The deepest nesting that Drawbridge accepts from clients and servers. The limit exists because
/// many parsers recurse.
pub const MAX_DEPTH: usize = 128;

/// Returns whether brackets are nested deeper than `limit`. Does not recurse.
pub fn depth_exceeds(text: &[u8], limit: usize) -> bool {
    // Most texts have no more than `limit` opening brackets at all.
    if memchr::memchr2_iter(b'{', b'[', text).nth(limit).is_none() {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The length in bytes below which a text is searched without preparation.
const SHORT_TEXT: usize = 4096;

/// Returns whether `text` may occur in the JSON text of the value, as a fast filter before parsing.
/// A match may be part of a string. A value with any escape such as `\u0073` counts as a match,
/// because its author may have escaped a letter of `text`. The escape `\/` counts if `text` contains
/// a slash.
pub fn mentions(value: &(impl AsJson + ?Sized), text: &str) -> bool {
    let json = value.text();
    let has_slash = text.contains('/');
    // `memmem` prepares each search, which is not worth it for a short text.
    let is_found = if json.len() < SHORT_TEXT {
        json.contains(text)
    } else {
        memchr::memmem::find(json.as_bytes(), text.as_bytes()).is_some()
    };
    is_found
        || memchr::memchr_iter(b'\\', json.as_bytes()).any(|at| match json.as_bytes().get(at + 1) {
            Some(b'u') => true,
            Some(b'/') => has_slash,
            _ => false,
        })
}

/// Returns a string as JSON text, with its quotes.
pub fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("any string can be written as JSON")
}

/// Converts text that is JSON by construction to a raw value. Panics if it is not JSON.
pub fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).expect("the text is JSON by construction")
}

/// Converts plain data to raw JSON. Panics if it has no JSON form, such as a map with keys that are
/// not strings.
pub fn to_raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("the value has a JSON form")
}

/// The number of members up to which keys are compared with each other instead of hashed.
const MAX_LINEAR_SEARCH: usize = 12;

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(Cow<'de, str>, Cow<'de, RawValue>)> = Vec::new();
                // Comparing is cheaper for a few keys, and a set for many.
                let mut names = HashSet::new();
                while let Some(key) = map.next_key::<Key<'de>>()? {
                    if members.len() == MAX_LINEAR_SEARCH {
                        names.extend(members.iter().map(|(name, _)| name.clone()));
                    }
                    let is_repeated = if members.len() < MAX_LINEAR_SEARCH {
                        members.iter().any(|(name, _)| *name == key.0)
                    } else {
                        !names.insert(key.0.clone())
                    };
                    if is_repeated {
                        return Err(serde::de::Error::custom(format_args!(
                            "key {:?} occurs twice",
                            key.0
                        )));
                    }
                    members.push((key.0, Cow::Borrowed(map.next_value::<&'de RawValue>()?)));
                }
                Ok(RawObject(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
