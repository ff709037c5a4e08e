//! Stdout: one JSON document, or lines for a person.

use std::io::{self, Write};

use serde::Serialize;

use crate::{exit::Failure, text::shown_json};

/// Prints an answer: as JSON where that was asked for, else as its lines for a person.
pub(crate) fn answer<T: Serialize>(
    json: bool,
    answer: &T,
    lines: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    if json {
        return line(&shown_json(&serde_json::to_string(answer)?));
    }
    match lines(answer) {
        nothing if nothing.is_empty() => Ok(()),
        lines => line(&lines),
    }
}

/// One line, at once.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    Ok(stdout.flush()?)
}
