//! Writes values as YAML.

use serde_json::Value;

use crate::edit::Entry;

/// The words that some version or some parser of YAML does not read as a string.
const WORDS: [&str; 11] = [
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
];

/// Returns the lines of an entry's members, with their indentation.
pub(super) fn member_lines(entry: &Entry, indent: usize) -> Vec<String> {
    entry
        .0
        .iter()
        .flat_map(|(name, value)| lines(&scalar(name), value, indent))
        .collect()
}

fn lines(name: &str, value: &Value, indent: usize) -> Vec<String> {
    let margin = " ".repeat(indent);
    match value {
        Value::Array(values) if !values.is_empty() => {
            let items = values
                .iter()
                .map(|item| format!("{margin}  - {}", inline(item)));
            std::iter::once(format!("{margin}{name}:"))
                .chain(items)
                .collect()
        }
        Value::Object(members) if !members.is_empty() => {
            let members = members
                .iter()
                .flat_map(|(name, value)| lines(&scalar(name), value, indent + 2));
            std::iter::once(format!("{margin}{name}:"))
                .chain(members)
                .collect()
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => vec![format!("{margin}{name}: {}", inline(value))],
    }
}

/// Returns a value on one line, as JSON, which is valid YAML. Simple strings are written without
/// quotes, because they look better.
fn inline(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), scalar)
}

/// Returns a string as YAML, in quotes if it could be read as something else.
pub(super) fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        text.to_owned()
    } else {
        Value::String(text.to_owned()).to_string()
    }
}
