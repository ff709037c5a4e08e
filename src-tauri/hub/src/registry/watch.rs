//! Watches the folder of specs.

use std::time::Duration;

use notify::{
    EventKind, RecommendedWatcher, RecursiveMode,
    event::{AccessKind, AccessMode},
};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};

use super::Registry;

/// Editors write a file in several steps. All events within this time count as one change.
const DEBOUNCE: Duration = Duration::from_millis(150);

/// A watch over the folder, which ends when it is dropped.
pub struct Watch(
    #[expect(dead_code, reason = "kept only so that its drop ends the watch")]
    Debouncer<RecommendedWatcher, RecommendedCache>,
);

/// Starts a watch that reloads the registry after each change.
pub(super) fn start(registry: Registry) -> notify::Result<Watch> {
    let folder = registry.folder().to_owned();
    let on_change = move |result: DebounceEventResult| {
        let has_change = result.map_or(true, |events| {
            events.iter().any(|event| is_change(&event.kind))
        });
        if has_change {
            registry.reload();
        }
    };
    let mut watcher = new_debouncer(DEBOUNCE, None, on_change)?;
    watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    Ok(Watch(watcher))
}

/// Returns whether the event is a change. The registry's own reads cause access events, so a reload
/// for each of these events would never end.
fn is_change(kind: &EventKind) -> bool {
    !kind.is_access() || *kind == EventKind::Access(AccessKind::Close(AccessMode::Write))
}
