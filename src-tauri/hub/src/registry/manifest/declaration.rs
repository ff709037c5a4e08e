//! An input as manifests declare it: an environment variable, a header, an argument, or a variable
//! inside any of these.

use std::collections::BTreeMap;

use drawbridge_model::manifest::InputFormat;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// The declaration of an input. Accepts the member names of the current `server.json`, of
/// `server.json` before September 2025 (`is_required`), and of `plugin.json` (`required`).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct InputDeclaration {
    /// For an argument: `named` or `positional`.
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) name: String,
    /// The label of a positional argument, which is not a part of the command line.
    #[serde(alias = "value_hint")]
    pub(super) value_hint: String,
    pub(super) description: String,
    #[serde(alias = "is_required", alias = "required")]
    pub(super) is_required: bool,
    #[serde(alias = "is_secret", alias = "secret")]
    pub(super) is_secret: bool,
    #[serde(alias = "is_repeated")]
    pub(super) is_repeated: bool,
    /// If a value is set, a person enters only the `{variables}` in it.
    #[serde(deserialize_with = "deserialize_text")]
    pub(super) value: Option<String>,
    #[serde(deserialize_with = "deserialize_text")]
    pub(super) default: Option<String>,
    #[serde(deserialize_with = "deserialize_texts")]
    pub(super) choices: Vec<String>,
    pub(super) placeholder: String,
    pub(super) format: String,
    pub(super) variables: BTreeMap<String, Self>,
}

impl InputDeclaration {
    pub(super) fn is_named(&self) -> bool {
        self.kind == "named" || (self.kind.is_empty() && !self.name.is_empty())
    }

    pub(super) fn format(&self) -> InputFormat {
        match self.format.as_str() {
            "number" => InputFormat::Number,
            "boolean" => InputFormat::Boolean,
            "filepath" => InputFormat::Path,
            _ => InputFormat::Text,
        }
    }

    /// Returns whether this is a positional argument with the value `word`, or a named argument
    /// with the flag `word`.
    pub(super) fn matches(&self, word: &str) -> bool {
        if self.is_named() {
            self.name == word
        } else {
            self.value.as_deref() == Some(word)
        }
    }
}

/// Reads a text, even if its author omitted the quotes: `8080`, `true`.
fn deserialize_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    scalar_to_string(Value::deserialize(deserializer)?)
}

fn deserialize_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let values: Vec<Value> = Vec::deserialize(deserializer)?;
    values
        .into_iter()
        .filter_map(|value| scalar_to_string(value).transpose())
        .collect()
}

fn scalar_to_string<E: Error>(value: Value) -> Result<Option<String>, E> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Bool(_) | Value::Number(_) => Ok(Some(value.to_string())),
        Value::Array(_) => Err(E::custom("expected a text, found a list")),
        Value::Object(_) => Err(E::custom("expected a text, found an object")),
    }
}
