//! Finds servers in the configuration files of clients, and moves them into Drawbridge. If a person
//! wants it, also connects these clients.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use drawbridge_client_config::{
    CLIENTS, ConfigFile, FileScope, FoundAt, FoundServer, FoundServers, Importer, Machine, Place,
    Plan, find_client, is_same_server,
};
use drawbridge_model::{
    client_file::{ClientAction, ClientTransport},
    display_url::DisplayUrl,
    ids::{ClientName, ServerId},
    random,
    spec::ServerSpec,
};
use drawbridge_store::secrets::Secret;
use serde::{Deserialize, Serialize};

use super::{
    ApiError, ClientChangeView, Environment, FileDiffView, Verb, apply, check_project, diff_view,
    find_kind, machine, servers,
};
use crate::{
    api::{
        secrets::{remove_secret, store_secret},
        servers::SecretValues,
    },
    clients::configs::{EntryTarget, Preview, run_blocking},
    hub::Hub,
};

/// Stands for a value that is not shown.
const HIDDEN: &str = "•••";

/// A server that was found in the files of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FoundServerView {
    /// The name that the server would get. No other server that was found has the same name.
    pub name: String,
    /// The command line or the URL, without the values of secrets; empty if the entry cannot be
    /// imported.
    pub command: String,
    /// Why the entry cannot be imported; null if it can.
    pub problem: Option<String>,
    pub found_at: Vec<FoundAtView>,
    /// The names of the values that would move to the secret store.
    pub secrets: Vec<String>,
    /// The values that the person has to enter.
    pub inputs: Vec<InputView>,
    pub notes: Vec<String>,
    /// The registered server with the same command line or URL, and the same names of variables
    /// and headers; null if there is no such server. The import does not add a registered server
    /// again.
    pub known_as: Option<ServerId>,
    /// How many processes of the server run on this computer now, outside Drawbridge, without the
    /// processes that these processes started.
    pub processes: u32,
    /// The memory of these processes and of all processes that they started, in KiB.
    pub memory_kib: u32,
}

/// A file of a client that has an entry for a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FoundAtView {
    /// The id of the kind of client, such as `claude-code`.
    pub kind: String,
    /// The name of the kind of client.
    pub kind_name: String,
    pub file: String,
}

/// A value that the person has to enter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct InputView {
    pub id: String,
    pub description: String,
    /// The values to choose from; empty if the person can enter any value.
    pub choices: Vec<String>,
    pub is_secret: bool,
}

/// All servers that were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FoundServersView {
    pub servers: Vec<FoundServerView>,
    /// The files that could not be read, with the reason.
    pub unreadable: Vec<UnreadableFileView>,
    /// The memory that would be saved if all clients shared one copy of each server, in KiB.
    pub saved_kib: u32,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UnreadableFileView {
    pub file: String,
    pub reason: String,
}

/// The effect that an import would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ImportPreview {
    /// The id to pass to `config.import`.
    pub id: String,
    /// The names of the servers that would be added.
    pub servers: Vec<String>,
    /// The names of the values that would move to the secret store.
    pub secrets: Vec<String>,
    /// The changes of clients' files.
    pub files: Vec<FileDiffView>,
    /// The files that the import would not change although it should, each with the reason.
    pub problems: Vec<String>,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ImportedView {
    /// The servers that were added.
    pub servers: Vec<ServerId>,
    /// The import as a change, which `config.undo` can undo.
    pub change: ClientChangeView,
}

/// A server to import.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ChosenServer {
    /// The `name` with which `config.find_servers` returned the server.
    pub name: String,
    /// The values that the person entered, by the ids of the inputs.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
}

/// `config.find_servers`: the servers in the files of all clients, or of one kind of client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct FindServers {
    pub kind: Option<String>,
    /// The absolute paths of projects whose files are read too.
    pub projects: Vec<PathBuf>,
    pub environment: Environment,
}

/// `config.preview_import`: the changes that importing these servers would make. Changes nothing.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct PreviewImport {
    pub servers: Vec<ChosenServer>,
    /// Whether to remove the servers from the clients' files, and to connect the clients.
    pub connect: bool,
    /// Whether to tell the clients to leave approval to Drawbridge.
    pub ask_once: bool,
    /// The `kind`, `projects` and `environment` with which the servers were found.
    pub kind: Option<String>,
    pub projects: Vec<PathBuf>,
    pub environment: Environment,
}

