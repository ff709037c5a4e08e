//! Runs the commands of a task in the repository, and describes a failure for the terminal.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

/// The result of one step of a task, such as a command. The error is a text for the terminal.
pub(crate) type Outcome = Result<(), String>;

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder
        .ancestors()
        .nth(2)
        .unwrap_or(crate_folder)
        .to_owned()
}

/// Returns a command that runs in the root of the repository.
pub(crate) fn command(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Returns a Cargo command. If Cargo started this program, uses the same Cargo.
///
/// Removes the variables in which Cargo describes this package. Some build scripts read these
/// variables, so Cargo would rebuild their crates after each switch between `cargo xtask` and plain
/// `cargo`.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = command(
        env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        arguments,
    );
    for (name, _) in env::vars_os() {
        let describes_package = ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()));
        if describes_package {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs a command to its end and shows its output.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = format_command_line(command);
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

/// Runs a command, and returns its trimmed stdout, or `None` if the command cannot be started,
/// fails, or prints invalid UTF-8.
pub(crate) fn read_stdout(command: &mut Command) -> Option<String> {
    let output = command
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    String::from_utf8(output.stdout)
        .ok()
        .map(|text| text.trim().to_owned())
}

fn format_command_line(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let parts = std::iter::once(program).chain(command.get_args());
    parts
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
