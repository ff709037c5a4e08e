//! The guard: a second process of Drawbridge that waits for the hub to end, however it ends, and
//! then ends every server process that is left.
//!
//! The hub holds one end of the guard's stdin. The system closes this end when the hub ends, even
//! by `kill -9`, and the guard notices it. On Linux, the guard also makes the
//! [`supervisor`](super::supervisor) of each server, and is the child subreaper above the
//! supervisors. On other Unix systems, the hub reports to the guard which process groups run. On
//! Windows, Job Objects end the processes, and there is no guard.

use std::{
    io,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use drawbridge_model::random;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;

#[cfg(target_os = "linux")]
pub(super) use linux::NewSupervisor;

/// The hub's end of the guard's stdin.
#[cfg(target_os = "linux")]
type GuardLink = std::os::unix::net::UnixStream;
#[cfg(not(target_os = "linux"))]
type GuardLink = std::process::ChildStdin;

const ARGUMENT: &str = "--drawbridge-guard";

/// Whether this program's `main` can become the guard. The program is started as a guard only if
/// this flag is set.
static CAN_GUARD: AtomicBool = AtomicBool::new(false);

/// Runs the guard, and exits, if this process was started as the guard. Must be called first in
/// `main`.
pub fn run_if_started_as_guard() {
    CAN_GUARD.store(true, Ordering::Relaxed);
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some(ARGUMENT) {
        let run_id = args.next().expect("the hub passes the id of its run");
        platform::run_guard(&run_id);
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
    /// No guard runs. The next server that needs the guard starts it.
    NotStarted,
    Running(Child, GuardLink),
    /// No guard runs, and no guard is started again: the guard was dismissed, could not be started
    /// or, except on Linux, has ended.
    Gone,
}

impl Guard {
    /// Creates the guard of a new run. Its process is started with the first server. If this
    /// program cannot become a guard (a test's own process), there is no guard, and servers may be
    /// left if the hub is killed.
    pub fn new() -> Self {
        Self {
            run_id: random::id().into(),
            process: Arc::new(Mutex::new(GuardProcess::NotStarted)),
        }
    }

    /// Returns the id of this run of the hub.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Makes the supervisor of a new server; `None` if no guard can make a supervisor. If the guard
    /// has ended, starts another guard.
    #[cfg(target_os = "linux")]
    pub(super) fn make_supervisor(&self) -> Option<NewSupervisor> {
        let mut process = self.lock();
        for _ in 0..2 {
            process.start_if_needed(&self.run_id);
            let GuardProcess::Running(guard, link) = &mut *process else {
                return None;
            };
            match NewSupervisor::request(link) {
                Ok(supervisor) => return Some(supervisor),
                Err(error) => {
                    tracing::error!("The guard process has ended ({error}). It is started again");
                    let _ = guard.kill();
                    let _ = guard.wait();
                    *process = GuardProcess::NotStarted;
                }
            }
        }
        None
    }

    /// Reports a new process group to the guard. Does nothing on Linux and on Windows.
    pub(super) fn watch(&self, pid: u32) {
        let mut process = self.lock();
        if cfg!(all(unix, not(target_os = "linux"))) {
            process.start_if_needed(&self.run_id);
            process.report(&format!("+{pid}\n"));
        }
    }

    pub(super) fn unwatch(&self, pid: u32) {
        if cfg!(all(unix, not(target_os = "linux"))) {
            self.lock().report(&format!("-{pid}\n"));
        }
    }

    /// Ends the guard, and waits for the end of its process.
    pub fn dismiss(&self) {
        let process = std::mem::replace(&mut *self.lock(), GuardProcess::Gone);
        if let GuardProcess::Running(mut child, link) = process {
            drop(link);
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
    fn start_if_needed(&mut self, run_id: &str) {
        if matches!(self, Self::NotStarted) && CAN_GUARD.load(Ordering::Relaxed) {
            *self = match try_spawn(run_id) {
                Ok((child, link)) => Self::Running(child, link),
                Err(error) => {
                    tracing::error!(
                        "The guard process cannot be started: {error}. If Drawbridge is killed, servers may be left running"
                    );
                    Self::Gone
                }
            };
        }
    }

    fn report(&mut self, line: &str) {
        let Self::Running(_, link) = self else {
            return;
        };
        if let Err(error) = io::Write::write_all(link, line.as_bytes()) {
            tracing::error!(
                "The guard process has ended ({error}). If Drawbridge is killed, servers may be left running"
            );
            *self = Self::Gone;
        }
    }
}

fn try_spawn(run_id: &str) -> io::Result<(Child, GuardLink)> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([ARGUMENT, run_id])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    platform::spawn_linked(command)
}
