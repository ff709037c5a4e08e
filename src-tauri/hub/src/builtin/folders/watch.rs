//! Watches the shared folders, and notifies Drawbridge of changes.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use drawbridge_model::shared_folder::SharedFolder;
use drawbridge_store::settings::Settings;
use notify::{
    Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind,
};
use rmcp::{RoleServer, model::ResourceUpdatedNotificationParam, service::Peer};
use tokio::sync::mpsc;

use super::Subscriptions;
use crate::file_watch::watch_in_batches;

/// The pause that ends a batch of events. Programs write a file in several steps.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// The most batches of changes that may wait. Further batches are dropped.
const MAX_BATCHES: usize = 64;

/// The changes in the shared folders that one batch of events reports.
#[derive(Debug, Default)]
struct Batch {
    /// The files whose contents may have changed.
    files: BTreeSet<PathBuf>,
    /// Whether files may have been added or removed.
    changes_list: bool,
}

/// Watches the shared folders, including folders that are shared later, until the task is aborted.
pub(super) async fn run(
    settings: Settings,
    subscriptions: Arc<Mutex<Subscriptions>>,
    peer: Peer<RoleServer>,
) {
    let mut changes = settings.changes();
    loop {
        let folders = settings.get().shared_folders.clone();
        let (sender, mut batches) = mpsc::channel(MAX_BATCHES);
        let watched = folders.clone();
        // Watching a large tree takes long, because each of its folders needs its own watch.
        let starting = tokio::task::spawn_blocking(move || start(&watched, sender));
        let _watch = starting.await.ok().flatten();
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    if settings.get().shared_folders != folders {
                        let _ = peer.notify_resource_list_changed().await;
                        break;
                    }
                }
                Some(batch) = batches.recv() => send_notifications(&batch, &subscriptions, &peer).await,
            }
        }
    }
}

async fn send_notifications(
    batch: &Batch,
    subscriptions: &Mutex<Subscriptions>,
    peer: &Peer<RoleServer>,
) {
    let uris: Vec<String> = {
        let subscriptions = subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        let subscribed = batch
            .files
            .iter()
            .filter_map(|file| subscriptions.0.get(file));
        subscribed.flatten().cloned().collect()
    };
    for uri in uris {
        let updated = ResourceUpdatedNotificationParam::new(uri);
        let _ = peer.notify_resource_updated(updated).await;
    }
    if batch.changes_list {
        let _ = peer.notify_resource_list_changed().await;
    }
}

/// Starts the watch, or returns `None` if the system has no more watchers. A single folder that
/// cannot be watched is logged. The files of all folders can still be read.
fn start(folders: &[SharedFolder], sender: mpsc::Sender<Batch>) -> Option<RecommendedWatcher> {
    let on_change = move |events: Vec<notify::Result<Event>>| {
        let mut batch = Batch::default();
        for event in events {
            match event {
                Ok(event) if !event.need_rescan() => batch.add(&event.kind, &event.paths),
                // Events were lost.
                Ok(_) | Err(_) => batch.changes_list = true,
            }
        }
        if batch.changes_list || !batch.files.is_empty() {
            let _ = sender.try_send(batch);
        }
    };
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = watch_in_batches(DEBOUNCE, config, on_change)
        .inspect_err(|error| tracing::warn!("shared folders: cannot watch for changes: {error}"))
        .ok()?;
    for folder in folders {
        if let Err(error) = watcher.watch(&folder.path, RecursiveMode::Recursive) {
            tracing::warn!(
                "shared folders: cannot watch {} for changes: {error}",
                folder.path.display()
            );
        }
    }
    Some(watcher)
}

impl Batch {
    fn add(&mut self, kind: &EventKind, paths: &[PathBuf]) {
        match kind {
            EventKind::Create(_)
            | EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Name(_)) => {
                self.changes_list = true;
            }
            EventKind::Any | EventKind::Other | EventKind::Access(_) | EventKind::Modify(_) => {}
        }
        self.files.extend(paths.iter().cloned());
    }
}
