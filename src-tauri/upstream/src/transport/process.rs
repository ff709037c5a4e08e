//! Starts server processes, and ends their whole trees. No other module of the hub starts any
//! process.
//!
//! On Linux, each server runs below a supervisor, a process that keeps hold of all processes that
//! the server starts. Elsewhere, and if no supervisor can be made, each server has its own process
//! group (a Job Object on Windows). If the hub itself is killed, a guard process ends the server
//! processes that are left. On Windows, the Job Objects end them.

#[cfg(target_os = "linux")]
mod appimage;
mod descent;
mod environment;
pub mod guard;
mod login_path;
pub mod package_version;
pub mod program;
#[cfg(target_os = "linux")]
mod recorder;
pub mod recording;
pub mod run;
pub mod runtime;
pub mod sandbox;
pub mod secret_command;
#[cfg(target_os = "linux")]
mod supervised;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod system_calls;
mod tree;
#[cfg(unix)]
mod unix;
pub mod usage;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use appimage::original_variables;

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, OnceLock},
    time::Duration,
};

use drawbridge_model::{access_report::RecordedAccess, cause::MapText, sandbox::EnforcedSandbox};
use serde::{Deserialize, Serialize};
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    runtime::{Builder, Runtime},
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};

use guard::Guard;
use recording::{RecordingRequest, RecordingSink};
use sandbox::{Confinement, LaunchSandbox, SandboxFailure};
#[cfg(target_os = "linux")]
use supervised::SupervisedTree;
use tree::Tree;
#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
use windows as platform;

/// How long a server may take to end by itself after its stdin was closed. After this time, the
/// server receives SIGTERM. Processes that were killed may take as long to disappear.
const EOF_TIMEOUT: Duration = Duration::from_secs(1);

/// The program to start. The values are resolved: no references to secrets are left.
pub struct Launch {
    pub command: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub cwd: Option<PathBuf>,
    /// The limits of the program. Without a sandbox, the program may use everything that the
    /// user may use.
    pub sandbox: Option<LaunchSandbox>,
    /// Receives the accesses of the program, or `None` if the run is not recorded.
    pub recording: Option<RecordingSink>,
    /// How long a graceful stop may take before the whole tree is killed.
    pub stop_timeout: Duration,
}

/// Why a process cannot be started.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SpawnError {
    #[error("Drawbridge cannot find the command '{command}' in the PATH")]
    CommandNotFound { command: String },
    #[error("The program '{program}' does not exist, or is not executable")]
    ProgramNotFound { program: String },
    #[error("The folder '{folder}' does not exist")]
    FolderNotFound { folder: String },
    #[error("Drawbridge cannot start '{command}': {source}")]
    Io {
        command: String,
        source: Arc<io::Error>,
    },
    #[error(
        "Drawbridge does not start '{command}', because its sandbox cannot be enforced: {failure}"
    )]
    Sandbox {
        command: String,
        failure: SandboxFailure,
    },
}

impl SpawnError {
    /// Returns whether the same start may succeed if it is tried again at once. A program that is
    /// missing or cannot be executed stays so until a person acts.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::CommandNotFound { .. }
            | Self::ProgramNotFound { .. }
            | Self::FolderNotFound { .. } => false,
            // The system reports a missing interpreter of a script as NotFound.
            Self::Io { source, .. } => !matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ),
            Self::Sandbox { failure, .. } => failure.is_transient(),
        }
    }

    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::CommandNotFound { command } => Self::CommandNotFound {
                command: change(&command),
            },
            Self::ProgramNotFound { program } => Self::ProgramNotFound {
                program: change(&program),
            },
            Self::FolderNotFound { folder } => Self::FolderNotFound {
                folder: change(&folder),
            },
            Self::Io { command, source } => Self::Io {
                command: change(&command),
                source,
            },
            Self::Sandbox { command, failure } => Self::Sandbox {
                command: change(&command),
                failure,
            },
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone)]
pub enum ProcessExit {
    Code(i32),
    Signal(i32),
    /// Drawbridge ended the process.
    Stopped,
    /// The system reports neither a code nor a signal.
    Unknown,
    /// The exit status cannot be read.
    Unreadable(Arc<io::Error>),
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "The program ended with exit code {code}"),
            Self::Signal(signal) => write!(f, "The program was ended by signal {signal}"),
            Self::Stopped => f.write_str("The program was stopped"),
            Self::Unknown => f.write_str("The program ended"),
            Self::Unreadable(error) => {
                write!(
                    f,
                    "The program ended, and its exit status cannot be read: {error}"
                )
            }
        }
    }
}

