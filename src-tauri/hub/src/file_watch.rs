//! Reports changes of files in batches. No thread wakes up while no file changes, unlike the
//! threads of the debouncers that belong to the crate `notify`, which wake up several times a
//! second.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use notify::{
    Config, Event, EventKind, RecommendedWatcher, Watcher,
    event::{AccessKind, AccessMode, Flag},
};
use tokio::{
    sync::mpsc,
    task::spawn_blocking,
    time::{Instant, sleep_until, timeout},
};

/// The number of pauses after which a batch ends even if further events follow without a pause.
const MAX_PAUSES: u32 = 5;
/// The maximum number of events that may wait for their batch. Further events are dropped, and the
/// batch then contains an event that says so.
const MAX_WAITING: usize = 1_024;
/// The maximum number of events of a batch.
const MAX_BATCH: usize = 16 * MAX_WAITING;

/// Returns a watcher, to which the caller adds folders. The watcher passes the changes in them to
/// `on_change`, in batches. A batch ends when no change follows within `pause`, after five times
/// this pause, or when it is full. If events were lost, the batch contains an error or an event
/// that asks for a rescan. `on_change` may block. After the watcher is dropped, no further batch
/// begins.
///
/// # Errors
/// Returns an error if the system has no more watchers.
///
/// # Panics
/// Panics outside a Tokio runtime.
pub(crate) fn watch_in_batches(
    pause: Duration,
    config: Config,
    mut on_change: impl FnMut(Vec<notify::Result<Event>>) + Send + 'static,
) -> notify::Result<RecommendedWatcher> {
    let (sender, mut events) = mpsc::channel(MAX_WAITING);
    let has_lost_events = Arc::new(AtomicBool::new(false));
    let lost = has_lost_events.clone();
    let on_event = move |event: notify::Result<Event>| {
        let is_change = event.as_ref().map_or(true, |event| is_change(&event.kind));
        if is_change && sender.try_send(event).is_err() {
            lost.store(true, Ordering::Release);
        }
    };
    let watcher = RecommendedWatcher::new(on_event, config)?;
    tokio::spawn(async move {
        while let Some(mut batch) = receive_batch(&mut events, pause).await {
            if has_lost_events.swap(false, Ordering::AcqRel) {
                batch.push(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
            }
            let reporting = spawn_blocking(move || {
                on_change(batch);
                on_change
            });
            // The panic hook has reported the panic of `on_change`. The watch ends.
            let Ok(returned) = reporting.await else {
                return;
            };
            on_change = returned;
        }
    });
    Ok(watcher)
}

/// Returns whether the event is a change. Drawbridge's own reads cause access events, so reading
/// again after each of these events would never end.
fn is_change(kind: &EventKind) -> bool {
    !kind.is_access() || *kind == EventKind::Access(AccessKind::Close(AccessMode::Write))
}

/// Returns the next batch, or `None` if the watcher was dropped.
async fn receive_batch<T>(events: &mut mpsc::Receiver<T>, pause: Duration) -> Option<Vec<T>> {
    let mut batch = vec![events.recv().await?];
    let end = Instant::now() + pause * MAX_PAUSES;
    while batch.len() < MAX_BATCH {
        let next = tokio::select! {
            biased;
            () = sleep_until(end) => break,
            next = timeout(pause, events.recv()) => next,
        };
        match next {
            Ok(Some(event)) => batch.push(event),
            Ok(None) => return None,
            Err(_) => break,
        }
    }
    Some(batch)
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    const PAUSE: Duration = Duration::from_millis(100);

    #[tokio::test(start_paused = true)]
    async fn events_without_a_pause_are_one_batch() {
        let (sender, mut events) = mpsc::channel(MAX_WAITING);
        let sending = async {
            for (number, wait) in [(1, 0), (2, 90), (3, 90), (4, 110)] {
                sleep(Duration::from_millis(wait)).await;
                sender.try_send(number).expect("there is space");
            }
        };
        let receiving = async {
            [
                receive_batch(&mut events, PAUSE).await,
                receive_batch(&mut events, PAUSE).await,
            ]
        };
        let (batches, ()) = tokio::join!(receiving, sending);
        assert_eq!(batches, [Some(vec![1, 2, 3]), Some(vec![4])]);
    }

    #[tokio::test(start_paused = true)]
    async fn events_without_end_are_reported_after_five_pauses() {
        let (sender, mut events) = mpsc::channel(MAX_WAITING);
        tokio::spawn(async move {
            while sender.send(()).await.is_ok() {
                sleep(PAUSE / 2).await;
            }
        });
        let begin = Instant::now();
        assert!(receive_batch(&mut events, PAUSE).await.is_some());
        assert_eq!(begin.elapsed(), PAUSE * MAX_PAUSES);
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_has_a_limited_number_of_events() {
        let (sender, mut events) = mpsc::channel(MAX_WAITING);
        tokio::spawn(async move { while sender.send(()).await.is_ok() {} });
        let batch = receive_batch(&mut events, PAUSE).await;
        assert_eq!(batch.map(|batch| batch.len()), Some(MAX_BATCH));
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_watcher_reports_nothing() {
        let (sender, mut events) = mpsc::channel(MAX_WAITING);
        sender.try_send(()).expect("there is space");
        drop(sender);
        assert_eq!(receive_batch(&mut events, PAUSE).await, None);
    }
}
