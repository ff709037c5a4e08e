//! Reports changes of files in batches. The thread that collects them sleeps while nothing changes,
//! unlike those of the debouncers that belong to the crate `notify`, which wake up several times a
//! second.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use notify::{
    Config, Event, EventKind, RecommendedWatcher, Watcher,
    event::{AccessKind, AccessMode},
};

/// The number of pauses after which a batch ends even if further events follow without a pause.
const MAX_PAUSES: u32 = 5;

/// Returns a watcher without folders. It passes the changes in the folders that are added to it to
/// `on_change`, in batches: all changes between which there is no pause of this length, but at most
/// those of five pauses. An error in a batch may mean that changes were lost. After the watcher is
/// dropped, no further batch begins.
///
/// # Errors
/// Returns an error if the system has no more watchers or threads.
pub(crate) fn watch_in_batches(
    pause: Duration,
    config: Config,
    mut on_change: impl FnMut(Vec<notify::Result<Event>>) + Send + 'static,
) -> notify::Result<RecommendedWatcher> {
    let (sender, events) = channel();
    let on_event = move |event: notify::Result<Event>| {
        if event.as_ref().map_or(true, |event| is_change(&event.kind)) {
            // The receiver is dropped only if the thread cannot start.
            let _ = sender.send(event);
        }
    };
    let watcher = RecommendedWatcher::new(on_event, config)?;
    thread::Builder::new()
        .name("file-watch".to_owned())
        .spawn(move || {
            while let Some(batch) = receive_batch(&events, pause) {
                on_change(batch);
            }
        })?;
    Ok(watcher)
}

/// Returns true if the event is a change. Our own reads cause access events, and reading again
/// after each of them would never end.
fn is_change(kind: &EventKind) -> bool {
    !kind.is_access() || *kind == EventKind::Access(AccessKind::Close(AccessMode::Write))
}

/// Returns the next batch, or `None` after the watcher was dropped.
fn receive_batch<T>(events: &Receiver<T>, pause: Duration) -> Option<Vec<T>> {
    let mut batch = vec![events.recv().ok()?];
    let end = Instant::now() + pause * MAX_PAUSES;
    loop {
        let rest = end.saturating_duration_since(Instant::now());
        match events.recv_timeout(pause.min(rest)) {
            Ok(event) => batch.push(event),
            Err(RecvTimeoutError::Timeout) => return Some(batch),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        if Instant::now() >= end {
            return Some(batch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn events_without_a_pause_are_one_batch() {
        let (sender, events) = channel();
        for number in [1, 2, 3] {
            sender.send(number).expect("the receiver exists");
        }
        let batch = receive_batch(&events, Duration::from_millis(1));
        assert_eq!(batch, Some(vec![1, 2, 3]));
    }

    #[test]
    fn events_without_end_are_reported() {
        let (sender, events) = channel();
        let endless = thread::spawn(move || while sender.send(()).is_ok() {});
        assert!(receive_batch(&events, Duration::from_millis(1)).is_some());
        drop(events);
        endless.join().expect("the sender ends");
    }

    #[test]
    fn a_dropped_watcher_reports_nothing() {
        let (sender, events) = channel();
        sender.send(()).expect("the receiver exists");
        drop(sender);
        assert_eq!(receive_batch(&events, LONG), None);
        assert_eq!(receive_batch(&events, LONG), None);
    }
}
