//! The formats of configuration files. Each format can change single entries of a text, and
//! preserves the rest of the text byte for byte.

mod jsonc;
mod line_ends;
mod toml;
mod yaml;
mod yaml_text;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use line_ends::Source;

use crate::edit::{self, Edit};

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON that may have comments and trailing commas.
    Jsonc,
    Toml,
    Yaml,
}

/// The reason why a text cannot be read, with the position of the fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    pub message: String,
}

/// The reason why a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("'{0}' occurs twice; remove one of them")]
    Duplicate(String),
    #[error("'{0}' has an unexpected type")]
    WrongType(String),
    #[error("'{0}' is written in a way that cannot be changed safely; edit it by hand")]
    UnsafeLayout(String),
}

/// A string, number or date in a file: its keys from the root, its value, and the range of its
/// bytes including quotes. The key of an element of a list is empty.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) path: Vec<String>,
    pub(crate) value: String,
    pub(crate) range: Range<usize>,
}

impl Format {
    /// Returns the contents of a text. An empty text has no members.
    pub(crate) fn parse(self, text: &str) -> Result<Value, SyntaxError> {
        let value = match self {
            Self::Jsonc => jsonc::parse(text),
            Self::Toml => toml::parse(text),
            Self::Yaml => yaml::parse(text),
        }?;
        Ok(if value.is_null() {
            Value::Object(Map::new())
        } else {
            value
        })
    }

    /// Returns the strings, numbers and dates of a file, in order.
    pub(crate) fn scalars(self, text: &str) -> Result<Vec<Scalar>, SyntaxError> {
        match self {
            Self::Jsonc => jsonc::scalars(text),
            Self::Toml => toml::scalars(text),
            Self::Yaml => yaml::scalars(text),
        }
    }

    /// Returns the text with the changes. Parses the result again, and returns an error if it
    /// differs from the parsed file in anything but these changes.
    pub(crate) fn edit(self, text: &str, edits: &[Edit]) -> Result<String, EditError> {
        let mut expected = self.parse(text)?;
        let mut edited = text.to_owned();
        for edit in edits {
            let path = || edit.path().join(".");
            if !edit.apply(&mut expected) {
                return Err(EditError::WrongType(path()));
            }
            edited = match self {
                Self::Jsonc => jsonc::edit(&edited, edit),
                Self::Toml => toml::edit(&edited, edit),
                Self::Yaml => yaml::edit(&edited, edit),
            }?;
            let mut found = self
                .parse(&edited)
                .map_err(|_| EditError::UnsafeLayout(path()))?;
            edit::prune(&mut found, edit.path());
            let mut intended = expected.clone();
            edit::prune(&mut intended, edit.path());
            if found != intended {
                return Err(EditError::UnsafeLayout(path()));
            }
        }
        Ok(edited)
    }
}

/// Returns a string without quotes, and any other value as JSON.
fn plain_text(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

/// Returns the line and the column of a byte in a text, both counted from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
