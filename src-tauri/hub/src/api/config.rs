//! The configuration files of clients: which clients are there, whether they are connected, and the
//! changes that connect and disconnect them. A person can undo these changes, or paste the
//! configuration instead.

pub mod entry;
pub mod import;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use drawbridge_client_config::{
    AskOnce, CLIENTS, Client, ConfigFile, Connection, FileDiff, FileScope, Machine, Plan,
    PlanError, UndoOutcome, find_client,
};
use drawbridge_model::{
    audit::AuditKind,
    client_file::{ClientAction, ClientFileState, ClientTransport},
    ids::{ClientName, ServerId, Timestamp},
    random,
};
use drawbridge_store::{
    secrets::Secret,
    table::client_file::{ClientChangeRow, ClientFileRow},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Done, Verb, clients::RevokeClient, servers};
use crate::{
    access::{RemovableToken, TokenLifetime},
    clients::{
        self,
        configs::{self, EntryState, EntryTarget, NewClient, Preview, run_blocking},
    },
    hub::Hub,
};

/// The variables of the caller's environment that say where clients keep their files, such as
/// `CLAUDE_CONFIG_DIR`. Variables that are absent here are read from the hub's own environment.
pub type Environment = BTreeMap<String, String>;

/// A kind of client, and its files on this computer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientKindView {
    /// The id, such as `claude-code`.
    pub id: String,
    pub name: String,
    /// Whether the client or one of its files was found on this computer.
    pub is_installed: bool,
    pub supports_http: bool,
    /// Whether single projects can have a file of their own.
    pub supports_projects: bool,
    /// The settings that make the client leave approval to Drawbridge, in words; empty if the
    /// client has none.
    pub ask_once: Vec<String>,
    /// Sentences about steps that only the person can take, and facts that the person should know.
    pub notes: Vec<String>,
    /// A link that opens the client and adds Drawbridge.
    pub install_link: Option<String>,
    /// The maximum number of characters that Drawbridge may use for a tool's name.
    pub max_tool_name: u32,
    pub files: Vec<ClientFileView>,
}

/// A configuration file of a client, which may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientFileView {
    pub path: String,
    pub scope: ClientFileScope,
    pub exists: bool,
    pub state: ClientFileState,
    /// The name of Drawbridge's entry, if there is one.
    pub entry: Option<String>,
    /// How the entry differs from the entry that Drawbridge writes, or why the file cannot be read.
    pub problems: Vec<String>,
    /// How Drawbridge keeps the entry up to date; null if Drawbridge does not manage it.
    pub managed: Option<ManagedEntry>,
}

/// Where the servers of a file apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ClientFileScope {
    /// In all projects.
    Global,
    /// In all projects, in another profile of the client.
    Profile,
    /// In one project.
    Project,
}

/// An entry that Drawbridge keeps up to date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ManagedEntry {
    /// The name under which Drawbridge knows the client.
    pub client: ClientName,
    pub transport: ClientTransport,
    /// Whether the entry tells the client to leave approval to Drawbridge.
    pub asks_once: bool,
    /// Whether Drawbridge restores the entry, without asking a person, if another program removes
    /// or changes it.
    pub restores: bool,
    pub connected_at: Timestamp,
}

/// A change that Drawbridge made to files of clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientChangeView {
    pub id: String,
    pub made_at: Timestamp,
    pub action: ClientAction,
    /// The kind of client; null for an import.
    pub kind: Option<String>,
    pub files: Vec<String>,
    /// The servers that were imported.
    pub servers: Vec<ServerId>,
    pub undone_at: Option<Timestamp>,
}

/// The kinds of clients, and the changes that Drawbridge made to their files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConfigOverview {
    pub kinds: Vec<ClientKindView>,
    /// The changes, newest first.
    pub changes: Vec<ClientChangeView>,
}

/// The configuration for a client, to paste.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConfigSnippet {
    pub kind: String,
    /// The name for a file with the configuration, such as `mcp.json`.
    pub file_name: String,
    /// The configuration in the client's own format.
    pub text: String,
    /// The configuration as JSON.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub config: serde_json::Value,
    pub install_link: Option<String>,
    pub notes: Vec<String>,
}

/// The effect that a change would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConfigPreview {
    /// The id to pass to `config.apply`; null if there is nothing to do. If the file has a correct
    /// entry that Drawbridge does not manage yet, there is an id, but no file has to change.
    pub id: Option<String>,
    pub files: Vec<FileDiffView>,
    /// Sentences about steps that only the person can take, and facts that the person should know.
    pub notes: Vec<String>,
}

