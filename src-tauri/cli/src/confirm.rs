//! Questions at a terminal.

use std::io::{self, IsTerminal, Write};

use crate::exit::Failure;

/// Shows a text and asks a yes-or-no question.
///
/// # Errors
/// Returns an error if stdin is not a terminal, or if the answer is not yes.
pub(crate) fn confirm(text: &str, question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::NoTerminal);
    }
    if ask(text, question)? {
        Ok(())
    } else {
        Err(Failure::Declined)
    }
}

/// Shows a text, asks a question, and returns whether the answer is yes.
pub(crate) fn ask(text: &str, question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr();
    write!(stderr, "{text}\n\n{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
