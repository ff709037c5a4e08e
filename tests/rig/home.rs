//! A home: private folders and an isolated environment, so that no test touches the keyring, the
//! bus or the settings of the person who runs the tests.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::{
    paths,
    process::{self, RunningProcess},
    wait::{some_if, try_until_within, wait_until_within},
};

/// The longest time for which a child of the hub may outlive the hub.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest time until a killed process is gone.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

pub struct Home {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// Creates the folders for one test, without a screen and without a bus.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("drawbridge-")
            .tempdir()
            .expect("a temporary folder");
        let create_folder = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(&path).expect("a folder of the home");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
                .expect("a private folder");
            paths::path_text(&path)
        };
        let missing_bus = format!("unix:path={}/no-bus", folder.path().display());
        let home = create_folder("home");
        let path = format!("{home}/.local/bin:{}", paths::path_with_pinned_packages());
        let environment = [
            ("HOME", home),
            ("XDG_RUNTIME_DIR", create_folder("run")),
            ("XDG_DATA_HOME", create_folder("share")),
            ("XDG_CONFIG_HOME", create_folder("config")),
            ("XDG_CACHE_HOME", create_folder("cache")),
            ("TMPDIR", create_folder("tmp")),
            ("DBUS_SESSION_BUS_ADDRESS", missing_bus),
            ("LANG", "C.UTF-8".to_owned()),
            ("RUST_BACKTRACE", "1".to_owned()),
            // Most tests expect only their own servers in the lists. The tests of the built-in
            // memory server enable it.
            ("DRAWBRIDGE_DISABLED_BUILT_INS", "memory".to_owned()),
            ("PATH", path),
        ];
        let environment = environment
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        Self {
            folder,
            environment,
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Installs one of the project's own programs under this name, so that tests start it as a user
    /// would.
    pub fn install_program(&self, program: &str, name: &str) {
        let folder = self.file("home/.local/bin");
        fs::create_dir_all(&folder).expect("a folder for programs");
        std::os::unix::fs::symlink(paths::built_binary(program), folder.join(name))
            .expect("a link to the program");
    }

    /// Returns the path of a file or folder in the home.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Returns the path of the hub's data folder. The hub creates the folder.
    pub fn data_dir(&self) -> PathBuf {
        self.file("data")
    }

    /// Sets a variable for all processes that are started from now on.
    pub fn set_variable(&mut self, name: &str, value: impl Into<String>) {
        self.environment.retain(|(variable, _)| variable != name);
        self.environment.push((name.to_owned(), value.into()));
    }

    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment
            .iter()
            .find(|(variable, _)| variable == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns a command with the environment of this home only.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .envs(self.environment.iter().cloned())
            .current_dir(self.path());
        command.stdin(Stdio::null());
        command
    }

    /// Accepts a server with its current identity, as `drawbridge servers show` reports it.
    #[track_caller]
    pub fn accept_server(&self, id: &str) {
        let shown = self.cli(&["servers", "show", id, "--json"]).expect_json();
        let identity = shown["identity"]
            .as_str()
            .expect("a server has an identity");
        self.cli(&["servers", "accept", id, "--identity", identity])
            .expect_success();
    }

    /// Runs the command line on this home's data folder.
    pub fn cli(&self, arguments: &[&str]) -> CliOutput {
        let (own_arguments, server_command) =
            match arguments.iter().position(|argument| *argument == "--") {
                Some(index) => arguments.split_at(index),
                None => (arguments, &[][..]),
            };
        let mut command = self.command(paths::built_binary("drawbridge"));
        command
            .args(own_arguments)
            .arg("--data-dir")
            .arg(self.data_dir())
            .args(server_command);
        let output = command
            .output()
            .unwrap_or_else(|e| panic!("start drawbridge: {e}"));
        CliOutput {
            command_line: format!("drawbridge {}", arguments.join(" ")),
            output,
        }
    }

    /// Runs the command line for the hub at this URL, without a data folder, and with the admin
    /// token if there is one.
    pub fn remote_cli(&self, hub_url: &str, token: Option<&str>, arguments: &[&str]) -> CliOutput {
        let mut command = self.command(paths::built_binary("drawbridge"));
        command.args(arguments).env("MCP_HUB_URL", hub_url);
        if let Some(token) = token {
            command.env("DRAWBRIDGE_ADMIN_TOKEN", token);
        }
        let output = command
            .output()
            .unwrap_or_else(|e| panic!("start drawbridge: {e}"));
        CliOutput {
            command_line: format!("drawbridge {}", arguments.join(" ")),
            output,
        }
    }

    /// Runs the command line in a terminal and types `typed`. The stdout is the output of the
    /// terminal, which includes the echo of the typed text.
    pub fn cli_at_terminal(&self, arguments: &[&str], typed: &str) -> CliOutput {
        let program = paths::path_text(paths::built_binary("drawbridge"));
        let data_dir = paths::path_text(self.data_dir());
        let words = [&[&program, "--data-dir", &data_dir], arguments].concat();
        let quoted = words.iter().map(|word| format!("'{word}'"));
        let command_line = quoted.collect::<Vec<_>>().join(" ");
        let mut command = self.command("script");
        command
            .args([
                "--quiet",
                "--return",
                "--command",
                &command_line,
                "/dev/null",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("start script: {e}"));
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        stdin.write_all(typed.as_bytes()).expect("type");
        let output = child.wait_with_output().expect("the command ends");
        drop(stdin);
        CliOutput {
            command_line: format!("drawbridge {}", arguments.join(" ")),
            output,
        }
    }

    /// Returns the running processes that were started in this home.
    pub fn processes(&self) -> Vec<RunningProcess> {
        process::find_processes(self.path())
    }

    /// Returns the processes that the hub started, such as those of servers and hooks, and their
    /// descendants.
    pub fn server_processes(&self) -> Vec<RunningProcess> {
        self.processes()
            .into_iter()
            .filter(|process| process.variable("DRAWBRIDGE_RUN").is_some())
            .collect()
    }

    /// Fails if a child of the hub outlives the hub by more than [`EXIT_TIMEOUT`].
    #[track_caller]
    pub fn assert_no_survivors(&self) {
        wait_until_within(EXIT_TIMEOUT, "no child of the hub is left", || {
            some_if(self.server_processes().is_empty())
        });
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        try_until_within(KILL_TIMEOUT, || {
            let remaining = self.processes();
            for process in &remaining {
                process::signal_process(process.pid, Signal::SIGKILL);
            }
            some_if(remaining.is_empty())
        });
    }
}

/// A finished run of the command line.
pub struct CliOutput {
    command_line: String,
    pub output: Output,
}

impl CliOutput {
    /// Runs a command to its end.
    #[track_caller]
    pub fn run(command: &mut Command) -> Self {
        let command_line = format!("{command:?}");
        let output = command
            .output()
            .unwrap_or_else(|e| panic!("{command_line}: {e}"));
        Self {
            command_line,
            output,
        }
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub fn exit_code(&self) -> i32 {
        self.output.status.code().unwrap_or(-1)
    }

    /// Fails unless the command succeeded.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert!(
            self.exit_code() == 0,
            "`{}` exited {}: {}{}",
            self.command_line,
            self.exit_code(),
            self.stdout(),
            self.stderr()
        );
        self
    }

    /// Returns the one JSON document on stdout. Fails unless the command succeeded.
    #[track_caller]
    pub fn expect_json(self) -> serde_json::Value {
        let output = self.expect_success();
        serde_json::from_str(&output.stdout()).unwrap_or_else(|e| {
            panic!(
                "`{}` printed no JSON ({e}): {}",
                output.command_line,
                output.stdout()
            )
        })
    }
}
