//! The supervisor of one server: a process between the guard and the server, which starts the
//! server, and ends every process that the server has started.
//!
//! The supervisor is a child subreaper: each process that a server starts stays below the
//! supervisor, even if that process leaves its group and session, clears its environment, and loses
//! its parent. The supervisor therefore finds all processes of the server by descent, and ends once
//! no process is left below it.
//!
//! The hub and the supervisor are connected by a socket. The hub sends a line with the
//! [`PreparedCommand`] as JSON, and later single bytes: [`ASK_TO_END`] or [`KILL`]. The supervisor
//! answers with [`Report`]s, one JSON value on each line. If the hub ends, however it ends, the
//! socket is closed, and the supervisor ends the server.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, Command},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use drawbridge_model::{
    access_report::{AccessSummary, RecordedAccess},
    sandbox::EnforcedSandbox,
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use super::{
    PreparedCommand, descent,
    recorder::{self, Recorder},
    sandbox::{
        Confinement, SandboxFailure,
        enforce::{Confined, confine_this_thread},
    },
    system_calls::listener::Listener,
};

/// Sends SIGTERM to all processes of the server.
pub(super) const ASK_TO_END: u8 = b't';
/// Kills all processes of the server.
pub(super) const KILL: u8 = b'k';

/// How long the processes of a server may take to end after the hub has ended.
const ORPHAN_TIMEOUT: Duration = Duration::from_millis(300);
/// The pause before the supervisor looks again for processes to kill. A process may have started
/// another process just before it was killed.
const KILL_INTERVAL: Duration = Duration::from_millis(20);

/// A message of the supervisor to the hub.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    Started {
        pid: u32,
        /// The process id of the supervisor.
        supervisor: u32,
        sandbox: Option<EnforcedSandbox>,
    },
    /// The server was not started, because its sandbox cannot be enforced.
    Unconfined(SandboxFailure),
    /// The server was not started.
    Failed { errno: Option<i32>, message: String },
    /// The accesses of a recorded run so far.
    Recorded(RecordedAccess),
    /// The server itself has ended. The processes that it left behind are killed.
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
    },
}

/// The descriptors that the hub passes for a new server.
pub(super) struct Descriptors {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) control: OwnedFd,
}

/// Starts the server that the hub asks for on the control socket, and returns once nothing of the
/// server is left. Must run in a process of its own, which has one thread.
pub(super) fn run(descriptors: Descriptors) -> io::Result<()> {
    prctl::set_child_subreaper(true)?;
    let Descriptors {
        stdin,
        stdout,
        stderr,
        control,
    } = descriptors;
    let mut control = BufReader::new(UnixStream::from(control));
    let mut line = String::new();
    control.read_line(&mut line)?;
    let request: PreparedCommand = serde_json::from_str(&line)?;
    let mut command = Command::new(&request.program);
    command
        .args(&request.args)
        .env_clear()
        .envs(&request.env)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    if let Some(folder) = &request.cwd {
        command.current_dir(folder);
    }
    let recorder = request
        .recording
        .map(|recording| Recorder::start(recording, request.confinement.as_ref()));
    let listener_sender = recorder
        .as_ref()
        .and_then(|recorder| Some(recorder.as_ref().ok()?.listener_sender()));
    let started = start(command, request.confinement, listener_sender);
    let control = control.into_inner();
    match started {
        Ok(StartedServer {
            child,
            sandbox,
            recorder_failure,
        }) => {
            let pid = child.id();
            write_report(
                &control,
                &Report::Started {
                    pid,
                    supervisor: std::process::id(),
                    sandbox,
                },
            )?;
            let recorder = match (recorder, recorder_failure) {
                (Some(Ok(recorder)), None) => Some(recorder),
                (Some(Err(error)), _) | (_, Some(error)) => {
                    let reason = recorder::explain_failure(&error);
                    // The hub may be gone.
                    let report = Report::Recorded(RecordedAccess::Unavailable(reason));
                    let _ = write_report(&control, &report);
                    None
                }
                (None, None) => None,
            };
            Supervisor {
                leader: Pid::from_raw(i32::try_from(pid).expect("Linux's pids are below 2^22")),
                control,
                is_connected: true,
                kill_at: None,
                recorder,
            }
            .run_to_end()
        }
        Err(StartError::Sandbox(failure)) => write_report(&control, &Report::Unconfined(failure)),
        Err(StartError::Io(error)) => write_report(
            &control,
            &Report::Failed {
                errno: error.raw_os_error(),
                message: error.to_string(),
            },
        ),
    }
}

/// Why the server was not started.
enum StartError {
    Sandbox(SandboxFailure),
    Io(io::Error),
}

/// A server that was started.
struct StartedServer {
    child: Child,
    sandbox: Option<EnforcedSandbox>,
    /// Why the server is not recorded although the hub requested a recording.
    recorder_failure: Option<io::Error>,
}