/// The difference in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FileDiffView {
    pub path: String,
    /// Whether the file does not exist yet.
    pub is_new: bool,
    /// A unified diff without the values of secrets.
    pub diff: String,
}

/// The result of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UndoneView {
    pub change: ClientChangeView,
    pub files: Vec<UndoneFileView>,
}

/// How the change of one file was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UndoneFileView {
    pub path: String,
    /// Null if the change was not undone.
    pub outcome: Option<FileOutcome>,
    /// Why the change was not undone; null if it was.
    pub error: Option<String>,
}

/// The state of a file after a change was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum FileOutcome {
    /// The file has the bytes that it had before.
    Restored,
    /// The file did not exist before, and is removed.
    Removed,
    /// Another program has changed the file since, so only Drawbridge's own part was undone.
    OwnChangesUndone,
    /// The file no longer exists.
    Gone,
}

/// `config.list`: all kinds of clients that Drawbridge can connect, with their files, and the
/// changes that Drawbridge made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ListConfigs {
    /// The absolute path of a project whose files are listed too.
    pub project: Option<PathBuf>,
    pub environment: Environment,
}

/// `config.show`: the configuration for a client, to paste. The configuration contains no token,
/// because the client starts the stdio bridge, which needs none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowConfig {
    pub kind: String,
}

/// `config.preview`: the changes that connecting or disconnecting a client would make. Changes
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PreviewConfig {
    pub kind: String,
    pub action: ConfigAction,
    /// The path of the file, as `config.list` returns it; the client's global file if absent.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// The absolute path of a project. If it is present, the client's file in this project is
    /// meant, and `path` is ignored.
    #[serde(default)]
    pub project: Option<PathBuf>,
    /// The name under which Drawbridge should know the client. If absent, Drawbridge uses the name
    /// in the file's managed entry, or else the id of the kind.
    #[serde(default)]
    pub name: Option<ClientName>,
    #[serde(default)]
    pub transport: ClientTransport,
    /// Whether to tell the client to leave approval to Drawbridge.
    #[serde(default)]
    pub ask_once: bool,
    #[serde(default)]
    pub environment: Environment,
}

/// A change of a client's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ConfigAction {
    /// Connect the client, or repair its entry.
    Connect,
    Disconnect,
}

/// `config.apply`: makes the changes of a preview, if the files have not changed since the preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ApplyConfig {
    /// The id of the preview.
    pub id: String,
    /// Whether to restore the entry, without asking a person, if another program removes or changes
    /// it. Refused if the entry contains a token.
    #[serde(default)]
    pub restores: bool,
}

/// `config.undo`: undoes a change, removes the servers that were imported with it, and revokes the
/// client that was added with it. If the client existed before without a token, only its token
/// becomes invalid. If the change replaced the client's token, the new token stays valid, and the
/// old token, which is in the file again, may be invalid. If a file cannot be restored, the servers
/// stay until another attempt restores the file. Without `change`, undoes the latest change of this
/// kind of client, or the latest import if `kind` is absent too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct UndoConfig {
    pub change: Option<String>,
    pub kind: Option<String>,
}

/// `config.set_restores`: sets whether Drawbridge restores an entry, without asking a person, if
/// another program removes or changes it. An entry that contains a token cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetRestores {
    pub path: PathBuf,
    pub restores: bool,
}

impl Verb for ListConfigs {
    type Answer = ConfigOverview;

    async fn run(self, hub: &Hub) -> Result<ConfigOverview, ApiError> {
        let machine = machine(&self.environment)?;
        let inspect = {
            let snapshot = HubSnapshot::new(hub);
            move || {
                CLIENTS
                    .iter()
                    .map(|kind| snapshot.kind_view(kind, &machine, self.project.as_deref()))
                    .collect()
            }
        };
        let kinds = run_blocking(inspect).await?;
        let changes = hub.client_configs.changes().await?;
        Ok(ConfigOverview {
            kinds,
            changes: changes.into_iter().map(change_view).collect(),
        })
    }
}

impl Verb for ShowConfig {
    type Answer = ConfigSnippet;

