//! Process groups and signals.

use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus, sync::Arc};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup, ProcessSession};
use tokio::process::Command;

use super::ProcessExit;

/// Runs the command in a process group of its own.
pub(super) fn in_own_tree(command: Command) -> CommandWrap {
    let mut wrap = CommandWrap::from(command);
    wrap.wrap(ProcessGroup::leader());
    wrap
}

/// Runs the command in a session of its own: an interactive shell stops itself if the terminal
/// belongs to another process group.
pub(super) fn without_terminal(command: Command) -> CommandWrap {
    let mut wrap = CommandWrap::from(command);
    wrap.wrap(ProcessSession);
    wrap
}

/// Returns the process itself. Waiting for the group would also wait for the processes that it
/// started.
pub(super) fn leader(child: &mut dyn ChildWrapper) -> &mut dyn ChildWrapper {
    child.inner_mut()
}

pub(super) fn ask_to_end(pid: u32) {
    signal(pid, Signal::SIGTERM);
}

pub(super) fn kill_tree(pid: u32, _child: &mut dyn ChildWrapper) {
    signal(pid, Signal::SIGKILL);
}

pub(super) fn exit_from(status: io::Result<ExitStatus>) -> ProcessExit {
    match status.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => ProcessExit::Code(code),
        Ok((None, Some(signal))) => ProcessExit::Signal(signal),
        Ok((None, None)) => ProcessExit::Unknown,
        Err(error) => ProcessExit::Unreadable(Arc::new(error)),
    }
}

/// Sends a signal to the leader's group. Group 0 would be Drawbridge's own, and group 1 the
/// system's.
fn signal(pid: u32, signal: Signal) {
    if let Some(group) = i32::try_from(pid).ok().filter(|pid| *pid > 1) {
        let _ = killpg(Pid::from_raw(group), signal);
    }
}
