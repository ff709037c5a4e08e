//! Job Objects: the job ends with its last handle, and everything in it with the job.

use std::{io, process::ExitStatus};

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject};
use tokio::process::Command;

pub(super) fn in_own_tree(command: Command) -> CommandWrap {
    let mut wrap = CommandWrap::from(command);
    wrap.wrap(JobObject);
    wrap
}

pub(super) fn without_terminal(command: Command) -> CommandWrap {
    CommandWrap::from(command)
}

/// The process itself: waiting for the job would wait for what it started, too.
pub(super) fn leader(child: &mut dyn ChildWrapper) -> &mut dyn ChildWrapper {
    child.inner_mut()
}

/// Windows has no polite way for a process without a window; closing its stdin was one.
pub(super) fn ask_to_end(_pid: u32) {}

pub(super) fn kill_tree(_pid: u32, child: &mut dyn ChildWrapper) {
    let _ = child.start_kill();
}

pub(super) fn how_it_ended(status: io::Result<ExitStatus>) -> String {
    match status.map(|status| status.code()) {
        Ok(Some(code)) => format!("it ended with exit code {code}"),
        Ok(None) => "it ended".into(),
        Err(error) => format!("it ended: {error}"),
    }
}
