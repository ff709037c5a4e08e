//! The queues of observing hooks: each hook has one, and runs its events one after another, so that
//! a slow hook holds up nobody else, and gets its events in order.

use std::sync::Arc;

use drawbridge_model::{
    hook::{Hook, HookEffect},
    ids::Timestamp,
};
use serde_json::value::RawValue;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    task::JoinSet,
};

use super::{
    payload::Envelope,
    runner::{Occasion, PreparedHook, Runner},
};

/// The most events of one hook that may wait.
const MAX_QUEUED: usize = 64;
/// The most bytes of one hook's events that may wait.
const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;

/// A hook with the queue of its events.
pub(super) struct LoadedHook {
    pub(super) prepared: Arc<PreparedHook>,
    runner: Arc<Runner>,
    queue: mpsc::Sender<Queued>,
    budget: Arc<Semaphore>,
    /// Dropping it ends the run that is in progress.
    _worker: JoinSet<()>,
}

enum Queued {
    Run {
        occasion: Occasion,
        input: String,
        _bytes: OwnedSemaphorePermit,
    },
    /// Signals that everything before it has run.
    Flush(oneshot::Sender<()>),
}

impl LoadedHook {
    /// Starts the queue of a hook.
    pub(super) fn start(hook: Hook, runner: &Arc<Runner>) -> Self {
        let (queue, queued) = mpsc::channel(MAX_QUEUED);
        let prepared = Arc::new(PreparedHook::new(hook));
        let mut worker = JoinSet::new();
        worker.spawn(run_queued(prepared.clone(), runner.clone(), queued));
        Self {
            prepared,
            runner: runner.clone(),
            queue,
            budget: Arc::new(Semaphore::new(MAX_QUEUED_BYTES)),
            _worker: worker,
        }
    }

    /// Queues an event for the hook. If too much waits, the event is dropped and counted.
    pub(super) fn observe(&self, occasion: &Occasion, at: Timestamp, payload: &RawValue) {
        let input = Envelope::write(&self.prepared.hook, occasion.event, at, payload);
        let bytes = u32::try_from(input.len()).unwrap_or(u32::MAX);
        let permit = self.budget.clone().try_acquire_many_owned(bytes);
        let is_queued = permit.is_ok_and(|permit| {
            let run = Queued::Run {
                occasion: occasion.clone(),
                input,
                _bytes: permit,
            };
            self.queue.try_send(run).is_ok()
        });
        if is_queued {
            return;
        }
        let name = &self.prepared.hook.name;
        let dropped = self.runner.count_dropped(name);
        // Logged less and less often, so that a slow hook does not fill the log.
        if dropped.is_power_of_two() {
            tracing::warn!(
                "hook {name}: it is too slow, and has missed {dropped} events since Drawbridge started"
            );
        }
    }

    /// Waits until the events that are queued now have run.
    pub(super) async fn flush(&self) {
        let (flushed, wait) = oneshot::channel();
        if self.queue.send(Queued::Flush(flushed)).await.is_ok() {
            let _ = wait.await;
        }
    }
}

async fn run_queued(
    hook: Arc<PreparedHook>,
    runner: Arc<Runner>,
    mut queued: mpsc::Receiver<Queued>,
) {
    while let Some(next) = queued.recv().await {
        match next {
            Queued::Run {
                occasion, input, ..
            } => {
                let ignore = |_: &[u8]| Ok(());
                let observed = |(): &()| (HookEffect::Continued, String::new());
                // The runner has logged and counted a failure.
                let _ = runner.run(&hook, &occasion, &input, ignore, observed).await;
            }
            Queued::Flush(flushed) => {
                let _ = flushed.send(());
            }
        }
    }
}
