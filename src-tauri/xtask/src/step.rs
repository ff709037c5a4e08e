//! Steps: one command each, run in the repository, with one clear line where it fails.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

/// Done, or one line that says what went wrong and what to do.
pub(crate) type Outcome = Result<(), String>;

/// The repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// A command in the repository.
pub(crate) fn command(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// The cargo that runs this.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    command(
        std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        arguments,
    )
}

/// Runs it to its end, its output shown.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = line_of(command);
    println!("\n\u{1b}[1m> {line}\u{1b}[0m");
    let status = command
        .status()
        .map_err(|e| format!("`{line}` cannot be started: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{line}` failed ({status})"))
    }
}

/// What it prints; none where it cannot be started or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    String::from_utf8(output.stdout)
        .ok()
        .map(|text| text.trim().to_owned())
}

fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
