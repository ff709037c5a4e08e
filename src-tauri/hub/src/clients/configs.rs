//! The entries of Drawbridge in the configuration files of clients. This module says which state an
//! entry has, keeps previews of changes, makes and records the changes, and undoes them.

use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drawbridge_client_config::{
    AskOnce, BackupError, Backups as _, Client, ConfigFile, Connection, FileScope, FileState,
    FoundServer, Plan, PlanError, Receipt, Transport, UndoneFile, find_client,
};
use drawbridge_model::{
    client_file::{ClientAction, ClientFileState, ClientTransport},
    clock,
    event::{Event, Events},
    ids::{ClientName, ServerId},
    random,
};
use drawbridge_store::{
    Store, StoreError,
    secrets::Secrets,
    table::client_file::{ClientChangeRow, ClientFileRow},
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::vault::{KeyError, Vault};
use crate::access::RemovableToken;

/// The most previews that are kept until a person agrees to them.
const MAX_PREVIEWS: usize = 16;

/// The reason why files were not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("these changes were made already, or are too old; review the changes again")]
    UnknownPreview,
    #[error(
        "'id' names the preview of another kind of change; `config.import` imports servers, and `config.apply` makes the other changes"
    )]
    WrongPreview,
    #[error("there is no change '{0}'")]
    UnknownChange(String),
    #[error("the change '{0}' was undone already")]
    AlreadyUndone(String),
    #[error("Drawbridge has changed no file of '{0}' that it could restore")]
    NothingToUndo(String),
    #[error("there is no import to undo")]
    NoImport,
    #[error("Drawbridge does not manage an entry in {0}")]
    NotManaged(String),
    #[error(
        "Drawbridge cannot restore an entry that contains a token, because it does not store the token; connect without a token to have the entry restored, or repair the entry yourself if another program removes or changes it"
    )]
    RestoreNeedsToken,
    #[error("the files were not changed, because a task of Drawbridge has failed; see the log")]
    TaskFailed,
}

/// A file of a client, and how the client reaches Drawbridge through the file's entry.
#[derive(Clone)]
pub struct EntryTarget {
    /// The kind of client that reads the file.
    pub kind: &'static Client,
    pub file: ConfigFile,
    /// The folder of the project to which the file belongs; `None` if the file is for all projects.
    pub project: Option<PathBuf>,
    pub connection: Connection,
    pub transport: ClientTransport,
    pub asks_once: bool,
}

/// Changes that wait for a person's consent.
pub struct Preview {
    pub id: String,
    pub plan: Plan,
    pub action: ClientAction,
    /// The kind of client; `None` for an import.
    pub kind: Option<&'static str>,
    /// The files that have an entry of Drawbridge after the change.
    pub connected: Vec<EntryTarget>,
    /// The files from which the change removes Drawbridge's entry.
    pub disconnected: Vec<PathBuf>,
    /// The client that gets a token for the change.
    pub new_client: Option<NewClient>,
    /// The servers to add, each with the values that the person gave for its inputs.
    pub imported: Vec<(FoundServer, BTreeMap<String, String>)>,
}

impl Preview {
    /// Checks that the files are still as the preview shows them, and can be written.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written, or has changed.
    pub async fn check_files(&mut self) -> Result<(), ConfigError> {
        let plan = std::mem::take(&mut self.plan);
        let (plan, result) = run_blocking(move || {
            let result = plan.check_files();
            (plan, result)
        })
        .await?;
        self.plan = plan;
        Ok(result?)
    }
}

/// A client that gets a token for a change.
pub struct NewClient {
    pub name: ClientName,
    /// The token, which the plan writes into the files.
    pub token: String,
    /// Whether the client already has a token, which the new token replaces.
    pub replaces_token: bool,
    /// Whether the client existed before without a token, because it used the bridge.
    pub existed: bool,
}

/// The part of a change that may contain secrets.
#[derive(Serialize, Deserialize)]
struct ChangeDetails {
    receipt: Receipt,
    /// The managed entries of the files before the change.
    rows_before: Vec<ClientFileRow>,
    /// The client that got a token for the change, unless it had a token before. The token is in
    /// the files.
    new_client: Option<ClientName>,
    /// Whether this client existed before without a token.
    #[serde(default)]
    client_existed: bool,
    /// The tokens that the entries had before the change. A token may have become invalid, because
    /// no entry has it any more.
    #[serde(default)]
    replaced_tokens: Vec<RemovableToken>,
}

