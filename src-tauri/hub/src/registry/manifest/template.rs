//! Texts with placeholders for a person's values.

/// A text with placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// A placeholder for the value of the input with this name.
    Input(String),
}

impl Template {
    pub(super) fn new(pieces: Vec<Piece>) -> Self {
        Self(pieces)
    }

    pub(super) fn from_text(text: impl Into<String>) -> Self {
        Self(vec![Piece::Text(text.into())])
    }

    /// Returns the template with `text` in front.
    pub(super) fn prefixed_with(mut self, text: impl Into<String>) -> Self {
        self.0.insert(0, Piece::Text(text.into()));
        self
    }

    pub(super) fn inputs(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Input(name) => Some(name.as_str()),
        })
    }

    /// Returns the text with the values of its inputs, or `None` if a value is missing.
    pub(super) fn fill<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Input(name) => value(name).map(str::to_owned),
        };
        self.0.iter().map(text).collect()
    }

    /// Returns a text for people, with `<name>` in place of each value.
    pub(super) fn preview(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Input(name) => format!("<{name}>"),
        };
        self.0.iter().map(text).collect()
    }
}

/// A part of a text in which `{name}` is a placeholder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    /// The name between the braces.
    Placeholder(&'a str),
}

/// Splits a text at each `{name}`. Braces around anything else are text.
pub(super) fn split_placeholders(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest, mut from) = (Vec::new(), text, 0);
    while let Some(open) = rest[from..].find('{').map(|offset| from + offset) {
        let name = rest[open + 1..].split('}').next().unwrap_or_default();
        let closed = rest[open + 1..].len() > name.len();
        // `${name}` is the notation of another program, so it remains text.
        if !closed || !is_name(name) || rest[..open].ends_with('$') {
            from = open + 1;
            continue;
        }
        parts.extend((open > 0).then(|| Part::Text(&rest[..open])));
        parts.push(Part::Placeholder(name));
        (rest, from) = (&rest[open + name.len() + 2..], 0);
    }
    parts.extend((!rest.is_empty()).then_some(Part::Text(rest)));
    parts
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_its_placeholders() {
        use Part::{Placeholder, Text};
        assert_eq!(
            split_placeholders("Bearer {api_key}"),
            [Text("Bearer "), Placeholder("api_key")]
        );
        assert_eq!(
            split_placeholders("{a}{b}/x"),
            [Placeholder("a"), Placeholder("b"), Text("/x")]
        );
        assert_eq!(split_placeholders("plain"), [Text("plain")]);
        assert_eq!(split_placeholders(""), []);
    }

    #[test]
    fn other_braces_are_text() {
        for text in [
            "{",
            "{}",
            "{not a name}",
            r#"{"a":1}"#,
            "${keyring:x}",
            "${HOME}",
            "a}b{c",
        ] {
            assert_eq!(split_placeholders(text), [Part::Text(text)], "{text}");
        }
    }
}
