//! Watches the folder of specs.

use std::time::Duration;

use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher};

use super::Registry;
use crate::file_watch::watch_in_batches;

/// The pause that ends a batch of events. Editors write a file in several steps.
const DEBOUNCE: Duration = Duration::from_millis(150);

/// A watch over the folder of specs. The watch ends when this value is dropped.
pub struct Watch(
    #[expect(dead_code, reason = "kept only so that its drop ends the watch")] RecommendedWatcher,
);

/// Starts a watch that reloads the registry after each batch of changes.
pub(super) fn start(registry: Registry) -> notify::Result<Watch> {
    let folder = registry.folder().to_owned();
    let mut watcher = watch_in_batches(DEBOUNCE, Config::default(), move |_| {
        registry.reload();
    })?;
    watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    Ok(Watch(watcher))
}