    async fn run(self, hub: &Hub) -> Result<ConfigSnippet, ApiError> {
        let kind = find_kind(&self.kind)?;
        let connection = hub.client_connection(&ClientName::new(kind.id), None);
        let text = kind
            .snippet(&connection)
            .ok_or_else(|| ApiError::internal("the client has no entry that starts the bridge"))?;
        Ok(ConfigSnippet {
            kind: kind.id.to_owned(),
            file_name: kind.file_name().to_owned(),
            config: kind.parse_snippet(&text),
            text,
            install_link: kind.install_link(&connection),
            notes: notes(kind),
        })
    }
}

impl Verb for PreviewConfig {
    type Answer = ConfigPreview;

    async fn run(self, hub: &Hub) -> Result<ConfigPreview, ApiError> {
        let kind = find_kind(&self.kind)?;
        let machine = machine(&self.environment)?;
        let project = self
            .project
            .or_else(|| managed_project(hub, self.path.as_deref()));
        let file = find_file(kind, &machine, self.path.as_ref(), project.as_ref())?;
        let managed = hub.client_configs.managed(&file.path);
        let name = self
            .name
            .or_else(|| managed.as_ref().map(|row| row.client.clone()))
            .unwrap_or_else(|| ClientName::new(kind.id));
        let is_connect = self.action == ConfigAction::Connect;
        let new_client = match self.transport {
            ClientTransport::Http if is_connect => {
                hub.check_http_clients_can_connect()?;
                Some(NewClient {
                    name: name.clone(),
                    token: format!("db_{}", random::token()),
                    replaces_token: replaces_token(hub, &name, managed.as_ref())?,
                    existed: false,
                })
            }
            ClientTransport::Http | ClientTransport::Bridge => None,
        };
        let token = new_client.as_ref().map(|client| client.token.as_str());
        let connection = hub.client_connection(&name, token);
        let ask_once = self.ask_once.then(|| hub.ask_once(&name));
        let target = EntryTarget {
            kind,
            file,
            project,
            connection,
            transport: self.transport,
            asks_once: self.ask_once && kind.supports_ask_once(),
        };
        let (plan, target) = run_blocking(move || {
            let EntryTarget {
                file, connection, ..
            } = &target;
            let plan = if is_connect {
                Plan::connect(kind, &machine, file, connection, ask_once.as_ref())
            } else {
                Plan::disconnect(kind, &machine, file, connection)
            };
            (plan, target)
        })
        .await?;
        let plan = plan.map_err(plan_error)?;
        let files = plan.diffs().into_iter().map(diff_view).collect();
        let mut notes = notes(kind);
        if new_client
            .as_ref()
            .is_some_and(|client| client.replaces_token)
        {
            notes.push(format!(
                "The entry gets a new token, which replaces the token of the client '{name}'. The old token is valid until the new token is used, at most for 24 hours."
            ));
        }
        if let Some(client) = managed
            .as_ref()
            .and_then(|row| loses_token(hub, row, new_client.as_ref()))
        {
            notes.push(format!(
                "The token of the client '{client}' becomes invalid, because no other entry uses it, and the client's sessions end. Undo makes the token valid again."
            ));
        }
        let id = random::id();
        // A correct entry that is not managed yet is taken over without a change of the file.
        let is_needed = !plan.is_empty() || (is_connect && managed.is_none());
        if is_needed {
            let path = target.file.path.clone();
            hub.client_configs.keep_preview(Preview {
                id: id.clone(),
                plan,
                action: if is_connect {
                    ClientAction::Connect
                } else {
                    ClientAction::Disconnect
                },
                kind: Some(kind.id),
                connected: if is_connect { vec![target] } else { Vec::new() },
                disconnected: if is_connect { Vec::new() } else { vec![path] },
                new_client,
                imported: Vec::new(),
            });
        }
        Ok(ConfigPreview {
            id: is_needed.then_some(id),
            files,
            notes,
        })
    }
}

impl Verb for ApplyConfig {
    type Answer = ClientChangeView;

    async fn run(self, hub: &Hub) -> Result<ClientChangeView, ApiError> {
        let preview = hub
            .client_configs
            .take_preview(&self.id, |action| action != ClientAction::Import)?;
        for target in &preview.connected {
            configs::check_can_restore(target.transport, self.restores)?;
        }
        apply(hub, preview, Vec::new(), self.restores).await
    }
}

