//! What a manifest asks of the person who adds its server.

use serde::{Deserialize, Serialize};

/// A value that a person gives, or leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ManifestInput {
    /// Of no other input of the same choice.
    pub name: String,
    pub kind: InputKind,
    /// What it is for, in the words of the manifest; may be empty.
    pub description: String,
    /// Without it the server is not added. One with a `default` need not be given all the same.
    pub required: bool,
    /// Its value goes to the keyring, and nowhere else.
    pub secret: bool,
    /// Several values may be given, one a line.
    pub repeated: bool,
    /// Used where nothing is given.
    pub default: Option<String>,
    /// Where there are some, the value is one of them.
    pub choices: Vec<String>,
    /// An example, to be shown in an empty field; may be empty.
    pub placeholder: String,
    pub format: InputFormat,
}

/// Where the value of an input goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// Into an environment variable.
    Env,
    /// Into a header of each request.
    Header,
    /// Onto the command line.
    Argument,
    /// Into the URL.
    Url,
}

/// What the text of a value is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
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
