//! The thread of all tasks: the hub, its endpoint and the controller. The main thread belongs to the
//! windows.

use std::{io, thread, time::Duration};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// How long code that blocks may take to end when the tasks are stopped.
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// A running thread of tasks. As in the command, one thread runs all tasks: several threads would
/// hand each call from one to another.
pub(crate) struct TaskThread {
    pub(crate) runtime: Handle,
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl TaskThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// Returns an error if the system refuses the thread or what the runtime needs.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("tasks".into()).spawn(move || {
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(STOP_WITHIN);
        })?;
        Ok(Self {
            runtime: handle,
            stop,
            thread,
        })
    }

    /// Drops all tasks, and returns when the thread has ended.
    pub(crate) fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}
