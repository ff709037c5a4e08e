//! The guard: a second process of Drawbridge that waits for the hub to end, however it ends, and
//! then ends every server process that is left.
//!
//! The hub holds the write end of the guard's stdin, which even `kill -9` closes. The hub uses it
//! to report the process groups that run. On Linux, the guard also searches `/proc` for processes
//! with the hub's run id in their environment, and so finds processes that left their group. On
//! Windows, Job Objects do this, and there is no guard.

use std::{
    io::{BufRead, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use drawbridge_model::random;

const ARGUMENT: &str = "--drawbridge-guard";

/// Whether this program's `main` can become the guard. The program is started as a guard only if
/// this is set.
static CAN_GUARD: AtomicBool = AtomicBool::new(false);

/// Runs the guard, and exits, if this process was started as the guard. Must be called first in
/// `main`.
pub fn run_if_started_as_guard() {
    CAN_GUARD.store(true, Ordering::Relaxed);
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some(ARGUMENT) {
        let run = args.next().expect("the hub passes the id of its run");
        run_guard(&run);
        std::process::exit(0);
    }
}

/// The hub's handle to the guard. Cheap to clone.
#[derive(Clone)]
pub struct Guard {
    run_id: Arc<str>,
    process: Arc<Mutex<GuardProcess>>,
}

/// The guard's process.
enum GuardProcess {
    /// No process has been started yet that needs a guard.
    NotNeeded,
    Running(Child, ChildStdin),
    Gone,
}

impl Guard {
    /// Creates the guard of a new run. Its process is started with the first server. If the program
    /// cannot become a guard (a test's own process), there is none, and servers end only when the
    /// hub ends gracefully.
    pub fn new() -> Self {
        Self {
            run_id: random::id().into(),
            process: Arc::new(Mutex::new(GuardProcess::NotNeeded)),
        }
    }

    /// Returns the id of this run of the hub.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    pub(super) fn watch(&self, pid: u32) {
        let mut process = self.lock();
        if matches!(*process, GuardProcess::NotNeeded)
            && CAN_GUARD.load(Ordering::Relaxed)
            && cfg!(unix)
        {
            *process = spawn(&self.run_id);
        }
        process.send_line(&format!("+{pid}\n"));
    }

    pub(super) fn unwatch(&self, pid: u32) {
        self.lock().send_line(&format!("-{pid}\n"));
    }

    /// Ends the guard, and waits for it.
    pub fn dismiss(&self) {
        let process = std::mem::replace(&mut *self.lock(), GuardProcess::Gone);
        if let GuardProcess::Running(mut child, stdin) = process {
            drop(stdin);
            let _ = child.wait();
        }
    }

    fn lock(&self) -> MutexGuard<'_, GuardProcess> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::new()
    }
}

impl GuardProcess {
    fn send_line(&mut self, line: &str) {
        let Self::Running(_, stdin) = self else {
            return;
        };
        if let Err(error) = stdin.write_all(line.as_bytes()) {
            tracing::error!(
                "The guard process has ended ({error}). If Drawbridge is killed, servers may be left running"
            );
            *self = Self::Gone;
        }
    }
}

fn spawn(run: &str) -> GuardProcess {
    match try_spawn(run) {
        Ok((child, stdin)) => GuardProcess::Running(child, stdin),
        Err(error) => {
            tracing::error!(
                "The guard process cannot be started: {error}. If Drawbridge is killed, servers may be left running"
            );
            GuardProcess::Gone
        }
    }
}

fn try_spawn(run: &str) -> std::io::Result<(Child, ChildStdin)> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([ARGUMENT, run])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let stdin = child.stdin.take().expect("stdin is piped");
    Ok((child, stdin))
}

/// Waits for the hub's end, then ends the server processes that are left.
fn run_guard(run: &str) {
    let mut groups: Vec<i32> = Vec::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match line
            .split_at_checked(1)
            .map(|(sign, pid)| (sign, pid.parse::<i32>()))
        {
            Some(("+", Ok(pid))) => groups.push(pid),
            Some(("-", Ok(pid))) => groups.retain(|group| *group != pid),
            _ => {}
        }
    }
    #[cfg(unix)]
    end_processes(&groups, run);
    #[cfg(not(unix))]
    let _ = (groups, run);
}

#[cfg(unix)]
fn end_processes(groups: &[i32], run: &str) {
    use std::time::Duration;

    use nix::sys::signal::{
        Signal::{SIGKILL, SIGTERM},
        kill, killpg,
    };
    use nix::unistd::Pid;

    let mark = format!("{}={run}", super::environment::RUN_ID_VARIABLE);
    for (signal, pause) in [(SIGTERM, 300), (SIGKILL, 100), (SIGKILL, 100), (SIGKILL, 0)] {
        let remaining = find_marked(&mark);
        let alive = groups
            .iter()
            .filter(|pid| **pid > 1 && killpg(Pid::from_raw(**pid), signal).is_ok())
            .count();
        if remaining.is_empty() && alive == 0 {
            return;
        }
        for pid in remaining {
            let _ = kill(Pid::from_raw(pid), signal);
        }
        std::thread::sleep(Duration::from_millis(pause));
    }
}

/// Returns the processes whose environment holds `mark`. Returns none if there is no `/proc`.
#[cfg(unix)]
fn find_marked(mark: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes())
    })
    .collect()
}