/// Returns whether a new token for a file replaces the token of the client, because the file has
/// the client's entry already. `managed` is the managed entry of the file.
///
/// # Errors
/// Returns an error if the name is invalid or taken, or if other files contain the token that would
/// be replaced.
fn replaces_token(
    hub: &Hub,
    name: &ClientName,
    managed: Option<&ClientFileRow>,
) -> Result<bool, ApiError> {
    let Some(own) = managed.filter(|row| {
        row.client == *name && row.transport == ClientTransport::Http && hub.access.has_token(name)
    }) else {
        hub.access.check_free(name)?;
        return Ok(false);
    };
    let entries = hub.client_configs.entries_with_token(name);
    match entries.iter().find(|row| row.path != own.path) {
        None => Ok(true),
        Some(other) => Err(ApiError::conflict(format!(
            "{} has an entry of the client '{name}' too, and needs the same token; run `drawbridge clients rotate`, or choose 'New token…' on the Clients screen, to write a new token to all files of this client",
            other.path
        ))),
    }
}

/// Returns the client whose token becomes invalid if the managed entry `row` is replaced or removed.
/// `new_client` gets a token for the change.
fn loses_token<'a>(
    hub: &Hub,
    row: &'a ClientFileRow,
    new_client: Option<&NewClient>,
) -> Option<&'a ClientName> {
    find_entry_token(hub, row)?;
    let is_kept = new_client.is_some_and(|new| new.name == row.client)
        || hub
            .client_configs
            .entries_with_token(&row.client)
            .iter()
            .any(|other| other.path != row.path);
    (!is_kept).then_some(&row.client)
}

/// Returns the token that a managed entry has, or `None` if it has none, or if the client got a
/// token later that is not in the entry.
fn find_entry_token(hub: &Hub, row: &ClientFileRow) -> Option<RemovableToken> {
    let token = hub.access.find_token(&row.client)?;
    let is_in_entry = row.transport == ClientTransport::Http && token.existed_at(row.connected_at);
    is_in_entry.then_some(token)
}

/// Makes the changes of a preview, and records them in the audit log. If the preview has a new
/// token, adds the client to which the token belongs, or replaces the client's old token. A token
/// that no entry has any more becomes invalid. `servers` are the servers that were added for an
/// import.
///
/// # Errors
/// Returns an error if the client cannot be added or changed, or if the files cannot be changed.
/// Drawbridge then restores the files, and leaves the client as it was. Also returns an error if a
/// token cannot be made invalid. The files then stay changed.
pub(super) async fn apply(
    hub: &Hub,
    mut preview: Preview,
    servers: Vec<ServerId>,
    restores: bool,
) -> Result<ClientChangeView, ApiError> {
    let prepared = match &mut preview.new_client {
        Some(client) => {
            let token = Some(client.token.clone());
            let prepared = if client.replaces_token {
                hub.access
                    .prepare_rotation(&client.name, token, TokenLifetime::Same)
                    .await?
            } else {
                hub.access
                    .prepare_client(&client.name, token, None, None)
                    .await?
            };
            client.existed = is_admitted(hub, &client.name);
            hub.logs.add_secret(&Secret::new(client.token.clone()));
            Some(prepared)
        }
        None => None,
    };
    let replaced_entries = hub.client_configs.replaced_entries_with_token(&preview);
    let replaced_tokens: Vec<_> = replaced_entries
        .iter()
        .filter(|row| preview.new_client.as_ref().map(|new| &new.name) != Some(&row.client))
        .filter_map(|row| find_entry_token(hub, row))
        .collect();
    let change = hub
        .client_configs
        .apply(preview, servers, replaced_tokens.clone(), restores)
        .await?;
    // The token is stored after the files were changed, so that a failed change leaves a client of
    // the same name as it was.
    if let Some(prepared) = prepared
        && let Err(error) = prepared.store().await
    {
        match hub.client_configs.undo(&change.id).await {
            Ok(undone) => {
                for file in undone.files {
                    if let Err(failure) = file.result {
                        tracing::error!(
                            "{} contains a token that was not stored, and stays changed: {failure}",
                            file.path.display()
                        );
                    }
                }
            }
            Err(failure) => {
                tracing::error!(
                    "the files with a token that was not stored stay changed: {failure}"
                );
            }
        }
        return Err(error.into());
    }
    hub.record_client_change(&change);
    for RemovableToken { client, .. } in &replaced_tokens {
        let is_unused = hub.client_configs.entries_with_token(client).is_empty();
        if is_unused && hub.access.has_token(client) {
            withdraw_token(hub, client).await?;
        }
    }
    Ok(change_view(change))
}