/// Starts the server in its sandbox. If `listener_sender` is given, the server is recorded, and the
/// listener of its filter is sent there. Closes the supervisor's copies of the server's pipes.
fn start(
    mut command: Command,
    confinement: Option<Confinement>,
    listener_sender: Option<mpsc::SyncSender<Listener>>,
) -> Result<StartedServer, StartError> {
    // The server inherits the sandbox and the signal mask of the thread that starts it. The
    // supervisor's main thread cannot start the server, because that thread must stay unconfined,
    // so that it can end the server, and because it blocks SIGCHLD.
    let thread = thread::spawn(move || {
        SigSet::empty()
            .thread_set_mask()
            .map_err(|error| StartError::Io(error.into()))?;
        let confined = confinement
            .map(|rules| confine_this_thread(&rules, listener_sender.is_some()))
            .transpose()
            .map_err(StartError::Sandbox)?;
        let (sandbox, listener) = match confined {
            Some(Confined { enforced, listener }) => (Some(enforced), listener),
            None => (
                None,
                listener_sender
                    .is_some()
                    .then(recorder::install_for_this_thread),
            ),
        };
        let recorder_failure = match (listener_sender, listener) {
            (Some(sender), Some(Ok(listener))) => {
                sender
                    .send(listener)
                    .expect("the recorder waits for the listener");
                None
            }
            (_, Some(Err(error))) => Some(error),
            (None, Some(Ok(_))) | (_, None) => None,
        };
        let child = command.spawn().map_err(StartError::Io)?;
        Ok(StartedServer {
            child,
            sandbox,
            recorder_failure,
        })
    });
    thread.join().unwrap_or_else(|_| {
        let error = io::Error::other("the thread that starts the server panicked");
        Err(StartError::Io(error))
    })
}

fn write_report(mut control: &UnixStream, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    control.write_all(&line)
}

struct Supervisor {
    /// The server's own process.
    leader: Pid,
    control: UnixStream,
    is_connected: bool,
    /// When everything below the supervisor is killed.
    kill_at: Option<Instant>,
    recorder: Option<Recorder>,
}

impl Supervisor {
    fn run_to_end(mut self) -> io::Result<()> {
        let signals = open_child_signals()?;
        while self.reap()? {
            if self.kill_at.is_some_and(|at| at <= Instant::now()) {
                descent::signal_descendants(Pid::this(), Signal::SIGKILL, &[]);
            }
            self.wait(&signals)?;
        }
        let last_summary = self.recorder.take().and_then(Recorder::finish);
        self.report_summary(last_summary);
        Ok(())
    }

    fn report_summary(&self, summary: Option<AccessSummary>) {
        if let Some(summary) = summary {
            let report = Report::Recorded(RecordedAccess::Summary(summary));
            // The hub may be gone.
            let _ = write_report(&self.control, &report);
        }
    }

    /// Reaps the children that have ended, and returns whether any child is left.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            let (pid, code, signal) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, Some(code), None),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, None, Some(signal as i32)),
                Ok(WaitStatus::StillAlive) => return Ok(true),
                Ok(
                    WaitStatus::Stopped(..)
                    | WaitStatus::Continued(_)
                    | WaitStatus::PtraceEvent(..)
                    | WaitStatus::PtraceSyscall(_),
                )
                | Err(Errno::EINTR) => continue,
                Err(Errno::ECHILD) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            if pid == self.leader {
                // The hub may be gone.
                let _ = write_report(&self.control, &Report::Exited { code, signal });
                self.kill_at = Some(Instant::now());
            }
        }
    }

    /// Waits until a child ends, the hub sends a command, the recorder has a summary, or it is time
    /// to kill. Carries out the command, and passes the summary on.
    fn wait(&mut self, signals: &SignalFd) -> io::Result<()> {
        let timeout = self.kill_at.map_or(PollTimeout::NONE, |at| {
            let pause = at.saturating_duration_since(Instant::now());
            PollTimeout::try_from(pause.max(KILL_INTERVAL)).unwrap_or(PollTimeout::MAX)
        });
        let sources = [
            Some(signals.as_fd()),
            self.is_connected.then(|| self.control.as_fd()),
            self.recorder.as_ref().map(Recorder::wake_up),
        ];
        let mut ready: Vec<_> = sources
            .iter()
            .flatten()
            .map(|source| PollFd::new(*source, PollFlags::POLLIN))
            .collect();
        match poll(&mut ready, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = ready.iter().map(|source| source.any() == Some(true));
        let [child_ended, is_control_ready, has_summary] =
            sources.map(|source| source.is_some() && ready.next() == Some(true));
        if has_summary {
            let summary = self.recorder.as_mut().and_then(Recorder::take_summary);
            self.report_summary(summary);
        }
        if child_ended {
            signals.read_signal()?;
        }
        if is_control_ready {
            self.read_command();
        }
        Ok(())
    }

    fn read_command(&mut self) {
        let mut byte = [0];
        match self.control.read(&mut byte) {
            Ok(1..) if byte[0] == ASK_TO_END => {
                descent::signal_descendants(Pid::this(), Signal::SIGTERM, &[]);
            }
            Ok(1..) => self.kill_at = Some(Instant::now()),
            // The hub has ended, or has closed its end of the socket.
            Ok(0) | Err(_) => {
                self.is_connected = false;
                descent::signal_descendants(Pid::this(), Signal::SIGTERM, &[]);
                self.kill_at
                    .get_or_insert_with(|| Instant::now() + ORPHAN_TIMEOUT);
            }
        }
    }
}

/// Returns the set of SIGCHLD alone, which reports the end of a child. A thread that waits for the
/// signal on a descriptor must block the signal.
pub(super) fn child_signals() -> SigSet {
    SigSet::from(Signal::SIGCHLD)
}

/// Returns a descriptor that becomes readable when a child has ended. Reading from it never blocks,
/// because the signal may be gone by then, and a blocked thread would not notice the hub's
/// commands.
pub(super) fn open_child_signals() -> io::Result<SignalFd> {
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    Ok(SignalFd::with_flags(&child_signals(), flags)?)
}
