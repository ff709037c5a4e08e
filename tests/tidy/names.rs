//! Rules for names: a public type name occurs once in a crate, and the name of a file is not a word
//! that the glossary replaced.

use std::{collections::BTreeMap, fs};

use drawbridge_tests::{
    paths,
    source::{list_repository_paths, list_sources, without_comments, without_tests},
};

use crate::{PRODUCT, assert_none};

/// The tools, which are not part of the product.
const TOOLS: &[&str] = &["src-tauri/xtask/src", "tests/rig"];

/// Files and folders whose name is a replaced word in its ordinary meaning, with that meaning.
const ORDINARY: &[(&str, &str)] = &[
    ("src-tauri/cli/src/time", "the time of day"),
    ("ui/src/lib/time", "the time of day"),
    (
        "src-tauri/endpoint/src/activity",
        "the activity of connections",
    ),
    ("src-tauri/hub/benches/catalog/lists", "lists of tools"),
    (
        "src-tauri/hub/benches/catalog/measure",
        "to measure durations",
    ),
    ("src-tauri/xtask/src/test", "the command `cargo xtask test`"),
    ("tests/integration/lists", "the lists of the protocol"),
    ("ui/src/test", "tests"),
];

/// Returns the name of the public type that an unindented line declares.
fn parse_public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(") ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let (kind, rest) = rest
        .strip_prefix("unsafe ")
        .unwrap_or(rest)
        .split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
    rest.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .filter(|_| is_type)
}

#[test]
fn a_public_type_name_occurs_once_in_a_crate() {
    assert_eq!(parse_public_type("pub struct A<T>(T);"), Some("A"));
    assert_eq!(parse_public_type("pub(in crate::b) enum B {"), Some("B"));
    assert_eq!(parse_public_type("pub fn c() {"), None);
    let mut violations = Vec::new();
    for folder in PRODUCT.iter().chain(TOOLS) {
        let mut places = BTreeMap::<String, Vec<String>>::new();
        for source in list_sources(folder, &["rs"])
            .into_iter()
            .filter(|source| !source.is_test())
        {
            let code = without_comments(&source.text);
            for name in without_tests(&code).lines().filter_map(parse_public_type) {
                places
                    .entry(name.to_owned())
                    .or_default()
                    .push(source.path.clone());
            }
        }
        assert!(!places.is_empty(), "no type was found in {folder}");
        violations.extend(
            places
                .into_iter()
                .filter(|(_, files)| files.len() > 1)
                .map(|(name, files)| format!("{name} is in {}", files.join(" and "))),
        );
    }
    assert_none("a public type name occurs once in a crate", &violations);
}

/// Returns the single words in the last column of the glossary.
fn read_replaced_words() -> Vec<String> {
    let text = fs::read_to_string(paths::repository_root().join("CONTRIBUTING.md"))
        .expect("CONTRIBUTING.md");
    let (_, glossary) = text.split_once("\n## Glossary\n").expect("a glossary");
    let glossary = glossary.split("\n## ").next().unwrap_or_default();
    glossary
        .lines()
        .filter_map(|row| row.trim_end().strip_suffix('|')?.rsplit('|').next())
        .flat_map(|cell| cell.split(','))
        .map(str::trim)
        .filter(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase()))
        .map(str::to_owned)
        .collect()
}

#[test]
fn no_file_is_named_with_a_replaced_word() {
    let words = read_replaced_words();
    for known in ["back", "hearing", "rounds", "life", "figures", "standing"] {
        assert!(
            words.iter().any(|word| word == known),
            "{known} is not among {words:?}"
        );
    }
    let uses_word = |path: &str| {
        path.split('/')
            .filter_map(|part| part.split('.').next())
            .any(|stem| words.iter().any(|word| word == stem))
    };
    let (exceptions, violations): (Vec<String>, Vec<String>) = list_repository_paths()
        .into_iter()
        .filter(|path| uses_word(path))
        .partition(|path| ORDINARY.iter().any(|(place, _)| path.starts_with(place)));
    assert_none(
        "a file is named with the term of the glossary in CONTRIBUTING.md",
        &violations,
    );
    let unused = ORDINARY
        .iter()
        .filter(|(place, _)| !exceptions.iter().any(|path| path.starts_with(place)))
        .map(|(place, _)| (*place).to_owned());
    assert_none(
        "each exception is still needed",
        &unused.collect::<Vec<_>>(),
    );
}