/// `config.import`: imports the servers of a preview, if the files have not changed since the
/// preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ImportServers {
    /// The id of the preview.
    pub id: String,
    /// Whether to restore the clients' entries, without asking a person, if another program removes
    /// or changes them.
    #[serde(default)]
    pub restores: bool,
}

impl Verb for FindServers {
    type Answer = FoundServersView;

    async fn run(self, hub: &Hub) -> Result<FoundServersView, ApiError> {
        let machine = machine(&self.environment)?;
        let found = find_servers(hub, machine, self.kind.as_deref(), self.projects).await?;
        let commands: Vec<Vec<String>> = found.servers.iter().map(command_words).collect();
        let usages = hub.pool.connector().meter().find_processes(commands).await;
        let mut saved = 0;
        let servers = found
            .servers
            .into_iter()
            .zip(usages)
            .map(|(server, usage)| {
                let memory_kib = u32::try_from(usage.memory / 1024).unwrap_or(u32::MAX);
                if usage.processes > 1 {
                    saved += memory_kib - memory_kib / usage.processes;
                }
                server_view(hub, server, usage.processes, memory_kib)
            });
        Ok(FoundServersView {
            servers: servers.collect(),
            unreadable: found
                .unreadable
                .into_iter()
                .map(|file| UnreadableFileView {
                    file: file.file.display().to_string(),
                    reason: file.error.to_string(),
                })
                .collect(),
            saved_kib: saved,
        })
    }
}

impl Verb for PreviewImport {
    type Answer = ImportPreview;

    async fn run(self, hub: &Hub) -> Result<ImportPreview, ApiError> {
        let machine = machine(&self.environment)?;
        let projects = self.projects.clone();
        let found = find_servers(hub, machine.clone(), self.kind.as_deref(), projects).await?;
        let mut chosen = Vec::new();
        for choice in &self.servers {
            let server = found
                .servers
                .iter()
                .find(|server| server.name == choice.name);
            let server = server.ok_or_else(|| {
                ApiError::not_found(format!(
                    "no server named '{}' was found; look for servers again",
                    choice.name
                ))
            })?;
            if let Err(error) = &server.spec {
                return Err(ApiError::invalid(format!("{}: {error}", choice.name)));
            }
            let missing = server
                .inputs
                .iter()
                .find(|input| choice.inputs.get(&input.id).is_none_or(String::is_empty));
            if let Some(input) = missing {
                return Err(ApiError::invalid(format!(
                    "{}: the value '{}' is missing. {}",
                    choice.name, input.id, input.description
                )));
            }
        }
        for mut server in found.servers {
            if let Some(choice) = self
                .servers
                .iter()
                .find(|choice| choice.name == server.name)
            {
                for (id, value) in &choice.inputs {
                    server.fill_input(id, value);
                }
                chosen.push((server, choice.inputs.clone()));
            }
        }
        let mut plan = Plan::default();
        let (mut connected, mut problems) = (Vec::new(), Vec::new());
        if self.connect {
            for (target, moved) in list_targets(hub, &machine, &chosen, self.ask_once) {
                let ask_once = target
                    .asks_once
                    .then(|| hub.ask_once(&ClientName::new(target.kind.id)));
                let (file, connection) = (&target.file, &target.connection);
                match Plan::connect_and_remove_entries(
                    target.kind,
                    &machine,
                    file,
                    connection,
                    ask_once.as_ref(),
                    &moved,
                ) {
                    Ok(other) => {
                        plan.extend(other);
                        connected.push(target);
                    }
                    Err(error) => problems.push(error.to_string()),
                }
            }
        }
        let files = plan.diffs().into_iter().map(diff_view).collect();
        let added: Vec<_> = chosen
            .into_iter()
            .filter(|(server, _)| find_registered(hub, server).is_none())
            .collect();
        let id = random::id();
        let names = added.iter().map(|(server, _)| server.name.clone());
        let preview = ImportPreview {
            id: id.clone(),
            servers: names.collect(),
            secrets: added
                .iter()
                .flat_map(|(server, _)| secret_names(server))
                .collect(),
            files,
            problems,
        };
        hub.client_configs.keep_preview(Preview {
            id,
            plan,
            action: ClientAction::Import,
            kind: None,
            connected,
            disconnected: Vec::new(),
            new_client: None,
            imported: added,
        });
        Ok(preview)
    }
}

impl Verb for ImportServers {
    type Answer = ImportedView;