/// Returns whether there is a client with this name that was not revoked.
fn is_admitted(hub: &Hub, name: &ClientName) -> bool {
    let clients = hub.access.clients();
    clients
        .iter()
        .any(|row| row.name == *name && row.revoked_at.is_none())
}

/// Makes the token of a client invalid, and ends the client's sessions. The client stays admitted,
/// with its rules and its profile, so that it can use the bridge again.
async fn withdraw_token(hub: &Hub, name: &ClientName) -> Result<(), ApiError> {
    if is_admitted(hub, name) {
        hub.access.remove_token(name).await?;
        hub.sessions.close_client(name);
    }
    Ok(())
}

impl Verb for UndoConfig {
    type Answer = UndoneView;

    async fn run(self, hub: &Hub) -> Result<UndoneView, ApiError> {
        let id = match self.change {
            Some(id) => id,
            None => {
                let kind = self.kind.as_deref();
                if let Some(kind) = kind {
                    find_kind(kind)?;
                }
                hub.client_configs.latest_change(kind).await?.id
            }
        };
        let undone = hub.client_configs.undo(&id).await?;
        hub.record_client_change(&undone.change);
        match undone.new_client {
            Some(name) if undone.client_existed => withdraw_token(hub, &name).await?,
            Some(name) => {
                RevokeClient { name }.run(hub).await?;
            }
            None => {}
        }
        let is_complete = undone.change.undone_at.is_some();
        if is_complete {
            for token in undone.replaced_tokens {
                hub.access.restore_token(token).await?;
            }
        }
        for server in &undone.change.servers {
            // While a file is not restored, its client can reach the servers only through
            // Drawbridge. A person may have removed the server already.
            if is_complete && hub.registry.get(server).is_ok() {
                servers::remove(hub, server).await?;
            }
        }
        let files = undone.files.into_iter().map(|file| {
            let (outcome, error) = match file.result {
                Ok(outcome) => (Some(outcome_view(outcome)), None),
                Err(error) => (None, Some(error.to_string())),
            };
            UndoneFileView {
                path: file.path.display().to_string(),
                outcome,
                error,
            }
        });
        Ok(UndoneView {
            files: files.collect(),
            change: change_view(undone.change),
        })
    }
}

impl Verb for SetRestores {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.client_configs
            .set_restores(&self.path, self.restores)
            .await?;
        let note = json!({ "file": self.path, "restores": self.restores });
        hub.store.append_audit(AuditKind::ClientFilesChanged, &note);
        Ok(Done {})
    }
}

/// The data of a hub that a blocking thread needs to inspect clients' files.
struct HubSnapshot {
    connection: Connection,
    managed: BTreeMap<String, (ClientFileRow, AskOnce)>,
}

impl HubSnapshot {
    fn new(hub: &Hub) -> Self {
        let managed = hub.client_configs.all_managed().into_iter().map(|row| {
            let ask_once = hub.ask_once(&row.client);
            (row.path.clone(), (row, ask_once))
        });
        Self {
            connection: hub.client_connection(&ClientName::new(""), None),
            managed: managed.collect(),
        }
    }

    fn kind_view(
        &self,
        kind: &'static Client,
        machine: &Machine,
        project: Option<&Path>,
    ) -> ClientKindView {
        let mut files = kind.files(machine);
        files.extend(project.and_then(|project| kind.project_file(project)));
        // A managed file is listed even if it belongs to a project that the request does not name.
        for (row, _) in self.managed.values().filter(|(row, _)| row.kind == kind.id) {
            if let Some(target) = EntryTarget::of_row(row, self.connection.clone())
                && files.iter().all(|file| file.path != target.file.path)
            {
                files.push(target.file);
            }
        }
        let own = Connection {
            client: kind.id.to_owned(),
            ..self.connection.clone()
        };
        ClientKindView {
            id: kind.id.to_owned(),
            name: kind.name.to_owned(),
            is_installed: kind.is_installed(machine),
            supports_http: kind.supports_http(),
            supports_projects: kind.supports_projects(),
            ask_once: kind.ask_once_changes(),
            notes: notes(kind),
            install_link: kind.install_link(&own),
            max_tool_name: u32::try_from(kind.name_budget()).unwrap_or(u32::MAX),
            files: files
                .iter()
                .map(|file| self.file_view(kind, file))
                .collect(),
        }
    }

