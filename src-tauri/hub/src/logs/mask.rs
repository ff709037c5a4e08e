//! What must not be readable in a log is masked; what cannot be seen is shown.

use std::fmt::Write;

/// Shorter values are no secrets, and masking them would eat the log.
const SHORTEST: usize = 6;
const MASK: &str = "•••";

/// The values to mask.
#[derive(Default)]
pub(super) struct Masks(Vec<String>);

impl Masks {
    pub(super) fn add(&mut self, value: &str) {
        if value.len() >= SHORTEST && !self.0.iter().any(|known| known == value) {
            self.0.push(value.to_owned());
            // Longer ones first: a secret inside another one must not keep it from being found.
            self.0.sort_by_key(|value| std::cmp::Reverse(value.len()));
        }
    }

    pub(super) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, value| text.replace(value, MASK))
    }
}

/// One line without control characters, cut at `max` characters.
pub(super) fn printable(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max));
    for (count, c) in text.trim_end().chars().enumerate() {
        if count == max {
            line.push('…');
            break;
        }
        match c {
            '\t' => line.push('\t'),
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line
}

/// Characters that change how others look, or have no look: bidi, zero-width, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
