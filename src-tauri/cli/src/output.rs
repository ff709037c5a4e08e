//! Output on stdout: one JSON document, or text for people.

use std::io::{self, Write};

use serde::Serialize;

use crate::{exit::Failure, text::escape_json};

/// Prints an answer as JSON if `json` is set, and otherwise as text. Empty text prints nothing.
pub(crate) fn print_answer<T: Serialize>(
    json: bool,
    answer: &T,
    lines: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    if json {
        return print_line(&escape_json(&serde_json::to_string(answer)?));
    }
    match lines(answer) {
        text if text.is_empty() => Ok(()),
        text => print_line(&text),
    }
}

/// Prints one line and flushes stdout.
pub(crate) fn print_line(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    Ok(stdout.flush()?)
}
