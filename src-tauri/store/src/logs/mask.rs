//! Masks secrets, and makes invisible characters visible.

use std::fmt::Write;

use base64::{
    Engine,
    prelude::{BASE64_STANDARD as BASE64, BASE64_URL_SAFE_NO_PAD as BASE64_URL},
};
use drawbridge_jsonrpc::json;
use drawbridge_model::invisible_chars::is_hidden;

use crate::redact::MASK;

/// A shorter value is not masked: it is hardly a secret, and masking it would make the log
/// unreadable.
const MIN_SECRET_LEN: usize = 6;
/// The minimum length of a line that is masked by itself if the value has several lines, as a
/// private key has.
const MIN_LINE_LEN: usize = 16;

/// The values to mask.
#[derive(Clone, Default)]
pub(super) struct Masks(Vec<String>);

impl Masks {
    /// Adds the value, each long line of it, and the encodings in which they are likely to appear.
    pub(super) fn add(&mut self, value: &str) {
        let lines = value.lines().filter(|line| line.len() >= MIN_LINE_LEN);
        for text in std::iter::once(value).chain(lines) {
            self.add_form(text.to_owned());
            self.add_form(json::quote(text).trim_matches('"').to_owned());
            self.add_form(hex::encode(text));
            self.add_form(BASE64.encode(text).trim_end_matches('=').to_owned());
            self.add_form(BASE64_URL.encode(text));
            self.add_form(url::form_urlencoded::byte_serialize(text.as_bytes()).collect());
        }
        // Longer values come first: if a secret contains another one, both are masked completely.
        self.0.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    fn add_form(&mut self, form: String) {
        if form.len() >= MIN_SECRET_LEN && !self.0.contains(&form) {
            self.0.push(form);
        }
    }

    /// Returns the text with secrets masked, or `None` if it contains none.
    pub(super) fn apply_if_found(&self, text: &str) -> Option<String> {
        self.0
            .iter()
            .any(|value| text.contains(value.as_str()))
            .then(|| self.apply(text))
    }

    pub(super) fn apply(&self, text: &str) -> String {
        let found = self.0.iter().filter(|value| text.contains(value.as_str()));
        found.fold(text.to_owned(), |text, value| text.replace(value, MASK))
    }
}

/// Returns one line without control characters, cut at `max` characters.
pub(super) fn to_printable(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max));
    for (count, c) in text.trim_end().chars().enumerate() {
        if count == max {
            line.push('…');
            break;
        }
        match c {
            // U+FE0F requests the coloured form of the preceding emoji.
            '\t' | '\u{fe0f}' => line.push(c),
            c if is_hidden(c) => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line
}
