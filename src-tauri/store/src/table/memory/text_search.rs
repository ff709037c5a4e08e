//! The words of texts and queries, for SQLite's full-text search.
//!
//! The index splits texts at everything that is neither a letter nor a digit. Chinese and Japanese
//! have no spaces between words, so each of their characters becomes a word of its own, and a run
//! of these characters in a query becomes a phrase.

use std::collections::BTreeSet;

/// The maximum number of different words of a query that are searched for.
const MAX_WORDS: usize = 32;
/// A shorter word has to match as a whole, because too many words begin with it.
const MIN_PREFIX_CHARS: usize = 3;

/// A query in the syntax of the full-text index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery(String);

impl SearchQuery {
    /// Returns a query for the texts that contain any of the words. A text also matches if one of
    /// its words begins with a word of the query, unless the word of the query is short. Returns
    /// `None` if `text` has no letter and no digit. No part of `text` has a meaning in the syntax
    /// of queries: each word is quoted, and a word contains no quote.
    pub fn new(text: &str) -> Option<Self> {
        let separated = mark_words(text);
        let mut distinct = BTreeSet::new();
        let words: Vec<_> = separated
            .split_whitespace()
            .map(quote_word)
            // A repeated word would count more than the others.
            .filter(|word| distinct.insert(word.to_lowercase()))
            .take(MAX_WORDS)
            .collect();
        (!words.is_empty()).then(|| Self(words.join(" OR ")))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns a text for the index, with spaces around each character that is a word of its own.
pub(super) fn separate_words(text: &str) -> String {
    let mut separated = String::with_capacity(text.len() + text.len() / 4);
    for c in text.chars() {
        if is_own_word(c) {
            separated.extend([' ', c, ' ']);
        } else {
            separated.push(c);
        }
    }
    separated
}

/// Replaces everything that is neither a letter nor a digit with spaces, and puts spaces around
/// runs of characters that are words of their own.
fn mark_words(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut was_own_word = false;
    for c in text.chars() {
        let is_own_word = is_own_word(c);
        if is_own_word != was_own_word {
            marked.push(' ');
        }
        marked.push(if c.is_alphanumeric() { c } else { ' ' });
        was_own_word = is_own_word;
    }
    marked
}

/// Writes a word, or a run of characters that are words of their own, in the syntax of queries.
fn quote_word(word: &str) -> String {
    if word.starts_with(is_own_word) {
        return format!("\"{}\"", separate_words(word).trim());
    }
    let prefix = if word.chars().count() < MIN_PREFIX_CHARS {
        ""
    } else {
        "*"
    };
    format!("\"{word}\"{prefix}")
}

/// Returns whether a character is a word of its own, because it is Chinese or Japanese.
fn is_own_word(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' // Hiragana and Katakana
        | '\u{3400}'..='\u{4dbf}' // Han, extension A
        | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{f900}'..='\u{faff}' // Han, compatibility
        | '\u{20000}'..='\u{323af}' // Han, other extensions
    ) && c.is_alphanumeric()
}