    async fn run(self, hub: &Hub) -> Result<ImportedView, ApiError> {
        let mut preview = hub
            .client_configs
            .take_preview(&self.id, |action| action == ClientAction::Import)?;
        // Without this check, the servers of an outdated preview would appear, and could start,
        // before they are removed again.
        preview.check_files().await?;
        let mut added = Vec::new();
        let imported = std::mem::take(&mut preview.imported);
        let result = async {
            for (server, inputs) in imported {
                added.push(add_server(hub, server, inputs).await?);
            }
            hub.registry.identify_programs().await;
            apply(hub, preview, added.clone(), self.restores).await
        }
        .await;
        match result {
            Ok(change) => Ok(ImportedView {
                servers: added,
                change,
            }),
            Err(error) => {
                for id in &added {
                    if let Err(failure) = servers::remove(hub, id).await {
                        tracing::error!("the server '{id}' of a failed import stays: {failure}");
                    }
                }
                Err(error)
            }
        }
    }
}

/// Adds a server, and stores its secrets. If the server cannot be added, restores the secrets that
/// had the same names before, and removes the others.
async fn add_server(
    hub: &Hub,
    mut server: FoundServer,
    inputs: BTreeMap<String, String>,
) -> Result<ServerId, ApiError> {
    let moved = server.move_secrets();
    let values: BTreeMap<String, String> = server
        .inputs
        .iter()
        .filter_map(|input| {
            let value = inputs.get(&input.id)?;
            Some((input.secret_name.clone(), value.clone()))
        })
        .chain(moved)
        .collect();
    let spec = server
        .spec
        .map_err(|error| ApiError::invalid(format!("{}: {error}", server.name)))?;
    let mut stored = Vec::new();
    let result = async {
        for (name, value) in values {
            let before = hub.secrets.get(&name).await?;
            store_secret(hub, &name, Secret::new(value)).await?;
            stored.push((name, before));
        }
        servers::add(hub, spec, SecretValues::default()).await
    }
    .await;
    if result.is_err() {
        for (name, before) in stored {
            match before {
                Some(value) => store_secret(hub, &name, value).await?,
                None => remove_secret(hub, &name).await?,
            }
        }
    }
    result
}

/// Returns the servers in the files of all clients, or of one kind of client.
async fn find_servers(
    hub: &Hub,
    machine: Machine,
    kind: Option<&str>,
    projects: Vec<PathBuf>,
) -> Result<FoundServers, ApiError> {
    let kinds = match kind {
        Some(kind) => std::slice::from_ref(find_kind(kind)?),
        None => CLIENTS,
    };
    for project in &projects {
        check_project(project)?;
    }
    let specs = hub.registry.specs();
    let registered: BTreeMap<String, ServerSpec> = specs
        .servers
        .iter()
        .map(|(id, server)| (id.as_str().to_owned(), server.spec.clone()))
        .collect();
    let url = hub.client_connection(&ClientName::new(""), None).url;
    let found = run_blocking(move || {
        let importer = Importer {
            machine: &machine,
            endpoint_url: &url,
            registered: &registered,
        };
        importer.find_servers(kinds, &projects)
    });
    Ok(found.await?)
}

/// Returns the clients' files that have entries for the chosen servers, each with the keys that
/// lead to these entries.
fn list_targets(
    hub: &Hub,
    machine: &Machine,
    chosen: &[(FoundServer, BTreeMap<String, String>)],
    asks_once: bool,
) -> Vec<(EntryTarget, Vec<Vec<String>>)> {
    let mut keys_by_file: BTreeMap<(String, PathBuf), Vec<Vec<String>>> = BTreeMap::new();
    for found_at in chosen.iter().flat_map(|(server, _)| &server.found_at) {
        let FoundAt {
            client: Some(kind),
            file: Some(file),
            keys,
            ..
        } = found_at
        else {
            continue;
        };
        keys_by_file
            .entry((kind.clone(), file.clone()))
            .or_default()
            .push(keys.clone());
    }
    let mut listed = BTreeSet::new();
    keys_by_file
        .into_iter()
        .filter(|((_, path), _)| listed.insert(path.clone()))
        .filter_map(|((kind, path), keys)| {
            let kind = find_client(&kind)?;
            let known = kind
                .files(machine)
                .into_iter()
                .find(|file| file.path == path);
            let project = known.is_none().then(|| kind.project_of(&path)).flatten();
            let file = known.unwrap_or(ConfigFile {
                path,
                scope: FileScope::Project,
                conflict: None,
            });
            let target = EntryTarget {
                kind,
                file,
                project,
                connection: hub.client_connection(&ClientName::new(kind.id), None),
                transport: ClientTransport::Bridge,
                asks_once: asks_once && kind.supports_ask_once(),
            };
            Some((target, keys))
        })
        .collect()
}

