//! Job Objects. A job ends when its last handle is closed, and the processes of the job end with
//! it. When the hub ends, the system closes the hub's handles.

use std::{io, process::ExitStatus, sync::Arc};

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::Command;

use super::ProcessExit;

/// Runs the command in a Job Object of its own.
pub(super) fn in_own_tree(command: Command) -> CommandWrap {
    let mut wrap = CommandWrap::from(command);
    // Without `KillOnDrop`, the job would not end its processes.
    wrap.wrap(KillOnDrop);
    wrap.wrap(JobObject);
    wrap
}

pub(super) fn without_terminal(command: Command) -> CommandWrap {
    CommandWrap::from(command)
}

/// Returns the process itself. Waiting for the job would also wait for the processes that it
/// started.
pub(super) fn leader(child: &mut dyn ChildWrapper) -> &mut dyn ChildWrapper {
    child.inner_mut()
}

/// Does nothing: Windows has no graceful signal for a process without a window. The closed stdin
/// has already asked the process to end.
pub(super) fn ask_to_end(_pid: u32) {}

pub(super) fn kill_tree(_pid: u32, child: &mut dyn ChildWrapper) {
    let _ = child.start_kill();
}

pub(super) fn exit_from(status: io::Result<ExitStatus>) -> ProcessExit {
    match status.map(|status| status.code()) {
        Ok(Some(code)) => ProcessExit::Code(code),
        Ok(None) => ProcessExit::Unknown,
        Err(error) => ProcessExit::Unreadable(Arc::new(error)),
    }
}
