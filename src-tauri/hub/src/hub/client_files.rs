//! Keeps the entries of Drawbridge in clients' files up to date: rewrites an entry that Drawbridge
//! would now write differently, and notices when another program changes or removes an entry.
//! Restores a changed or removed entry if the user chose this for the entry.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use drawbridge_client_config::{AskOnce, Plan};
use drawbridge_model::{
    audit::AuditKind,
    capability::CapabilityKind,
    client_file::{ClientAction, ClientFileState, ClientTransport},
    ids::ClientName,
    random,
};
use drawbridge_sessions::ClientScope;
use drawbridge_store::table::client_file::{ClientChangeRow, ClientFileRow};
use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher};
use serde_json::json;
use tokio::{sync::Notify, time::Instant};

use super::Hub;
use crate::{
    clients::{
        self,
        configs::{self, ConfigError, EntryTarget, Preview, run_blocking},
    },
    error::ApiError,
    file_watch::watch_in_batches,
};

/// The pause that ends a batch of events. Programs write a file in several steps.
const DEBOUNCE: Duration = Duration::from_millis(300);

/// An entry that was restored this often within [`RESTORE_PERIOD`] is not written again in this
/// period, because another program seems to change or remove the entry each time.
const MAX_RESTORES: usize = 3;
const RESTORE_PERIOD: Duration = Duration::from_secs(600);

/// The last known states of the managed entries, and the times at which entries were restored, both
/// by the paths of the entries' files.
#[derive(Default)]
struct EntryHistory {
    states: BTreeMap<String, ClientFileState>,
    restored_at: BTreeMap<String, Vec<Instant>>,
}

/// The files of a client that got its new token, and the files that did not.
#[derive(Default)]
pub(crate) struct WrittenToken {
    pub(crate) updated: Vec<String>,
    /// The files that could not be changed, and why.
    pub(crate) failed: Vec<(String, String)>,
}

impl Hub {
    /// Watches the entries in clients' files from now on. Updates and restores them only if
    /// `may_write` is set.
    pub fn maintain_client_files(self: &Arc<Self>, may_write: bool) {
        let task = maintain_entries(Arc::downgrade(self), may_write);
        self.background().tasks.spawn(task);
    }

    /// Records a change of clients' files in the audit log.
    pub(crate) fn record_client_change(&self, change: &ClientChangeRow) {
        let note = json!({
            "change": change.id,
            "action": change.action,
            "client": change.kind,
            "files": change.files,
            "undone": change.undone_at.is_some(),
        });
        self.store
            .append_audit(AuditKind::ClientFilesChanged, &note);
    }

    /// Returns the settings with which a client leaves approval to Drawbridge.
    pub(crate) fn ask_once(&self, client: &ClientName) -> AskOnce {
        let view = self.catalog.client_view(client, &ClientScope::ALL);
        let tools = view.entries(CapabilityKind::Tools).iter();
        AskOnce {
            tools: tools.map(|entry| entry.exposed_name.clone()).collect(),
        }
    }

    /// Writes the new token of a client to the files that Drawbridge manages for the client. If one
    /// file cannot be changed, the others are changed all the same.
    pub(crate) async fn write_client_token(
        &self,
        client: &ClientName,
        token: &str,
    ) -> WrittenToken {
        let mut written = WrittenToken::default();
        for row in self.client_configs.all_managed() {
            if row.client != *client || row.transport != ClientTransport::Http {
                continue;
            }
            match self
                .rewrite_entry(&row, Some(token), ClientAction::Connect)
                .await
            {
                Ok(()) => written.updated.push(row.path),
                Err(error) => written.failed.push((row.path, error.to_string())),
            }
        }
        written
    }

    /// Updates and restores entries, and publishes an event if the state of an entry has changed.
    async fn check_client_files(&self, may_write: bool, history: &mut EntryHistory) {
        let mut has_changed = false;
        for row in self.client_configs.all_managed() {
            let mut state = self.client_file_state(&row).await;
            if may_write && is_to_be_written(&row, state) && history.may_restore(&row.path) {
                match self.rewrite_entry(&row, None, ClientAction::Restore).await {
                    Ok(()) => {
                        if state != ClientFileState::Outdated {
                            history.note_restore(&row.path);
                        }
                        tracing::info!("the entry of Drawbridge in {} was written again", row.path);
                        state = ClientFileState::Connected;
                        has_changed = true;
                    }
                    Err(error) => tracing::warn!(
                        "cannot restore the entry of Drawbridge in {}: {error}",
                        row.path
                    ),
                }
            }
            let before = history.states.insert(row.path.clone(), state);
            if before.is_some_and(|before| before != state) {
                has_changed = true;
            }
            if before != Some(state)
                && matches!(state, ClientFileState::Changed | ClientFileState::Removed)
            {
                tracing::warn!(
                    "another program has changed or removed the entry of Drawbridge in {}; the Clients screen offers to restore it",
                    row.path
                );
            }
        }
        if has_changed {
            self.client_configs.publish_change();
        }
    }