fn server_view(hub: &Hub, server: FoundServer, processes: u32, memory_kib: u32) -> FoundServerView {
    FoundServerView {
        command: shown_command(&server),
        problem: server.spec.as_ref().err().map(ToString::to_string),
        found_at: server.found_at.iter().filter_map(found_at_view).collect(),
        secrets: secret_names(&server).collect(),
        known_as: find_registered(hub, &server),
        inputs: server
            .inputs
            .into_iter()
            .map(|input| InputView {
                id: input.id,
                description: input.description,
                choices: input.choices,
                is_secret: input.is_secret,
            })
            .collect(),
        name: server.name,
        notes: server.notes,
        processes,
        memory_kib,
    }
}

fn found_at_view(found_at: &FoundAt) -> Option<FoundAtView> {
    let kind = find_client(found_at.client.as_deref()?)?;
    Some(FoundAtView {
        kind: kind.id.to_owned(),
        kind_name: kind.name.to_owned(),
        file: found_at.file.as_ref()?.display().to_string(),
    })
}

/// Returns the names of the values that would move to the secret store.
fn secret_names(server: &FoundServer) -> impl Iterator<Item = String> {
    let literal = server
        .secrets
        .iter()
        .map(|secret| secret.secret_name.clone());
    let inputs = server.inputs.iter().map(|input| input.secret_name.clone());
    literal.chain(inputs)
}

/// Returns the command line or the URL, without the values of secrets, or an empty text if the
/// entry cannot be imported.
fn shown_command(server: &FoundServer) -> String {
    let Ok(spec) = &server.spec else {
        return String::new();
    };
    let is_secret = |place: Place| server.secrets.iter().any(|secret| secret.place == place);
    if let Some(url) = &spec.url {
        return DisplayUrl::new(url).to_string();
    }
    let args = spec.args.iter().enumerate().map(|(index, arg)| {
        if is_secret(Place::Arg(index)) {
            HIDDEN
        } else {
            arg
        }
    });
    let words: Vec<&str> = spec.command.as_deref().into_iter().chain(args).collect();
    words.join(" ")
}

fn command_words(server: &FoundServer) -> Vec<String> {
    let Ok(spec) = &server.spec else {
        return Vec::new();
    };
    spec.command.iter().chain(&spec.args).cloned().collect()
}

/// Returns the registered server that is the same as a server that was found.
fn find_registered(hub: &Hub, server: &FoundServer) -> Option<ServerId> {
    let spec = server.spec.as_ref().ok()?;
    let specs = hub.registry.specs();
    let mut servers = specs.servers.values();
    let known = servers.find(|known| is_same_server(&known.spec, spec))?;
    Some(known.id.clone())
}

#[cfg(test)]
mod tests {
    use drawbridge_client_config::RequiredInput;

    use super::*;
    use crate::hub::tests::open_hub;

    #[tokio::test]
    async fn a_server_that_cannot_be_added_leaves_earlier_secrets_as_they_were() {
        let folder = tempfile::tempdir().expect("a folder");
        let hub = open_hub(&folder.path().join("data")).await;
        let spec = || serde_json::from_str(r#"{"name":"github","command":"x"}"#).expect("a spec");
        servers::add(&hub, spec(), SecretValues::default())
            .await
            .expect("added");
        hub.secrets
            .set("github.OLD", Secret::new("before".into()))
            .await
            .expect("stored");
        let input = |id: &str| RequiredInput {
            id: id.into(),
            description: String::new(),
            choices: Vec::new(),
            is_secret: true,
            secret_name: format!("github.{id}"),
            places: Vec::new(),
        };
        let server = FoundServer {
            name: "github".into(),
            spec: Ok(spec()),
            found_at: Vec::new(),
            secrets: Vec::new(),
            inputs: vec![input("OLD"), input("NEW")],
            notes: Vec::new(),
        };
        let inputs = ["OLD", "NEW"].map(|id| (id.to_owned(), "after".to_owned()));
        let added = add_server(&hub, server, inputs.into()).await;
        assert!(added.is_err(), "the name is taken");
        let stored = async |name: &str| {
            let value = hub.secrets.get(name).await.expect("read");
            value.map(|value| value.expose().to_owned())
        };
        assert_eq!(stored("github.OLD").await.as_deref(), Some("before"));
        assert_eq!(stored("github.NEW").await, None);
    }
}