/// The pipes of a process.
pub struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// A running process and its tree.
pub struct Process {
    pid: u32,
    sandbox: Option<EnforcedSandbox>,
    exit: watch::Receiver<Option<ProcessExit>>,
    stop: mpsc::Sender<()>,
}

impl Process {
    /// Starts a process, and returns it with its pipes.
    ///
    /// # Errors
    /// Returns an error if the command or the folder does not exist, if the sandbox cannot be
    /// enforced, or if the system refuses to start the process.
    pub async fn spawn(launch: &Launch, guard: &Guard) -> Result<(Self, Pipes), SpawnError> {
        let command = prepare_command(launch, guard).await?;
        #[cfg(target_os = "linux")]
        if let Some(supervisor) = guard.make_supervisor() {
            let recording = launch.recording.clone();
            let started = SupervisedTree::start(supervisor, &command, &launch.command, recording);
            let (tree, started, pipes) = started.await?;
            let tree = Tree::Supervised(tree);
            return Ok((Self::new(started, tree, launch.stop_timeout, guard), pipes));
        }
        if command.confinement.is_some() {
            return Err(SpawnError::Sandbox {
                command: launch.command.clone(),
                failure: if cfg!(target_os = "linux") {
                    SandboxFailure::NoGuard
                } else {
                    SandboxFailure::NotLinux
                },
            });
        }
        if let Some(report) = &launch.recording {
            let reason = if cfg!(target_os = "linux") {
                "the guard process of Drawbridge does not run"
            } else {
                "only Linux can report what a program uses"
            };
            report(RecordedAccess::Unavailable(reason.to_owned()));
        }
        let (tree, pid, pipes) = spawn_directly(command).map_err(|source| SpawnError::Io {
            command: launch.command.clone(),
            source: Arc::new(source),
        })?;
        guard.watch(pid);
        let started = Started { pid, sandbox: None };
        Ok((Self::new(started, tree, launch.stop_timeout, guard), pipes))
    }

