//! Unified diffs, and members of entries for a screen, in which no value of a secret can be read.

use std::{fmt::Write as _, ops::Range};

use similar::{ChangeTag, TextDiff};

use crate::{
    format::{Format, Scalar},
    secrets::{is_secret_argument, is_secret_name, looks_like_secret},
};

/// The text in place of a hidden value.
pub(crate) const HIDDEN: &str = "•••";

/// The maps whose values are hidden.
const SECRET_MAPS: [&str; 8] = [
    "env",
    "environment",
    "envs",
    "headers",
    "http_headers",
    "env_http_headers",
    "requestOptions",
    "oauth",
];

/// Returns the differences between two texts as a unified diff, or an empty text if they are equal.
/// Secrets are hidden after the lines are compared, so that a changed secret is a difference.
pub(crate) fn unified_diff(format: Format, before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let shown_before = hide_secrets(format, before);
    let shown_after = hide_secrets(format, after);
    let old_lines: Vec<&str> = shown_before.split('\n').collect();
    let new_lines: Vec<&str> = shown_after.split('\n').collect();
    let mut text = String::new();
    for group in diff.grouped_ops(3) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        let _ = writeln!(text, "@@ -{} +{} @@", hunk_range(&old), hunk_range(&new));
        for change in group
            .iter()
            .flat_map(|operation| diff.iter_changes(operation))
        {
            let (sign, lines, number) = match change.tag() {
                ChangeTag::Equal => (' ', &new_lines, change.new_index()),
                ChangeTag::Delete => ('-', &old_lines, change.old_index()),
                ChangeTag::Insert => ('+', &new_lines, change.new_index()),
            };
            let line = number.and_then(|number| lines.get(number));
            let _ = writeln!(text, "{sign}{}", line.unwrap_or(&""));
        }
    }
    text
}

/// Returns the first line, counted from 1, and the number of lines.
fn hunk_range(lines: &Range<usize>) -> String {
    let first = lines.start + usize::from(!lines.is_empty());
    format!("{first},{}", lines.len())
}

/// Returns a text with the same lines, in which secrets are hidden, or only [`HIDDEN`] if the text
/// cannot be parsed.
pub(crate) fn hide_secrets(format: Format, text: &str) -> String {
    // A text that cannot be parsed is never shown, because there is no plan for its file.
    let Ok(scalars) = format.scalars(text) else {
        return HIDDEN.to_owned();
    };
    let mut hidden: Vec<Range<usize>> = Vec::new();
    let mut previous: Option<&Scalar> = None;
    for scalar in &scalars {
        let before = previous
            .filter(|previous| previous.path == scalar.path)
            .map(|previous| previous.value.as_str());
        if is_hidden(scalar, before)
            && hidden
                .last()
                .is_none_or(|last| last.end <= scalar.range.start)
        {
            hidden.push(scalar.range.clone());
        }
        previous = Some(scalar);
    }
    let mut shown = String::with_capacity(text.len());
    let mut end = 0;
    for range in hidden {
        shown.push_str(&text[end..range.start]);
        push_hidden(&mut shown, &text[range.clone()]);
        end = range.end;
    }
    shown.push_str(&text[end..]);
    let lines: Vec<String> = shown.split('\n').map(hide_in_line).collect();
    lines.join("\n")
}

/// Returns whether the value of a scalar has to be hidden. `previous` is the preceding element, if
/// the scalar is in a list.
fn is_hidden(scalar: &Scalar, previous: Option<&str>) -> bool {
    let Some((name, parents)) = scalar.path.split_last() else {
        return true;
    };
    let is_element = name.is_empty();
    parents
        .iter()
        .any(|parent| SECRET_MAPS.contains(&parent.as_str()))
        || (!is_element && is_secret_name(name))
        || (is_element && is_secret_argument(&scalar.value, previous))
        || looks_like_secret(&scalar.value)
}

/// Returns the value of a member of an entry for a screen, with secrets hidden.
pub(crate) fn show_member(name: &str, value: &serde_json::Value) -> String {
    let is_secret = SECRET_MAPS.contains(&name) || is_secret_name(name);
    match value {
        _ if is_secret => HIDDEN.to_owned(),
        serde_json::Value::String(text) if looks_like_secret(text) => HIDDEN.to_owned(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Object(members) => {
            let shown = members
                .iter()
                .map(|(name, value)| format!("{name}: {}", show_member(name, value)));
            format!("{{{}}}", shown.collect::<Vec<_>>().join(", "))
        }
        serde_json::Value::Array(items) => {
            let mut previous = None;
            let shown = items.iter().map(|item| {
                let text = item
                    .as_str()
                    .map_or_else(|| show_member("", item), str::to_owned);
                let hidden = is_secret_argument(&text, previous.as_deref());
                previous = Some(text.clone());
                if hidden { HIDDEN.to_owned() } else { text }
            });
            shown.collect::<Vec<_>>().join(" ")
        }
        other @ (serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)) => other.to_string(),
    }
}

/// Appends a hidden value that has as many lines as the value itself.
fn push_hidden(shown: &mut String, value: &str) {
    for (index, line) in value.split('\n').enumerate() {
        if index > 0 {
            shown.push('\n');
        }
        if !line.trim().is_empty() {
            shown.push_str(HIDDEN);
        }
    }
}

/// Hides those secrets in a line that are no scalars of the file: the text after a name that
/// suggests a secret, if the name is in a comment, and all words that look like a secret.
fn hide_in_line(line: &str) -> String {
    let trimmed = line.trim_start();
    let continues_comment = trimmed.starts_with('*');
    let comment = if continues_comment {
        Some(0)
    } else {
        // A comment sign within a value only hides more text.
        ["//", "#", "/*"]
            .iter()
            .filter_map(|sign| line.find(sign))
            .min()
    };
    if let Some(start) = comment
        && let Some(end) = find_secret_value(&line[start..])
    {
        return format!("{}{HIDDEN}", &line[..start + end]);
    }
    let mut shown = line.to_owned();
    let is_separator = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>".contains(c);
    for word in line.split(is_separator).filter(|word| word.len() >= 12) {
        if looks_like_secret(word) {
            shown = shown.replace(word, HIDDEN);
        }
    }
    shown
}

/// Returns the position after `NAME:` or `NAME=` if the name suggests a secret.
fn find_secret_value(line: &str) -> Option<usize> {
    line.match_indices([':', '='])
        .map(|(offset, _)| offset)
        .find(|offset| {
            let name = line[..*offset].trim_end_matches(['"', '\'', ' ']);
            let start = name
                .rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
                .map_or(0, |separator| {
                    separator + name[separator..].chars().next().map_or(0, char::len_utf8)
                });
            is_secret_name(&name[start..])
        })
        .map(|offset| offset + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_within_a_member_are_hidden() {
        let command = json!({
            "path": "npx", "env": { "A": "hunter2" }, "api_key": "hunter3",
            "list": [{ "name": "b", "token": "hunter4" }],
        });
        let shown = show_member("command", &command);
        assert!(shown.contains("npx"), "{shown}");
        assert!(!shown.contains("hunter"), "{shown}");
    }

    #[test]
    fn secrets_in_comments_are_hidden() {
        for line in [
            "# API_KEY=hunter2",
            "x: 1 # API_KEY=hunter2",
            "x: 1 # für°API_KEY=hunter2",
            "\"x\": 1, // token: hunter2",
        ] {
            let shown = hide_in_line(line);
            assert!(!shown.contains("hunter"), "{shown}");
        }
        assert_eq!(hide_in_line("x: 1 # one"), "x: 1 # one");
    }
}
