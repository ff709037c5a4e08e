//! The inputs that a manifest asks for when its server is added.

use serde::{Deserialize, Serialize};
use serde_json::Number;

/// An input, whose value a person enters or leaves empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ManifestInput {
    /// The name, unique among the inputs of the same package or remote of the manifest.
    pub name: String,
    pub kind: InputKind,
    /// The purpose, in the words of the manifest; may be empty.
    pub description: String,
    /// Whether the server cannot be added without a value. A `default` counts as a value.
    pub required: bool,
    /// Whether the value is stored in the secret store and nowhere else.
    pub secret: bool,
    /// Whether several values may be entered, one per line.
    pub repeated: bool,
    /// The value that is used if none is entered.
    pub default: Option<String>,
    /// The possible values; empty if any value is possible.
    pub choices: Vec<String>,
    /// An example to show in an empty field; may be empty.
    pub placeholder: String,
    pub format: InputFormat,
    /// The smallest number that is allowed.
    #[serde(default)]
    pub min: Option<Number>,
    /// The largest number that is allowed.
    #[serde(default)]
    pub max: Option<Number>,
}

impl ManifestInput {
    /// Returns the allowed numbers in words, such as `from 1 to 10`; `None` if there is no limit.
    pub fn range(&self) -> Option<String> {
        match (&self.min, &self.max) {
            (Some(min), Some(max)) => Some(format!("from {min} to {max}")),
            (Some(min), None) => Some(format!("at least {min}")),
            (None, Some(max)) => Some(format!("at most {max}")),
            (None, None) => None,
        }
    }
}

/// The place to which an input's value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// An environment variable.
    Env,
    /// A header of each request.
    Header,
    /// The command line.
    Argument,
    /// The URL.
    Url,
}

/// The format of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum InputFormat {
    #[default]
    Text,
    Number,
    /// `true` or `false`.
    Boolean,
    /// The path of a file or a folder.
    Path,
}
