//! The thread of all tasks: the hub, its endpoint and the controller. The main thread belongs to the
//! windows.

use std::{io, sync::mpsc, thread, time::Duration};

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
    /// Closed when the thread has ended.
    ended: mpsc::Receiver<()>,
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
        let (end, ended) = mpsc::channel();
        thread::Builder::new().name("tasks".into()).spawn(move || {
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(STOP_WITHIN);
            drop(end);
        })?;
        Ok(Self {
            runtime: handle,
            stop,
            ended,
        })
    }

    /// Drops all tasks. Returns when the thread has ended, or after two seconds: a task that waits
    /// for the main thread would otherwise keep the app from ending.
    pub(crate) fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.ended.recv_timeout(2 * STOP_WITHIN);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::TaskThread;

    #[test]
    fn the_app_ends_even_if_a_task_waits_for_the_main_thread() {
        let tasks = TaskThread::start().expect("the thread starts");
        let (started, is_started) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        tasks.runtime.spawn(async move {
            started.send(()).expect("the test waits");
            let _ = released.recv();
        });
        is_started.recv().expect("the task runs");
        tasks.stop();
        drop(release);
    }

    #[test]
    fn tasks_are_dropped_when_the_thread_stops() {
        let tasks = TaskThread::start().expect("the thread starts");
        let (held, dropped) = mpsc::channel::<()>();
        tasks.runtime.spawn(async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        tasks.stop();
        assert!(dropped.recv().is_err(), "the task is dropped");
    }
}
