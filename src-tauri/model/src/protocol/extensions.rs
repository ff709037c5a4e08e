//! Extensions of the protocol that clients and servers declare in their capabilities, such as
//! `io.modelcontextprotocol/ui`. Drawbridge passes the extensions on between clients and servers of
//! either era, and acts only on the extension for tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The name of the extension for tasks. Drawbridge itself declares this extension, and translates
/// tasks between the eras.
pub(super) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The most extensions that are read from one peer, or merged.
const MAX_EXTENSIONS: usize = 32;
/// The longest name of an extension, in bytes.
const MAX_NAME: usize = 128;
/// The longest settings of an extension, in bytes of JSON.
const MAX_SETTINGS: usize = 4 * 1024;

/// The settings of each extension, by its name, without the extension for tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extensions(BTreeMap<String, Value>);

impl Extensions {
    /// Reads extensions that [`Extensions::to_json`] wrote. Returns no extensions if the text
    /// cannot be read.
    pub fn from_json(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Returns the extensions as a JSON object.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    pub(super) fn to_value(&self) -> Value {
        Value::Object(self.0.clone().into_iter().collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the extensions of another peer, up to 32 in all. If both peers have an extension, its
    /// settings are merged: members are added, lists are joined, and any other value stays as it
    /// is.
    pub fn merge(&mut self, other: &Self) {
        for (name, settings) in &other.0 {
            if let Some(merged) = self.0.get_mut(name) {
                merge_settings(merged, settings);
            } else if self.0.len() < MAX_EXTENSIONS {
                self.0.insert(name.clone(), settings.clone());
            }
        }
    }

    /// Returns whether merging `other` into these extensions would change nothing.
    pub fn include(&self, other: &Self) -> bool {
        let mut merged = self.clone();
        merged.merge(other);
        merged == *self
    }
}

/// Reads the member `extensions` of capabilities. A peer whose extensions cannot be read has none.
impl<'de> Deserialize<'de> for Extensions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Object(members) = Value::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let is_kept = |(name, settings): &(String, Value)| {
            name != TASKS_EXTENSION
                && name.len() <= MAX_NAME
                && settings.is_object()
                && settings.to_string().len() <= MAX_SETTINGS
        };
        Ok(Self(
            members
                .into_iter()
                .filter(is_kept)
                .take(MAX_EXTENSIONS)
                .collect(),
        ))
    }
}

fn merge_settings(merged: &mut Value, other: &Value) {
    match (merged, other) {
        (Value::Object(merged), Value::Object(other)) => {
            for (name, value) in other {
                match merged.get_mut(name) {
                    Some(merged) => merge_settings(merged, value),
                    None => {
                        merged.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(merged), Value::Array(other)) => {
            for value in other {
                if !merged.contains(value) {
                    merged.push(value.clone());
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Extensions {
        Extensions::from_json(&value.to_string())
    }

    #[test]
    fn the_settings_of_several_peers_are_merged() {
        let html = json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"], "v": 1}});
        let pdf = json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["application/pdf"], "v": 2, "dark": true}, "com.example/x": {}});
        let mut merged = read(&html);
        assert!(!merged.include(&read(&pdf)));
        merged.merge(&read(&pdf));
        assert!(merged.include(&read(&html)) && merged.include(&read(&pdf)));
        assert_eq!(
            merged,
            read(&json!({
                "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app", "application/pdf"], "v": 1, "dark": true},
                "com.example/x": {},
            }))
        );
    }

    #[test]
    fn extensions_that_are_malformed_too_long_too_many_or_translated_are_dropped() {
        let long = "x".repeat(MAX_SETTINGS);
        let extensions = read(&json!({
            TASKS_EXTENSION: {}, "com.example/list": [], "com.example/long": {"text": long}, "com.example/kept": {},
        }));
        assert_eq!(extensions.to_json(), r#"{"com.example/kept":{}}"#);
        for unreadable in [json!([]), json!(null), json!("x"), json!({})] {
            assert!(read(&unreadable).is_empty(), "{unreadable}");
        }
        let many: serde_json::Map<_, _> = (0..100).map(|n| (format!("x/{n}"), json!({}))).collect();
        assert_eq!(read(&Value::Object(many)).0.len(), MAX_EXTENSIONS);
    }
}
