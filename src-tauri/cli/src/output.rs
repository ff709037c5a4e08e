//! Output on stdout: one JSON document, or text for people.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use serde::Serialize;

use crate::{exit::Failure, text::escape_json};

/// Prints an answer as JSON if `json` is set, and otherwise as text. Empty text prints nothing.
pub(crate) fn print_answer<T: Serialize>(
    json: bool,
    answer: &T,
    format: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    if json {
        return print_line(&escape_json(&serde_json::to_string(answer)?));
    }
    match format(answer) {
        text if text.is_empty() => Ok(()),
        text => print_line(&text),
    }
}

/// Prints a text and a line break, and flushes stdout.
pub(crate) fn print_line(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    Ok(stdout.flush()?)
}

/// Creates a file for an export or a bundle of diagnostics, or empties an existing file. On Unix,
/// only this user can read the file afterwards. A device or a pipe keeps its mode.
pub(crate) fn create_private_file(file: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(file)?;
    if opened.metadata()?.is_file() {
        #[cfg(unix)]
        opened.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        opened.set_len(0)?;
    }
    Ok(opened)
}
