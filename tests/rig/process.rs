//! Starts processes for a test, and kills each when its value is dropped. Finds running processes.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    home::Home,
    wait::{DEFAULT_TIMEOUT, wait_until_within},
};

/// A child process. Its stderr goes to a file; its stdout is read line by line.
pub struct Process {
    name: String,
    child: Child,
    lines: mpsc::Receiver<String>,
    stderr: PathBuf,
}

impl Process {
    /// Starts `command`. Its stderr is kept in `home`.
    pub fn start(home: &Home, name: &str, command: &mut Command) -> Self {
        let stderr = home.file(&format!("{name}.stderr"));
        let file =
            File::create(&stderr).unwrap_or_else(|e| panic!("make {}: {e}", stderr.display()));
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .unwrap_or_else(|e| panic!("start {name} ({}): {e}", command.get_program().display()));
        let stdout = child.stdout.take().expect("stdout is piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            name: name.to_owned(),
            child,
            lines,
            stderr,
        }
    }

    /// Returns the writing end of the stdin, which the command must have piped.
    #[track_caller]
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("stdin is piped")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the next line of the stdout. Fails if the process ends, or prints nothing in time.
    #[track_caller]
    pub fn read_line(&mut self) -> String {
        self.read_line_within(DEFAULT_TIMEOUT)
    }

    /// Like [`Process::read_line`], for a line that may come later.
    #[track_caller]
    pub fn read_line_within(&mut self, timeout: Duration) -> String {
        match self.lines.recv_timeout(timeout) {
            Ok(line) => line,
            Err(error) => panic!(
                "{} printed no line ({error}); its errors:\n{}",
                self.name,
                self.stderr()
            ),
        }
    }

    /// Waits until the process ends, for at most `timeout`. Returns its exit status and the rest of
    /// its stdout.
    #[track_caller]
    pub fn wait_until_exit(&mut self, timeout: Duration) -> (ExitStatus, String) {
        let status = wait_until_within(timeout, format!("{} ends", self.name), || {
            self.exit_status()
        });
        (status, self.lines.iter().collect::<Vec<_>>().join("\n"))
    }

    /// Returns the exit status, or `None` while the process runs.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("ask for the exit status")
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    pub fn send_signal(&self, signal: Signal) {
        signal_process(self.pid(), signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exit_status().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal. Ignores a process that has already exited.
pub fn signal_process(pid: u32, signal: Signal) {
    if let Ok(pid) = i32::try_from(pid) {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// A running process, read from `/proc`.
#[derive(Debug, Clone)]
pub struct RunningProcess {
    pub pid: u32,
    pub command: String,
    environment: String,
}

impl RunningProcess {
    /// Returns the value of a variable in the environment of the process.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment
            .split('\0')
            .find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Returns the ids of the running processes, other than this process, whose command line contains
/// `text`. A zombie has no command line.
pub fn find_by_command(text: &str) -> Vec<u32> {
    other_processes()
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|command| String::from_utf8_lossy(&command).contains(text))
        })
        .collect()
}

/// Returns the ids of a process's children. A child that has exited, but is not yet waited for, is
/// one of them.
pub fn find_children(pid: u32) -> Vec<u32> {
    other_processes()
        .filter(|child| find_parent(*child) == Some(pid))
        .collect()
}

/// Returns the id of a process's parent.
pub fn find_parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// Returns the processes, other than this process, whose environment contains the path of `folder`.
pub fn find_processes(folder: &Path) -> Vec<RunningProcess> {
    let folder = folder.to_string_lossy().into_owned();
    other_processes()
        .filter_map(|pid| {
            let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).ok();
            let environment = String::from_utf8_lossy(&read("environ")?).into_owned();
            let command = String::from_utf8_lossy(&read("cmdline")?)
                .replace('\0', " ")
                .trim()
                .to_owned();
            environment.contains(&folder).then_some(RunningProcess {
                pid,
                command,
                environment,
            })
        })
        .collect()
}

/// Returns the ids of the running processes other than this process.
#[track_caller]
fn other_processes() -> impl Iterator<Item = u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        panic!("/proc is needed to find processes")
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
}