    fn new(started: Started, tree: Tree, stop_timeout: Duration, guard: &Guard) -> Self {
        let Started { pid, sandbox } = started;
        let (exit_sender, exit) = watch::channel(None);
        let (stop, stop_receiver) = mpsc::channel(1);
        tokio::spawn(supervise(
            tree,
            pid,
            stop_timeout,
            stop_receiver,
            exit_sender,
            guard.clone(),
        ));
        Self {
            pid,
            sandbox,
            exit,
            stop,
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the enforced sandbox of the program, or `None` if the program runs in no sandbox.
    pub fn sandbox(&self) -> Option<EnforcedSandbox> {
        self.sandbox
    }

    /// Waits for the end of the process, and returns how it ended.
    pub async fn wait_for_exit(&self) -> ProcessExit {
        let mut exit = self.exit.clone();
        let ended = exit.wait_for(Option::is_some).await;
        // The sender is dropped without a value only if the runtime shuts down.
        ended
            .ok()
            .and_then(|exit| exit.clone())
            .unwrap_or(ProcessExit::Unknown)
    }

    /// Returns how the process ended, or `None` while it runs.
    pub fn exit(&self) -> Option<ProcessExit> {
        self.exit.borrow().clone()
    }

    /// Ends the process and its tree. Returns once no process of the tree is left, or a second
    /// after the tree was killed. The caller should close the stdin of the process first, because a
    /// server may then end by itself.
    pub async fn stop(&self) {
        let _ = self.stop.send(()).await;
        self.wait_for_exit().await;
    }
}

/// A program with everything that the system needs to start it.
#[derive(Serialize, Deserialize)]
struct PreparedCommand {
    program: PathBuf,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    confinement: Option<Confinement>,
    recording: Option<RecordingRequest>,
}

/// A program that has been started.
struct Started {
    pid: u32,
    sandbox: Option<EnforcedSandbox>,
}

async fn prepare_command(launch: &Launch, guard: &Guard) -> Result<PreparedCommand, SpawnError> {
    let mut env = environment::build_environment(&launch.env, guard.run_id()).await;
    let own_folder = launch.sandbox.as_ref().and_then(LaunchSandbox::home_folder);
    let cwd = launch
        .cwd
        .clone()
        .or_else(|| own_folder.is_none().then(home_dir).flatten())
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = cwd.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(SpawnError::FolderNotFound {
            folder: folder.display().to_string(),
        });
    }
    let path = env
        .get("PATH")
        .cloned()
        .expect("build_environment sets PATH");
    let folder = cwd
        .as_deref()
        .or(own_folder)
        .unwrap_or(Path::new("."))
        .to_owned();
    let program = find_program(&launch.command, &path, &folder).ok_or_else(|| {
        let command = launch.command.clone();
        // A command that names a folder is not searched for in the PATH.
        if Path::new(&command).components().nth(1).is_some() {
            SpawnError::ProgramNotFound { program: command }
        } else {
            SpawnError::CommandNotFound { command }
        }
    })?;
    let resolve = |sandbox| {
        sandbox::resolve(
            sandbox,
            &launch.env,
            &program,
            &launch.args,
            &folder,
            &mut env,
        )
    };
    let confinement = launch.sandbox.as_ref().map(resolve).transpose();
    let confinement = confinement.map_err(|failure| SpawnError::Sandbox {
        command: launch.command.clone(),
        failure,
    })?;
    let recording = launch.recording.as_ref().map(|_| RecordingRequest {
        system: sandbox::list_included_files(&program, &launch.args, &folder, &env),
        own_folder: own_folder.map(Path::to_owned),
        home: home_dir(),
    });
    Ok(PreparedCommand {
        program,
        args: launch.args.clone(),
        env,
        cwd: cwd.or_else(|| own_folder.map(Path::to_owned)),
        confinement,
        recording,
    })
}

/// Starts a program as a child of the hub.
fn spawn_directly(prepared: PreparedCommand) -> io::Result<(Tree, u32, Pipes)> {
    let mut command = Command::new(prepared.program);
    command
        .args(prepared.args)
        .env_clear()
        .envs(prepared.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(folder) = prepared.cwd {
        command.current_dir(folder);
    }
    let mut child = platform::in_own_tree(command).spawn()?;
    let pid = child.id().expect("nobody has waited for the process yet");
    let pipes = Pipes {
        stdin: child.stdin().take().expect("stdin is piped"),
        stdout: child.stdout().take().expect("stdout is piped"),
        stderr: child.stderr().take().expect("stderr is piped"),
    };
    Ok((Tree::Direct { pid, child }, pid, pipes))
}

/// Returns the file that a command starts.
fn find_program(command: &str, path: &str, folder: &Path) -> Option<PathBuf> {
    which::which_in(command, Some(path), folder).ok()
}

/// Runs work on the one thread for the output of servers, so that a server that writes without end
/// does not slow down calls.
pub fn spawn_on_log_thread<F: Future<Output: Send + 'static> + Send + 'static>(
    work: F,
) -> JoinHandle<F::Output> {
    static THREAD: OnceLock<Option<Runtime>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let built = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("server-logs")
            .enable_all()
            .build();
        built
            .inspect_err(|e| {
                tracing::warn!(
                    "The output of servers is read on the threads of calls, because a thread \
                     for it cannot be started: {e}"
                );
            })
            .ok()
    });
    match thread {
        Some(thread) => thread.spawn(work),
        None => tokio::spawn(work),
    }
}

fn home_dir() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// Owns the processes of a server until none of them is left, or the rest is abandoned.
async fn supervise(
    mut tree: Tree,
    pid: u32,
    stop_timeout: Duration,
    mut stop: mpsc::Receiver<()>,
    exit_sender: watch::Sender<Option<ProcessExit>>,
    guard: Guard,
) {
    let exit = tokio::select! {
        exit = tree.wait_for_leader() => exit,
        _ = stop.recv() => end_gracefully(&mut tree, stop_timeout)
            .await
            .unwrap_or(ProcessExit::Stopped),
    };
    // Processes that the server started may have outlived it.
    tree.kill();
    if timeout(EOF_TIMEOUT, tree.wait_until_gone()).await.is_err() {
        tree.abandon();
    }
    guard.unwatch(pid);
    let _ = exit_sender.send(Some(exit));
}

/// Waits for the server to end by itself after its stdin was closed. If the server does not end,
/// sends SIGTERM to its processes, and returns `None`.
async fn end_gracefully(tree: &mut Tree, stop_timeout: Duration) -> Option<ProcessExit> {
    // Wait for the leader only: its children may outlive it.
    let leader = timeout(EOF_TIMEOUT.min(stop_timeout), tree.wait_for_leader()).await;
    if let Ok(exit) = leader {
        return Some(exit);
    }
    tree.ask_to_end();
    // A timeout means that some processes are left, and the caller kills them.
    let _ = timeout(
        stop_timeout.saturating_sub(EOF_TIMEOUT),
        tree.wait_until_gone(),
    )
    .await;
    None
}