    async fn client_file_state(&self, row: &ClientFileRow) -> ClientFileState {
        let connection = self.client_connection(&row.client, None);
        let ask_once = self.ask_once(&row.client);
        let Some(target) = EntryTarget::of_row(row, connection) else {
            return ClientFileState::Broken;
        };
        let row = row.clone();
        run_blocking(move || {
            let EntryTarget {
                kind,
                file,
                connection,
                ..
            } = target;
            configs::inspect_entry(kind, &file, &connection, Some(&row), Some(&ask_once)).state
        })
        .await
        .unwrap_or(ClientFileState::Broken)
    }

    /// Writes a managed entry again.
    ///
    /// # Errors
    /// Returns an error if this version does not know the kind of client, if the user has no home
    /// folder, or if the file cannot be read or written.
    async fn rewrite_entry(
        &self,
        row: &ClientFileRow,
        token: Option<&str>,
        action: ClientAction,
    ) -> Result<(), ApiError> {
        let connection = self.client_connection(&row.client, token);
        let ask_once = row.asks_once.then(|| self.ask_once(&row.client));
        let target = EntryTarget::of_row(row, connection).ok_or_else(|| {
            ApiError::unavailable(format!(
                "this version of Drawbridge does not know the client '{}'",
                row.kind
            ))
        })?;
        let machine = clients::machine(&BTreeMap::new()).ok_or_else(|| {
            ApiError::unavailable(
                "the home folder is unknown; set HOME, and start Drawbridge again",
            )
        })?;
        let (plan, target) = run_blocking(move || {
            let EntryTarget {
                kind,
                file,
                connection,
                ..
            } = &target;
            let plan = Plan::connect(kind, &machine, file, connection, ask_once.as_ref());
            (plan, target)
        })
        .await?;
        let plan = plan.map_err(ConfigError::from)?;
        let preview = Preview {
            id: random::id(),
            plan,
            action,
            kind: Some(target.kind.id),
            connected: vec![target],
            disconnected: Vec::new(),
            new_client: None,
            imported: Vec::new(),
        };
        let restores = row.restores;
        let change = self
            .client_configs
            .apply(preview, Vec::new(), Vec::new(), restores)
            .await?;
        self.record_client_change(&change);
        Ok(())
    }
}

impl EntryHistory {
    /// Returns whether an entry may be restored, that is, whether it was not restored too often.
    fn may_restore(&mut self, path: &str) -> bool {
        let Some(times) = self.restored_at.get_mut(path) else {
            return true;
        };
        times.retain(|time| time.elapsed() < RESTORE_PERIOD);
        times.len() < MAX_RESTORES
    }

    fn note_restore(&mut self, path: &str) {
        let times = self.restored_at.entry(path.to_owned()).or_default();
        times.push(Instant::now());
    }
}

/// Returns whether to write an entry without asking a person. An entry for HTTP is never written,
/// because it contains a token, which Drawbridge does not store.
fn is_to_be_written(row: &ClientFileRow, state: ClientFileState) -> bool {
    row.transport == ClientTransport::Bridge
        && match state {
            ClientFileState::Outdated => true,
            ClientFileState::Changed | ClientFileState::Removed => row.restores,
            ClientFileState::NotConnected
            | ClientFileState::Connected
            | ClientFileState::Broken => false,
        }
}

/// Checks the managed entries at once and after each change. Runs until the hub aborts the task or
/// is dropped.
async fn maintain_entries(hub: Weak<Hub>, may_write: bool) {
    let Some(mut managed) = hub
        .upgrade()
        .map(|hub| hub.client_configs.managed_changes())
    else {
        return;
    };
    let changed = Arc::new(Notify::new());
    let mut history = EntryHistory::default();
    let mut watched = BTreeSet::new();
    let mut _watch = None;
    loop {
        let Some(strong) = hub.upgrade() else { return };
        let folders = watched_folders(&strong.client_configs.all_managed());
        if folders != watched {
            _watch = start_watch(&folders, changed.clone());
            watched = folders;
        }
        strong.check_client_files(may_write, &mut history).await;
        drop(strong);
        tokio::select! {
            () = changed.notified() => {}
            result = managed.changed() => if result.is_err() { return },
        }
    }
}

/// Returns the folders of managed files and, if a file is a link, also the folder of its target.
fn watched_folders(rows: &[ClientFileRow]) -> BTreeSet<PathBuf> {
    rows.iter()
        .flat_map(|row| {
            let path = Path::new(&row.path);
            let target = path.canonicalize().ok();
            [Some(path.to_owned()), target]
        })
        .flatten()
        .filter_map(|path| Some(path.parent()?.to_owned()))
        .collect()
}

fn start_watch(folders: &BTreeSet<PathBuf>, changed: Arc<Notify>) -> Option<RecommendedWatcher> {
    if folders.is_empty() {
        return None;
    }
    let mut watch = watch_in_batches(DEBOUNCE, Config::default(), move |_| changed.notify_one())
        .inspect_err(|error| tracing::warn!("cannot watch the files of clients: {error}"))
        .ok()?;
    for folder in folders {
        if let Err(error) = watch.watch(folder, RecursiveMode::NonRecursive) {
            tracing::warn!("cannot watch {}: {error}", folder.display());
        }
    }
    Some(watch)
}
