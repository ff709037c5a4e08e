//! Text for a terminal. Text from other programs is escaped, so that the terminal never interprets
//! it.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use drawbridge_model::content::ContentFlag;
pub(crate) use drawbridge_model::invisible_chars::{escape, escape_json, escape_lines};

/// Returns the flags of a text in one line, each with its kind, its place and an excerpt.
pub(crate) fn format_flags(flags: &[ContentFlag]) -> String {
    let flags: Vec<_> = flags
        .iter()
        .map(|flag| {
            format!(
                "{} at {}: \"{}\"",
                flag.kind.label(),
                escape(&flag.place),
                escape(&flag.excerpt)
            )
        })
        .collect();
    flags.join("; ")
}

/// Indents JSON. Only the whitespace between its tokens changes, so numbers and duplicate keys stay
/// as they are.
pub(crate) fn indent_json(json: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) =
        (String::with_capacity(json.len() * 2), 0_usize, false, false);
    let mut is_after_opening = false;
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            out.push(c);
            continue;
        }
        if matches!(c, ' ' | '\t' | '\r' | '\n') {
            continue;
        }
        if matches!(c, '}' | ']') {
            depth = depth.saturating_sub(1);
        }
        // Break the line after an opening bracket and before a closing one, but not inside an empty
        // pair.
        if is_after_opening != matches!(c, '}' | ']') {
            new_line(&mut out, depth);
        }
        is_after_opening = matches!(c, '{' | '[');
        in_string = c == '"';
        out.push(c);
        match c {
            '{' | '[' => depth += 1,
            ',' => new_line(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

/// Returns a number with its noun, such as `1 call` or `2 calls`.
pub(crate) fn format_count<N: Display + PartialEq + From<u8>>(
    number: N,
    singular: &str,
    plural: &str,
) -> String {
    let noun = if number == N::from(1) {
        singular
    } else {
        plural
    };
    format!("{number} {noun}")
}

/// Returns the name of an enum's variant as in the API. The variant must not have fields.
pub(crate) fn enum_text(variant: impl serde::Serialize) -> String {
    let value = serde_json::to_value(variant).expect("a variant without fields is a string");
    value
        .as_str()
        .expect("a variant without fields is a string")
        .to_owned()
}
