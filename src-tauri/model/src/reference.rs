//! References in the values of a spec: `${keyring:NAME}`, `${env:NAME}` and
//! `${command:PROGRAM ARGS…}`. A secret replaces each reference when Drawbridge starts the server
//! or connects to it. The values of hooks may contain references to stored secrets too.

/// The text that begins a reference, and the function that makes the reference from the text up to
/// the closing brace.
type Kind = (&'static str, fn(&str) -> Reference<'_>);

const KINDS: [Kind; 3] = [
    ("${keyring:", |text| Reference::Keyring(text)),
    ("${env:", |text| Reference::Env(text)),
    ("${command:", |text| Reference::Command(text)),
];

/// A reference to a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'a> {
    /// The secret that Drawbridge stores under this name.
    Keyring(&'a str),
    /// A variable of the hub's environment.
    Env(&'a str),
    /// The output of this command. The command is split into words as in a shell, but no shell runs
    /// it.
    Command(&'a str),
}

impl Reference<'_> {
    /// Returns whether Drawbridge does not store the secret.
    pub fn is_external(self) -> bool {
        match self {
            Self::Keyring(_) => false,
            Self::Env(_) | Self::Command(_) => true,
        }
    }
}

/// A part of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Text(&'a str),
    /// A reference, and its whole text, such as `${env:NAME}`.
    Reference(Reference<'a>, &'a str),
}

/// Splits a value at its references. A reference that is not closed is text.
pub fn split_references(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut rest, mut searched) = (text, 0);
    while let Some(dollar) = rest[searched..].find("${") {
        let start = searched + dollar;
        let found = KINDS.iter().find_map(|(open, make)| {
            let inner = rest[start..].strip_prefix(open)?;
            let (inner, _) = inner.split_once('}')?;
            Some((make(inner), start + open.len() + inner.len() + 1))
        });
        let Some((reference, end)) = found else {
            searched = start + 2;
            continue;
        };
        if start > 0 {
            parts.push(Part::Text(&rest[..start]));
        }
        parts.push(Part::Reference(reference, &rest[start..end]));
        (rest, searched) = (&rest[end..], 0);
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// Returns the references in a value, each with its whole text.
pub fn list_references(text: &str) -> impl Iterator<Item = (Reference<'_>, &str)> {
    split_references(text)
        .into_iter()
        .filter_map(|part| match part {
            Part::Reference(reference, whole) => Some((reference, whole)),
            Part::Text(_) => None,
        })
}

/// Returns whether a value contains a reference.
pub fn has_reference(text: &str) -> bool {
    list_references(text).next().is_some()
}

/// Returns whether a value contains the beginning of a reference, which may not be closed.
pub fn begins_reference(text: &str) -> bool {
    KINDS.iter().any(|(open, _)| text.contains(open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_split_at_its_references() {
        let text = "Bearer ${keyring:a.b}:${env:X}${command:op read 'op://v/i'}!";
        assert_eq!(
            split_references(text),
            [
                Part::Text("Bearer "),
                Part::Reference(Reference::Keyring("a.b"), "${keyring:a.b}"),
                Part::Text(":"),
                Part::Reference(Reference::Env("X"), "${env:X}"),
                Part::Reference(
                    Reference::Command("op read 'op://v/i'"),
                    "${command:op read 'op://v/i'}"
                ),
                Part::Text("!"),
            ]
        );
    }

    #[test]
    fn everything_but_complete_references_is_text() {
        for text in [
            "",
            "${HOME}",
            "${env:never closed",
            "$${",
            "${Env:X}",
            "{env:X}",
        ] {
            let expected: Vec<Part> = [text]
                .into_iter()
                .filter(|text| !text.is_empty())
                .map(Part::Text)
                .collect();
            assert_eq!(split_references(text), expected, "{text}");
        }
        assert_eq!(
            split_references("${HOME}${env:X}"),
            [
                Part::Text("${HOME}"),
                Part::Reference(Reference::Env("X"), "${env:X}")
            ]
        );
    }

    #[test]
    fn a_reference_ends_at_the_first_brace_even_if_it_contains_another_reference() {
        let found: Vec<_> = list_references("${command:echo ${keyring:a}}").collect();
        assert_eq!(
            found,
            [(
                Reference::Command("echo ${keyring:a"),
                "${command:echo ${keyring:a}"
            )]
        );
    }
}
