//! Runs hooks on events without letting a call wait: an observing hook on all its events, and a
//! blocking hook only on the calls that ended without a result. Each hook has its own queue and
//! runs on one queued event after another, so that the hook gets these events in order, and a slow
//! hook delays nothing else.

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
    runner::{HookTrigger, PreparedHook, Runner},
};

/// The maximum number of events in the queue of one hook.
const MAX_QUEUED: usize = 64;
/// The maximum size of the events in the queue of one hook, in bytes, including the event on which
/// the hook runs.
const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;

/// A hook with the queue of its events.
pub(super) struct LoadedHook {
    pub(super) prepared: Arc<PreparedHook>,
    runner: Arc<Runner>,
    queue: mpsc::Sender<Queued>,
    /// The bytes that may still be queued.
    budget: Arc<Semaphore>,
    /// The task that runs the hook on the queued events. Dropping the task ends a run that is in
    /// progress.
    _worker: JoinSet<()>,
}

enum Queued {
    Run {
        trigger: HookTrigger,
        input: String,
        _bytes: OwnedSemaphorePermit,
    },
    /// Asks for a signal as soon as the hook has run on all events before this entry.
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

    /// Queues an event for the hook. If the queue is full, the event is dropped and counted.
    pub(super) fn observe(&self, trigger: &HookTrigger, at: Timestamp, payload: &RawValue) {
        let input = Envelope::encode(&self.prepared.hook, trigger.event, at, payload);
        let bytes = u32::try_from(input.len()).unwrap_or(u32::MAX);
        let permit = self.budget.clone().try_acquire_many_owned(bytes);
        let is_queued = permit.is_ok_and(|permit| {
            let run = Queued::Run {
                trigger: trigger.clone(),
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
        // Warns less and less often, so that a slow hook does not fill the log.
        if dropped.is_power_of_two() {
            tracing::warn!(
                "hook {name} misses events, because its queue has no room: {dropped} since Drawbridge started"
            );
        }
    }

    /// Waits until the hook has run on all events that are in its queue now.
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
            Queued::Run { trigger, input, .. } => {
                let ignore = |_: &[u8]| Ok(());
                let observed = |(): &()| (HookEffect::Continued, String::new());
                // The runner logs and counts a failure.
                let _ = runner.run(&hook, &trigger, &input, ignore, observed).await;
            }
            Queued::Flush(flushed) => {
                let _ = flushed.send(());
            }
        }
    }
}
