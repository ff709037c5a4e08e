//! Runs a command of a client program and keeps its output.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitStatus},
    time::Duration,
};

use drawbridge_tests::{Home, wait::try_until_within};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

/// The longest time for a command. Programs that start a runtime of their own take seconds.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The output of a command, on stdout and stderr, in the order in which it was printed.
#[derive(Debug, Clone)]
pub(crate) struct CommandOutput {
    pub(crate) line: String,
    pub(crate) text: String,
    /// The reason, if the command did not succeed.
    pub(crate) failure: Option<String>,
}

/// Runs a command in `folder` to its end. Ends it after [`TIMEOUT`].
pub(crate) fn run(
    home: &Home,
    folder: &Path,
    words: &[String],
    variables: &[(String, String)],
) -> CommandOutput {
    let output_file = home.file("output");
    let create = || File::create(&output_file).expect("a file for the output");
    let file = create();
    let mut command: Command = home.command(&words[0]);
    command
        .args(&words[1..])
        .envs(variables.iter().cloned())
        .current_dir(folder)
        .stdout(file.try_clone().expect("a second handle"))
        .stderr(file)
        // The command has a process group of its own, so that its children are killed with it.
        .process_group(0);
    let mut child = command
        .spawn()
        .unwrap_or_else(|e| panic!("start {}: {e}", words[0]));
    let status = try_until_within(TIMEOUT, || child.try_wait().expect("ask for the status"));
    if status.is_none() {
        let group = i32::try_from(child.id()).expect("a process id");
        // The group may have ended by now.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        child.wait().expect("the command ends");
    }
    let bytes = fs::read(&output_file).expect("read the output");
    CommandOutput {
        line: words.join(" "),
        text: String::from_utf8_lossy(&bytes).into_owned(),
        failure: describe_failure(status),
    }
}

fn describe_failure(status: Option<ExitStatus>) -> Option<String> {
    match status {
        None => Some(format!("it did not end within {} s", TIMEOUT.as_secs())),
        Some(status) if !status.success() => Some(format!("it failed ({status})")),
        Some(_) => None,
    }
}