/// A change that was undone.
pub struct UndoneChange {
    pub change: ClientChangeRow,
    pub files: Vec<UndoneFile>,
    /// The client that got a token for the change, unless it had a token before.
    pub new_client: Option<ClientName>,
    /// Whether this client existed before without a token.
    pub client_existed: bool,
    /// The tokens that the entries had before the change.
    pub replaced_tokens: Vec<RemovableToken>,
}

/// The managed entries, and the previews that wait for a person's consent. Cheap to clone.
#[derive(Clone)]
pub struct ClientConfigs(Arc<Inner>);

struct Inner {
    store: Store,
    secrets: Secrets,
    events: Events,
    backups: PathBuf,
    state: Mutex<State>,
    /// Held while files or their rows are changed, so that two changes of one file exclude each
    /// other.
    write_lock: tokio::sync::Mutex<()>,
    /// When the list of managed files changes, notifies the task that watches these files.
    managed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, ClientFileRow>,
    previews: VecDeque<Preview>,
}

impl ClientConfigs {
    /// Reads the managed entries.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn load(
        store: Store,
        secrets: Secrets,
        events: Events,
        backups: PathBuf,
    ) -> Result<Self, StoreError> {
        let rows = store.client_files().await?;
        let files = rows.into_iter().map(|row| (row.path.clone(), row));
        let state = State {
            files: files.collect(),
            previews: VecDeque::new(),
        };
        Ok(Self(Arc::new(Inner {
            store,
            secrets,
            events,
            backups,
            state: Mutex::new(state),
            write_lock: tokio::sync::Mutex::default(),
            managed: watch::Sender::default(),
        })))
    }

    /// Returns the managed entry in a file.
    pub fn managed(&self, path: &Path) -> Option<ClientFileRow> {
        self.lock().files.get(path_text(path).as_str()).cloned()
    }

    /// Returns all managed entries.
    pub fn all_managed(&self) -> Vec<ClientFileRow> {
        self.lock().files.values().cloned().collect()
    }

    /// Returns a receiver that is notified when the managed entries change.
    pub fn managed_changes(&self) -> watch::Receiver<()> {
        self.0.managed.subscribe()
    }

    /// Returns how many seconds a client that asks once waits for Drawbridge's answers: the
    /// shortest time that Drawbridge wrote into the client's files, or `None` if none of these files
    /// has a setting for this time.
    pub fn ask_once_wait(&self, client: &ClientName) -> Option<u64> {
        let state = self.lock();
        let rows = state.files.values();
        rows.filter(|row| row.client == *client && row.asks_once)
            .filter_map(|row| find_client(&row.kind)?.ask_once_wait())
            .min()
    }

    /// Returns the managed entries with the token of a client.
    pub fn entries_with_token(&self, client: &ClientName) -> Vec<ClientFileRow> {
        let state = self.lock();
        let rows = state.files.values();
        rows.filter(|row| row.client == *client && row.transport == ClientTransport::Http)
            .cloned()
            .collect()
    }

    /// Returns the managed entries with a token that a change replaces or removes.
    pub fn replaced_entries_with_token(&self, preview: &Preview) -> Vec<ClientFileRow> {
        let connected = preview.connected.iter().map(|target| &target.file.path);
        connected
            .chain(&preview.disconnected)
            .filter_map(|path| self.managed(path))
            .filter(|row| row.transport == ClientTransport::Http)
            .collect()
    }

    /// Keeps a preview until a person agrees. If there are too many previews, drops the oldest.
    pub fn keep_preview(&self, preview: Preview) {
        let mut state = self.lock();
        state.previews.push_back(preview);
        while state.previews.len() > MAX_PREVIEWS {
            state.previews.pop_front();
        }
    }

    /// Takes a preview out, so that it can be used only once. `accepts` says whether the caller
    /// makes changes of this kind.
    ///
    /// # Errors
    /// Returns an error if there is no preview with this id, or if it is the preview of another
    /// kind of change. The preview is then kept.
    pub fn take_preview(
        &self,
        id: &str,
        accepts: impl FnOnce(ClientAction) -> bool,
    ) -> Result<Preview, ConfigError> {
        let mut state = self.lock();
        let position = state.previews.iter().position(|preview| preview.id == id);
        let position = position.ok_or(ConfigError::UnknownPreview)?;
        if !accepts(state.previews[position].action) {
            return Err(ConfigError::WrongPreview);
        }
        let preview = state.previews.remove(position);
        Ok(preview.expect("the preview was just found"))
    }

    /// Makes the changes of a preview, and records them with `servers`, the servers that were
    /// imported, and `replaced_tokens`, the tokens that the entries had before. Writes nothing if a
    /// file has changed since the preview was made. `restores` says whether the entries are
    /// restored, without asking a person, if another program removes or changes them.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written or has changed, or if the encrypted copies of
    /// the old files, or the record of the change, cannot be written. In this case, the changed
    /// files are restored.
    pub async fn apply(
        &self,
        preview: Preview,
        servers: Vec<ServerId>,
        replaced_tokens: Vec<RemovableToken>,
        restores: bool,
    ) -> Result<ClientChangeRow, ConfigError> {
        let _one_at_a_time = self.0.write_lock.lock().await;
        let vault = Arc::new(self.open_vault().await?);
        let Preview {
            plan,
            action,
            kind,
            connected,
            disconnected,
            new_client,
            ..
        } = preview;
        let (receipt, connected) = {
            let vault = vault.clone();
            run_blocking(move || {
                let receipt = plan.apply(vault.as_ref(), &plan.digest())?;
                let rows: Vec<_> = connected
                    .into_iter()
                    .filter_map(|target| connected_row(&target, restores))
                    .collect();
                Ok::<_, ConfigError>((receipt, rows))
            })
            .await??
        };
        let removed: Vec<String> = disconnected.iter().map(|path| path_text(path)).collect();
        let touched = connected.iter().map(|row| &row.path).chain(&removed);
        let rows_before: Vec<_> = {
            let state = self.lock();
            touched
                .filter_map(|path| state.files.get(path).cloned())
                .collect()
        };
        let mut files: Vec<_> = receipt
            .files
            .iter()
            .map(|file| path_text(&file.path))
            .collect();
        // If an entry was correct already, its file did not change, but is managed from now on.
        for row in &connected {
            if !files.contains(&row.path) {
                files.push(row.path.clone());
            }
        }
        let change = ClientChangeRow {
            id: random::id(),
            made_at: clock::now(),
            action,
            kind: kind.map(str::to_owned),
            files,
            servers,
            undone_at: None,
        };
        let details = ChangeDetails {
            receipt: receipt.clone(),
            rows_before,
            client_existed: new_client.as_ref().is_some_and(|client| client.existed),
            new_client: new_client
                .filter(|client| !client.replaces_token)
                .map(|client| client.name),
            replaced_tokens,
        };
        let recorded = self
            .record(&vault, &change, &details, &removed, &connected)
            .await;
        if let Err(error) = recorded {
            let files = run_blocking(move || receipt.undo(vault.as_ref())).await?;
            for file in files {
                if let Err(failure) = file.result {
                    tracing::error!(
                        "{} stays changed, although the change could not be recorded: {failure}",
                        file.path.display()
                    );
                }
            }
            return Err(error);
        }
        self.set_rows(&removed, connected);
        Ok(change)
    }

    async fn record(
        &self,
        vault: &Vault,
        change: &ClientChangeRow,
        details: &ChangeDetails,
        removed: &[String],
        connected: &[ClientFileRow],
    ) -> Result<(), ConfigError> {
        let text = serde_json::to_vec(details).expect("a receipt can be written as JSON");
        vault.write(&details_name(&change.id), &text)?;
        self.0.store.put_client_change(change).await?;
        self.0
            .store
            .replace_client_files(removed, connected)
            .await?;
        Ok(())
    }

    /// Undoes a change. If one file cannot be restored, the other files are still restored, and
    /// another attempt can undo the rest of the change.
    ///
    /// # Errors
    /// Returns an error if the change is unknown or was already undone, if its details cannot be
    /// read, or if the store cannot be used.
    pub async fn undo(&self, id: &str) -> Result<UndoneChange, ConfigError> {
        let _one_at_a_time = self.0.write_lock.lock().await;
        let changes = self.0.store.client_changes().await?;
        let mut change = changes
            .into_iter()
            .find(|change| change.id == id)
            .ok_or_else(|| ConfigError::UnknownChange(id.to_owned()))?;
        if change.undone_at.is_some() {
            return Err(ConfigError::AlreadyUndone(id.to_owned()));
        }
        let vault = Arc::new(self.open_vault().await?);
        let text = vault.read(&details_name(id))?;
        let details: ChangeDetails =
            serde_json::from_slice(&text).map_err(|error| BackupError(error.to_string()))?;
        let copies: Vec<String> = details
            .receipt
            .files
            .iter()
            .filter_map(|file| file.backup.clone())
            .collect();
        let (receipt, opened) = (details.receipt, vault.clone());
        let files = run_blocking(move || receipt.undo(opened.as_ref())).await?;
        let is_complete = files.iter().all(|file| file.result.is_ok());
        change.undone_at = is_complete.then(clock::now);
        self.0
            .store
            .replace_client_files(&change.files, &details.rows_before)
            .await?;
        self.0.store.put_client_change(&change).await?;
        self.set_rows(&change.files, details.rows_before);
        if is_complete {
            copies.iter().for_each(|copy| vault.remove(copy));
            vault.remove(&details_name(id));
        }
        Ok(UndoneChange {
            change,
            files,
            new_client: details.new_client,
            client_existed: details.client_existed,
            replaced_tokens: details.replaced_tokens,
        })
    }

    /// Returns all changes, newest first.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn changes(&self) -> Result<Vec<ClientChangeRow>, StoreError> {
        self.0.store.client_changes().await
    }

    /// Returns the latest change for a kind of client, or the latest import if `kind` is `None`.
    /// Changes that were undone do not count.
    ///
    /// # Errors
    /// Returns an error if there is no such change, or if the store cannot be read.
    pub async fn latest_change(&self, kind: Option<&str>) -> Result<ClientChangeRow, ConfigError> {
        let matches_kind = |change: &ClientChangeRow| match kind {
            Some(kind) => change.kind.as_deref() == Some(kind),
            None => change.action == ClientAction::Import,
        };
        self.changes()
            .await?
            .into_iter()
            .find(|change| change.undone_at.is_none() && matches_kind(change))
            .ok_or_else(|| match kind {
                Some(kind) => ConfigError::NothingToUndo(kind.to_owned()),
                None => ConfigError::NoImport,
            })
    }

    /// Sets whether a managed entry is restored, without asking a person, if another program
    /// removes or changes it.
    ///
    /// # Errors
    /// Returns an error if no entry of the file is managed, if the entry to restore contains a
    /// token, or if the store cannot be written.
    pub async fn set_restores(&self, path: &Path, restores: bool) -> Result<(), ConfigError> {
        let _one_at_a_time = self.0.write_lock.lock().await;
        let mut row = self
            .managed(path)
            .ok_or_else(|| ConfigError::NotManaged(path_text(path)))?;
        check_can_restore(row.transport, restores)?;
        row.restores = restores;
        let rows = [row];
        self.0.store.replace_client_files(&[], &rows).await?;
        self.set_rows(&[], rows.into());
        Ok(())
    }

    /// Notifies the front ends that the state of managed files may have changed.
    pub fn publish_change(&self) {
        self.0.events.publish(Event::ClientFilesChanged);
    }

    fn set_rows(&self, removed: &[String], written: Vec<ClientFileRow>) {
        let mut state = self.lock();
        for path in removed {
            state.files.remove(path);
        }
        let written = written.into_iter().map(|row| (row.path.clone(), row));
        state.files.extend(written);
        drop(state);
        self.0.managed.send_replace(());
        self.publish_change();
    }

    async fn open_vault(&self) -> Result<Vault, ConfigError> {
        Ok(Vault::open(self.0.backups.clone(), &self.0.secrets).await?)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EntryTarget {
    /// Returns the target of a managed entry, or `None` if this version does not know the kind of
    /// client.
    pub fn of_row(row: &ClientFileRow, connection: Connection) -> Option<Self> {
        Some(Self {
            kind: find_client(&row.kind)?,
            file: ConfigFile {
                path: PathBuf::from(&row.path),
                scope: match row.project {
                    Some(_) => FileScope::Project,
                    None => FileScope::Global,
                },
                // Unknown here: the search for the client's files finds out whether the client may
                // read another file instead of this file.
                conflict: None,
            },
            project: row.project.as_ref().map(PathBuf::from),
            connection,
            transport: row.transport,
            asks_once: row.asks_once,
        })
    }
}

/// The state of Drawbridge's entry in a file.
pub struct EntryState {
    pub state: ClientFileState,
    /// The entry's name.
    pub entry: Option<String>,
    /// How the entry differs from Drawbridge's own version, or why the file cannot be read.
    pub problems: Vec<String>,
}

/// Returns the state of Drawbridge's entry in a file. `connection` says how to reach the hub, `row`
/// is the managed entry of the file, and `ask_once` has the settings that the file needs if the
/// client leaves approval to Drawbridge.
pub fn inspect_entry(
    kind: &Client,
    file: &ConfigFile,
    connection: &Connection,
    row: Option<&ClientFileRow>,
    ask_once: Option<&AskOnce>,
) -> EntryState {
    let connection = Connection {
        client: row.map_or(kind.id, |row| row.client.as_str()).to_owned(),
        // Drawbridge does not store the token that it wrote into the file.
        transport: match row.map(|row| row.transport) {
            Some(ClientTransport::Http) => Transport::Http { token: None },
            Some(ClientTransport::Bridge) | None => Transport::Bridge,
        },
        ..connection.clone()
    };
    let ask_once = ask_once.filter(|_| row.is_some_and(|row| row.asks_once));
    let (state, entry, problems) = match kind.inspect(file, &connection, ask_once) {
        FileState::NotConnected if row.is_some() => (ClientFileState::Removed, None, Vec::new()),
        FileState::NotConnected => (ClientFileState::NotConnected, None, Vec::new()),
        FileState::Connected { entry } => (ClientFileState::Connected, Some(entry), Vec::new()),
        FileState::Drifted { entry, differences } => {
            let digest = kind.own_entry_digest(file, &connection);
            let is_as_written = row.is_some_and(|row| digest.as_ref() == Some(&row.entry_digest));
            let state = if is_as_written {
                ClientFileState::Outdated
            } else {
                ClientFileState::Changed
            };
            (state, Some(entry), differences)
        }
        FileState::Broken { reason } => (ClientFileState::Broken, None, vec![reason]),
    };
    EntryState {
        state,
        entry,
        problems,
    }
}

/// Checks that Drawbridge can restore an entry if `restores` is true.
///
/// # Errors
/// Returns an error if the entry contains a token, which Drawbridge does not store.
pub fn check_can_restore(transport: ClientTransport, restores: bool) -> Result<(), ConfigError> {
    if restores && transport == ClientTransport::Http {
        return Err(ConfigError::RestoreNeedsToken);
    }
    Ok(())
}

/// Returns the row of a file that was just written, or `None` if its entry cannot be read.
fn connected_row(target: &EntryTarget, restores: bool) -> Option<ClientFileRow> {
    Some(ClientFileRow {
        path: path_text(&target.file.path),
        kind: target.kind.id.to_owned(),
        client: ClientName::new(target.connection.client.as_str()),
        project: target.project.as_deref().map(path_text),
        transport: target.transport,
        asks_once: target.asks_once,
        restores,
        entry_digest: target
            .kind
            .own_entry_digest(&target.file, &target.connection)?,
        connected_at: clock::now(),
    })
}

fn details_name(change: &str) -> String {
    format!("change-{change}")
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs work that reads or writes files on a thread that may block.
///
/// # Errors
/// Returns an error if the work panicked.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ConfigError> {
    let result = tokio::task::spawn_blocking(work).await;
    result.map_err(|_| ConfigError::TaskFailed)
}

#[cfg(test)]
mod tests {
    use drawbridge_model::ids::Timestamp;
    use drawbridge_store::secrets::InMemory;

    use super::*;

    #[tokio::test]
    async fn choosing_to_restore_an_entry_keeps_a_change_that_is_made_at_the_same_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, _) = Store::open(&folder.path().join("test.db"))
            .await
            .expect("a store");
        let configs = ClientConfigs::load(
            store,
            Secrets::new(InMemory::default()),
            Events::new(),
            folder.path().join("backups"),
        )
        .await
        .expect("the managed entries");
        let row = ClientFileRow {
            path: "/a".into(),
            kind: "cursor".into(),
            client: ClientName::new("cursor"),
            project: None,
            transport: ClientTransport::Bridge,
            asks_once: false,
            restores: false,
            entry_digest: "before".into(),
            connected_at: Timestamp(0),
        };
        configs.set_rows(&[], vec![row.clone()]);
        let change = configs.0.write_lock.lock().await;
        let choosing = tokio::spawn({
            let configs = configs.clone();
            async move { configs.set_restores(Path::new("/a"), true).await }
        });
        tokio::task::yield_now().await;
        let changed = ClientFileRow {
            entry_digest: "after".into(),
            ..row
        };
        configs.set_rows(&[], vec![changed.clone()]);
        drop(change);
        choosing.await.expect("the task ends").expect("stored");
        let expected = ClientFileRow {
            restores: true,
            ..changed
        };
        assert_eq!(configs.managed(Path::new("/a")), Some(expected));
    }
}
