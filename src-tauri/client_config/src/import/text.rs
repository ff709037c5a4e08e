//! Finds the format of a text, and the entries in it.

use super::{Document, ImportError, command_line, containers};
use crate::format::{Format, SyntaxError};

/// Returns the entries of a pasted text.
pub(super) fn read(text: &str) -> Result<Document, ImportError> {
    let text = without_fence(text).trim_end();
    let start = text.trim_start();
    if start.is_empty() {
        return Err(ImportError::Empty);
    }
    let first = first_line(text);
    let document = if start.starts_with('"') {
        read_members(text)?
    } else if is_toml_header(first) {
        containers::read_as(Format::Toml, text)?
    } else if ["{", "[", "//", "/*"]
        .iter()
        .any(|token| start.starts_with(token))
    {
        containers::read_as(Format::Jsonc, text)?
    } else if is_yaml_member(first) {
        containers::read_as(Format::Yaml, text)?
    } else if let Some(document) = read_toml_members(first, text) {
        document
    } else {
        return command_line::read(text);
    };
    if document.entries.is_empty() {
        let format = if is_toml_header(first) {
            Format::Toml
        } else if is_yaml_member(first) {
            Format::Yaml
        } else {
            Format::Jsonc
        };
        return Err(ImportError::NoServer(format));
    }
    Ok(document)
}

/// Reads a part that was cut out of a JSON file: `"name": { … },`.
fn read_members(text: &str) -> Result<Document, ImportError> {
    let text = text.trim_end_matches(',');
    let parsed = Format::Jsonc.parse(&format!("{{{text}\n}}"));
    let root = parsed.map_err(|error| ImportError::Syntax {
        format: Format::Jsonc,
        source: without_added_braces(error, text),
    })?;
    Ok(containers::read(root))
}

/// Returns the error with its position in `text`. [`read_members`] added braces around the text:
/// one in front of the first line, and one on a line after the last line.
fn without_added_braces(error: SyntaxError, text: &str) -> SyntaxError {
    let lines = text.split('\n').count();
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let (line, column) = if error.line > lines {
        (lines, last_line.chars().count() + 1)
    } else {
        let is_after_brace = error.line == 1 && error.column > 1;
        (error.line, error.column - usize::from(is_after_brace))
    };
    SyntaxError {
        line,
        column,
        ..error
    }
}

/// Reads a part that was cut out of a TOML file: `command = "npx"` and further members.
fn read_toml_members(first: &str, text: &str) -> Option<Document> {
    let (key, _) = first.split_once('=')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_-. \"".contains(c);
    if !key.chars().all(is_key) {
        return None;
    }
    containers::read_as(Format::Toml, text)
        .ok()
        .filter(|document| !document.entries.is_empty())
}

/// Returns the text between the fences of a Markdown code block. The first line becomes empty, so
/// that the positions of syntax errors are right. Returns any other text unchanged.
fn without_fence(text: &str) -> &str {
    let Some(rest) = text.trim_start().strip_prefix("```") else {
        return text;
    };
    let inner = rest
        .find('\n')
        .map_or("", |newline| &rest[newline..])
        .trim_end();
    inner.strip_suffix("```").unwrap_or(inner)
}

/// Returns the first line that is not empty, not `---`, and not a comment of TOML, YAML or a shell.
fn first_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---")
        .unwrap_or_default()
}

/// Returns whether a line is `[section]` or `[[section]]`, and not the beginning of a JSON list.
fn is_toml_header(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default().trim_end();
    let Some(inner) = line
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    else {
        return false;
    };
    let key = inner
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(inner)
        .trim();
    let begins_as_key = |c: char| c.is_ascii_alphabetic() || c == '_';
    key.starts_with(begins_as_key) && !key.contains(',')
}

/// Returns whether a line is `key:` or `key: value`, which may be in a list.
fn is_yaml_member(line: &str) -> bool {
    let line = line.trim_start_matches("- ").trim_start();
    let Some((key, rest)) = line.split_once(':') else {
        return false;
    };
    let is_key = |c: char| c.is_alphanumeric() || "_-.\"'".contains(c);
    !key.is_empty() && key.chars().all(is_key) && (rest.is_empty() || rest.starts_with(' '))
}
