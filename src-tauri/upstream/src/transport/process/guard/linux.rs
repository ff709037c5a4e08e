//! The guard on Linux: makes a supervisor for each server, and ends the processes that a killed
//! supervisor left and, when the hub has ended, all server processes that are left.

use std::{
    fs::File,
    io::{self, IoSlice, IoSliceMut, PipeReader, PipeWriter},
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    process::{Child, Command},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{Signal, kill},
        socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, close, dup2_stdin, fork},
};

use super::super::{
    descent, environment,
    supervisor::{self, Descriptors},
};
use super::GuardLink;

/// How long the supervisors may take to end their servers after the hub has ended.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the guard goes on killing the processes that are left, after the hub has ended.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const KILL_INTERVAL: Duration = Duration::from_millis(20);

/// A new supervisor, which waits for the server to start, and the hub's ends of the server's pipes.
pub(in super::super) struct NewSupervisor {
    pub(in super::super) control: UnixStream,
    pub(in super::super) stdin: PipeWriter,
    pub(in super::super) stdout: PipeReader,
    pub(in super::super) stderr: PipeReader,
}

impl NewSupervisor {
    /// Asks the guard to make a supervisor.
    pub(super) fn request(link: &mut GuardLink) -> io::Result<Self> {
        let (stdin_reader, stdin) = io::pipe()?;
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = io::pipe()?;
        let (control, supervisor_end) = UnixStream::pair()?;
        let passed = [
            stdin_reader.as_raw_fd(),
            stdout_writer.as_raw_fd(),
            stderr_writer.as_raw_fd(),
            supervisor_end.as_raw_fd(),
        ];
        sendmsg::<UnixAddr>(
            link.as_raw_fd(),
            &[IoSlice::new(b"s")],
            &[ControlMessage::ScmRights(&passed)],
            MsgFlags::MSG_NOSIGNAL,
            None,
        )?;
        Ok(Self {
            control,
            stdin,
            stdout,
            stderr,
        })
    }
}

pub(super) fn spawn_linked(mut command: Command) -> io::Result<(Child, GuardLink)> {
    let (link, stdin) = UnixStream::pair()?;
    let child = command.stdin(OwnedFd::from(stdin)).spawn()?;
    Ok((child, link))
}

/// Makes supervisors until the hub ends, then ends the server processes that are left.
pub(super) fn run_guard(run_id: &str) {
    let mut supervisors = Vec::new();
    // After a failure here, the guard still ends the servers that run.
    let _ = make_supervisors(&mut supervisors);
    end_processes(supervisors, run_id);
}

fn make_supervisors(supervisors: &mut Vec<Pid>) -> io::Result<()> {
    prctl::set_child_subreaper(true)?;
    supervisor::child_signals().thread_block()?;
    let signals = supervisor::open_child_signals()?;
    // The copy has close-on-exec. Only the guard may hold the socket, or else the hub would not
    // notice the guard's end.
    let link = io::stdin().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    loop {
        let mut ready = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(link.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [child_ended, is_link_ready] = ready.map(|fd| fd.any() == Some(true));
        if child_ended {
            signals.read_signal()?;
        }
        if reap(supervisors) {
            // A process that descends from the guard, but from none of these supervisors, has lost
            // its own supervisor.
            descent::signal_descendants(Pid::this(), Signal::SIGKILL, supervisors);
        }
        if is_link_ready {
            match receive_request(&link)? {
                Received::Server(descriptors) => {
                    supervisors.push(fork_supervisor(descriptors, &link)?);
                }
                Received::Nothing => {}
                Received::HubEnded => return Ok(()),
            }
        }
    }
}

enum Received {
    Server(Descriptors),
    Nothing,
    HubEnded,
}

fn receive_request(link: &OwnedFd) -> io::Result<Received> {
    let mut byte = [0];
    let mut buffer = nix::cmsg_space!([RawFd; 4]);
    let mut slices = [IoSliceMut::new(&mut byte)];
    let received = recvmsg::<UnixAddr>(
        link.as_raw_fd(),
        &mut slices,
        Some(&mut buffer),
        MsgFlags::MSG_CMSG_CLOEXEC,
    );
    let message = match received {
        Ok(message) if message.bytes == 0 => return Ok(Received::HubEnded),
        Ok(message) => message,
        Err(Errno::EINTR) => return Ok(Received::Nothing),
        Err(Errno::ECONNRESET) => return Ok(Received::HubEnded),
        Err(error) => return Err(error.into()),
    };
    let mut descriptors = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(received) = control {
            // SAFETY: the kernel has just opened these descriptors for this process, and nothing
            // else owns them.
            descriptors.extend(
                received
                    .into_iter()
                    .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }),
            );
        }
    }
    let Ok([stdin, stdout, stderr, control]) = <[OwnedFd; 4]>::try_from(descriptors) else {
        return Ok(Received::Nothing);
    };
    Ok(Received::Server(Descriptors {
        stdin,
        stdout,
        stderr,
        control,
    }))
}

/// Starts the supervisor of a server as a copy of the guard. A copy takes less memory and time than
/// another program would.
fn fork_supervisor(descriptors: Descriptors, link: &OwnedFd) -> io::Result<Pid> {
    // SAFETY: the guard has one thread, so no lock is held in the copy.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            // `link` is not closed a second time, because the copy never leaves this branch.
            let _ = close(link.as_raw_fd());
            let outcome = supervisor::run(descriptors);
            // SAFETY: ends the process. The functions that the program has registered for its exit
            // belong to the guard.
            unsafe { nix::libc::_exit(i32::from(outcome.is_err())) }
        }
    }
}

/// Reaps the children that have ended, and returns whether processes may be left. A supervisor that
/// succeeded has left no process.
fn reap(supervisors: &mut Vec<Pid>) -> bool {
    let mut may_be_left = false;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, 0)) if supervisors.contains(&pid) => {
                supervisors.retain(|supervisor| *supervisor != pid);
            }
            Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) => {
                supervisors.retain(|supervisor| *supervisor != pid);
                may_be_left = true;
            }
            Ok(WaitStatus::StillAlive) | Err(_) => return may_be_left,
            Ok(
                WaitStatus::Stopped(..)
                | WaitStatus::Continued(_)
                | WaitStatus::PtraceEvent(..)
                | WaitStatus::PtraceSyscall(_),
            ) => {}
        }
    }
}

/// Ends all server processes that are left. Each supervisor ends its own processes. The guard ends
/// the processes that a supervisor does not end, and the processes that have the variable of this
/// run but no longer descend from the guard.
fn end_processes(mut supervisors: Vec<Pid>, run_id: &str) {
    let begin = Instant::now();
    loop {
        reap(&mut supervisors);
        let now = Instant::now();
        let is_late = now > begin + SUPERVISOR_TIMEOUT;
        let spared: &[Pid] = if is_late { &[] } else { &supervisors };
        let signalled = descent::signal_descendants(Pid::this(), Signal::SIGKILL, spared);
        let remaining = if is_late {
            signalled
        } else {
            signalled + supervisors.len()
        };
        if remaining == 0 || now > begin + KILL_TIMEOUT {
            break;
        }
        std::thread::sleep(KILL_INTERVAL);
    }
    for pid in descent::find_by_variable(environment::RUN_ID_VARIABLE, run_id) {
        let _ = kill(pid, Signal::SIGKILL);
    }
}