    fn file_view(&self, kind: &'static Client, file: &ConfigFile) -> ClientFileView {
        let path = file.path.display().to_string();
        let managed = self.managed.get(&path);
        let row = managed.map(|(row, _)| row);
        let ask_once = managed.map(|(_, ask_once)| ask_once);
        let EntryState {
            state,
            entry,
            problems,
        } = configs::inspect_entry(kind, file, &self.connection, row, ask_once);
        ClientFileView {
            exists: file.path.exists(),
            path,
            scope: match file.scope {
                FileScope::Global => ClientFileScope::Global,
                FileScope::Profile => ClientFileScope::Profile,
                FileScope::Project => ClientFileScope::Project,
            },
            state,
            entry,
            problems,
            managed: managed.map(|(row, _)| ManagedEntry {
                client: row.client.clone(),
                transport: row.transport,
                asks_once: row.asks_once,
                restores: row.restores,
                connected_at: row.connected_at,
            }),
        }
    }
}

pub(super) fn find_kind(id: &str) -> Result<&'static Client, ApiError> {
    find_client(id).ok_or_else(|| {
        ApiError::not_found(format!(
            "'{id}' is not a client that Drawbridge knows; `drawbridge config list --all` lists the known clients, and `standard` fits most others"
        ))
    })
}

/// Returns this computer, with the places of clients' files that the caller's environment names.
pub(super) fn machine(environment: &Environment) -> Result<Machine, ApiError> {
    clients::machine(environment).ok_or_else(|| {
        ApiError::unavailable("the home folder is unknown; set HOME, and start Drawbridge again")
    })
}

/// Returns the project to which a managed file belongs.
fn managed_project(hub: &Hub, path: Option<&Path>) -> Option<PathBuf> {
    let row = hub.client_configs.managed(path?)?;
    row.project.map(PathBuf::from)
}

/// Returns the client's file in the project, or the file with this path if no project is given, or
/// the client's global file if neither is given.
///
/// # Errors
/// Returns an error if the path of the project is not absolute, or if the client has no such file.
fn find_file(
    kind: &Client,
    machine: &Machine,
    path: Option<&PathBuf>,
    project: Option<&PathBuf>,
) -> Result<ConfigFile, ApiError> {
    if let Some(project) = project {
        check_project(project)?;
        return kind.project_file(project).ok_or_else(|| {
            ApiError::invalid(format!("{} has no files for single projects", kind.name))
        });
    }
    let files = kind.files(machine);
    match path {
        Some(path) => files
            .into_iter()
            .find(|file| file.path == *path)
            .ok_or_else(|| {
                ApiError::invalid(format!(
                    "{} is not a file of {}",
                    path.display(),
                    kind.name
                ))
            }),
        None => files.into_iter().next().ok_or_else(|| {
            ApiError::invalid(format!(
                "{} has no file that Drawbridge knows; run `drawbridge config show {}`, and paste its output into the client's settings",
                kind.name, kind.id
            ))
        }),
    }
}

/// Checks the path of a project.
///
/// # Errors
/// Returns an error if the path is not absolute, because the working folder of the hub has no
/// meaning for the person.
fn check_project(project: &Path) -> Result<(), ApiError> {
    if project.is_absolute() {
        return Ok(());
    }
    Err(ApiError::invalid(format!(
        "the project folder '{}' is not an absolute path; use a path such as /home/me/project",
        project.display()
    )))
}

fn notes(kind: &Client) -> Vec<String> {
    kind.notes.iter().map(|note| (*note).to_owned()).collect()
}

pub(super) fn diff_view(diff: FileDiff) -> FileDiffView {
    FileDiffView {
        path: diff.path.display().to_string(),
        is_new: diff.is_new,
        diff: diff.diff,
    }
}

pub(super) fn plan_error(error: PlanError) -> ApiError {
    ApiError::conflict(error.to_string())
}

fn change_view(change: ClientChangeRow) -> ClientChangeView {
    ClientChangeView {
        id: change.id,
        made_at: change.made_at,
        action: change.action,
        kind: change.kind,
        files: change.files,
        servers: change.servers,
        undone_at: change.undone_at,
    }
}

fn outcome_view(outcome: UndoOutcome) -> FileOutcome {
    match outcome {
        UndoOutcome::Restored => FileOutcome::Restored,
        UndoOutcome::Removed => FileOutcome::Removed,
        UndoOutcome::OwnChangesUndone => FileOutcome::OwnChangesUndone,
        UndoOutcome::Gone => FileOutcome::Gone,
    }
}

#[cfg(test)]
mod tests;
