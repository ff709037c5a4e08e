//! Servers: the registry's specs, and the state of each server.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

mod access_report;
mod capabilities;
mod check_spec;
mod definitions;
mod failed_start;
mod lifecycle;
mod manifests;
mod preflight;
mod sign_in;
mod usage;
mod view;

use drawbridge_model::{
    acceptance::AcceptanceState,
    capability::ExcludedEntries,
    ids::{ClientName, ServerId, Timestamp},
    program::Program,
    sandbox::EnforcedSandbox,
    server::{ServerState, SyncStatus, Transition},
    sign_in::{ServerSignIn, SignIn},
    spec::{RegisteredServer, ServerSpec, changes::SpecChange},
};

pub use access_report::{AccessReportView, RecordServer, ShowAccessReport};
pub use capabilities::{CapabilitiesView, CapabilityView, ShowCapabilities};
pub use check_spec::{CheckSpec, CheckedSpec, SpecFault};
pub use definitions::{
    AcceptDefinitions, DefinitionVersion, FieldChange, ShowDefinitionHistory, UnacceptedDefinition,
};
pub use manifests::{
    CheckRuntimes, FillManifest, FilledManifest, ListPresets, ManifestChoice, ManifestSource,
    ManifestView, PresetView, ReadManifest, read_registration,
};
pub use preflight::{CheckServer, PreflightCheck, PreflightTopic};
pub use sign_in::{AwaitSignIn, CancelSignIn, SignInServer, SignOutServer};
pub use usage::{ServerUsage, ShowUsage};

pub(super) use manifests::manifest_view;

use drawbridge_jsonrpc::rpc::RpcResponse;
use drawbridge_upstream::transport::process::program;

use super::{ApiError, Done, Verb, tools::ToolView};
use crate::{
    hub::Hub,
    registry::{self, Grant, Registry},
};

/// All servers, and the spec files that cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServersView {
    pub servers: Vec<ServerView>,
    pub broken: Vec<BrokenSpec>,
}

/// A spec file that cannot be used, with the position of its fault. Other servers are not affected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BrokenSpec {
    /// The file's path.
    pub file: String,
    /// The line of the fault, counted from 1; 0 if the fault has no position.
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// The spec and the state of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerView {
    pub id: ServerId,
    pub name: String,
    pub spec: ServerSpec,
    /// The path of the server's spec file; empty for a built-in server, which has none.
    pub file: String,
    pub acceptance: AcceptanceState,
    /// The digest of all that a person accepts: the spec and what it starts or connects to. A
    /// request to `servers.accept` has to contain the digest.
    pub identity: String,
    /// The program of a local server: the accepted program or, if the server is not accepted, the
    /// program that would start now. Null for a remote server, or if the program is not known yet.
    pub program: Option<Program>,
    /// The packages and images that the spec starts without an exact version: another version may
    /// run at the next start.
    pub floating: Vec<String>,
    /// How the spec differs from the spec that a person accepted last; empty if nobody has accepted
    /// a spec. A change that only narrows what the server can do is listed, but need not be
    /// accepted.
    pub changes: Vec<SpecChange>,
    /// The secrets to which the spec refers and that are not the server's own: their names do not
    /// begin with the server's id and a dot. A person has to grant each of them.
    pub foreign_secrets: BTreeSet<String>,
    /// The places in the spec, such as `argument 2`, with a plain text that looks like a secret.
    pub literal_secrets: Vec<String>,
    pub state: ServerState,
    /// Why the server is in this state, in plain words; empty if there is nothing to report.
    pub reason: String,
    /// The action for a person to take; empty if there is nothing to do.
    pub remedy: String,
    /// When the server may be started again after a failure.
    pub retry_at: Option<Timestamp>,
    /// Whether the server crashed so often that no request starts it before `retry_at`.
    pub crashed_often: bool,
    /// The latest state transitions of the server's sessions, oldest first.
    pub transitions: Vec<Transition>,
    /// The sign-in state of the server.
    pub sign_in: ServerSignIn,
    /// The latest attempt to sign in, if there is one.
    pub signing_in: Option<SignIn>,
    /// The process id of a running local server.
    pub pid: Option<u32>,
    /// The restrictions that are enforced besides those in the spec, for a local server that runs
    /// in a sandbox now.
    pub sandbox: Option<EnforcedSandbox>,
    pub sync_status: SyncStatus,
    pub last_synced_at: Option<Timestamp>,
    /// Whether the catalog's copy of the server is outdated or older than its time to live. Clients
    /// get a stale copy while a refresh runs in the background.
    pub stale: bool,
    /// The name that the server reported.
    pub server_name: Option<String>,
    pub server_version: Option<String>,
    pub protocol_version: Option<String>,
    /// The instructions for a model that the server sent when it was connected, at most 16 KiB.
    pub instructions: Option<String>,
    pub tools: Vec<ToolView>,
    /// About how many tokens a model spends on the list of the server's tools that clients see; 0
    /// if the server is deferred, because its tools are then not listed.
    pub tokens: u32,
    /// The new and changed definitions that a person has not accepted yet.
    pub unaccepted: Vec<UnacceptedDefinition>,
    /// The entries of the server's lists that are not in the catalog, each with the reason. Tools
    /// that the spec's `allowed_tools` excludes are not among them.
    pub excluded: ExcludedEntries,
    /// The number of non-JSON-RPC lines on the server's stdout since the hub started.
    pub non_jsonrpc_lines: u32,
    /// How often the server was started since the hub started.
    pub starts: u32,
}

/// Values for the secret store, grouped by their destination in the spec: environment variables,
/// headers, and the OAuth client. The spec gets `${keyring:NAME}` in place of each value. The
/// values are never logged, and never written to the spec file.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct SecretValues {
    pub env: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
    /// The secret of the spec's OAuth client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth_client: Option<String>,
    /// Whether to move the values in the spec that look like secrets to the secret store too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    pub move_literals: bool,
}

impl std::fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretValues")
            .field("env", &self.env.keys())
            .field("headers", &self.headers.keys())
            .field("oauth_client", &self.oauth_client.is_some())
            .finish_non_exhaustive()
    }
}

/// `servers.list`: all servers, sorted by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListServers {}

/// `servers.show`: one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowServer {
    pub id: ServerId,
}

/// `servers.add`: adds a server, and writes its spec file. The id is derived from the spec's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddServer {
    pub spec: ServerSpec,
    #[serde(default)]
    pub secrets: SecretValues,
    /// Whether the server has to wait for acceptance. By default, the server is accepted, because a
    /// person adds it.
    #[serde(default)]
    pub pending: bool,
    /// The foreign secrets that the server may use. Unless the server is pending, exactly the
    /// foreign secrets to which the spec refers have to be named.
    #[serde(default)]
    pub grant_secrets: Vec<String>,
}

/// `servers.update`: replaces a server's spec. The new spec is accepted unless `pending` is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UpdateServer {
    pub id: ServerId,
    pub spec: ServerSpec,
    #[serde(default)]
    pub secrets: SecretValues,
    /// Whether the server has to wait for acceptance if the new spec lets the server do more.
    #[serde(default)]
    pub pending: bool,
    /// The foreign secrets that the server may use from now on, in addition to those that a person
    /// granted to the server before.
    #[serde(default)]
    pub grant_secrets: Vec<String>,
}

/// `servers.move_literals`: moves the values of a server's spec that look like secrets to the
/// secret store, and writes references in their place. An accepted server stays accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MoveLiterals {
    pub id: ServerId,
}

/// `servers.remove`: ends a server's sessions, and removes the server's spec file and everything
/// that is stored for the server: secrets, sign-in, rules, copy, access report, log and unpacked
/// bundles. Secrets to which something else refers stay, and so does a sign-in that another server
/// shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RemoveServer {
    pub id: ServerId,
}

/// `servers.enable`: turns a server on or off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EnableServer {
    pub id: ServerId,
    pub enabled: bool,
}

/// `servers.pin`: finds which versions of the `floating` packages and images are in use now, and
/// writes these versions or digests into the spec. If the server is accepted, so is the new spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PinServer {
    pub id: ServerId,
}

/// `servers.accept`: accepts a server as it is shown now, so that it may start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AcceptServer {
    pub id: ServerId,
    /// The identity that the person saw. The verb fails if the server has another identity now.
    pub identity: String,
    /// The foreign secrets that the server may use. All secrets in `foreign_secrets` have to be
    /// named, because a person grants each of them.
    #[serde(default)]
    pub grant_secrets: Vec<String>,
}

/// `servers.verify`: connects to a saved server in a separate session, lists its tools, and ends
/// the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerifyServer {
    pub id: ServerId,
}

/// `servers.verify_spec`: verifies a spec that is not saved. `secrets` are passed on to the server,
/// and not stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerifySpec {
    /// The server to which the spec belongs; null for a new server.
    #[serde(default)]
    pub id: Option<ServerId>,
    pub spec: ServerSpec,
    #[serde(default)]
    pub secrets: SecretValues,
    /// The foreign secrets that the spec may use, in addition to those that a person granted to the
    /// server before.
    #[serde(default)]
    pub grant_secrets: Vec<String>,
}

/// The result of verifying a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerifiedView {
    pub server_name: Option<String>,
    pub server_version: Option<String>,
    pub protocol_version: String,
    pub tools: Vec<ToolView>,
    /// The entries of the server's list of tools that would not be in the catalog, with the
    /// reasons.
    pub excluded: ExcludedEntries,
    /// The time from the start to the last page of tools, in milliseconds.
    pub duration_ms: u32,
}

/// `servers.sync`: refreshes the catalog's copy of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SyncServer {
    pub id: ServerId,
}

/// `servers.restart`: ends the server's session and starts a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RestartServer {
    pub id: ServerId,
}

/// `servers.read_specs`: reads the `mcpServers` JSON of any client, the object of one server, or a
/// command line into specs. Saves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReadSpecs {
    pub text: String,
}

/// A spec that was read from a text, or why the entry is invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ParsedSpec {
    pub name: String,
    pub spec: Option<ServerSpec>,
    /// Why the entry is invalid; empty if `spec` is set.
    pub problem: String,
    /// The names in `env` and `headers` whose values are plain text and look like secrets.
    pub likely_secrets: Vec<String>,
    /// Sentences about values that were changed or ignored.
    pub notes: Vec<String>,
}

impl Verb for ListServers {
    type Answer = ServersView;

    async fn run(self, hub: &Hub) -> Result<ServersView, ApiError> {
        hub.registry.identify_programs().await;
        let specs = hub.registry.specs();
        let servers = specs
            .servers
            .values()
            .map(|server| view::server_view(hub, server))
            .collect();
        Ok(ServersView {
            servers,
            broken: specs.broken.iter().map(view::broken_spec).collect(),
        })
    }
}

impl Verb for ShowServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        hub.registry.identify_programs().await;
        Ok(view::server_view(hub, &*hub.registry.get(&self.id)?))
    }
}

impl Verb for AddServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let id = hub.registry.new_id(&self.spec.name)?;
        let grant = (!self.pending).then(|| Grant::from(BTreeSet::from_iter(self.grant_secrets)));
        let server = lifecycle::save(hub, &id, self.spec, self.secrets, grant).await?;
        hub.registry.identify_programs().await;
        Ok(view::server_view(hub, &server))
    }
}

impl Verb for UpdateServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        hub.registry.get(&self.id)?;
        let grant = (!self.pending).then(|| {
            let foreign = registry::foreign_secrets(&self.id, &self.spec);
            let mut granted = hub.registry.granted_secrets(&self.id);
            granted.retain(|name| foreign.contains(name));
            granted.extend(self.grant_secrets);
            Grant::from(granted)
        });
        let server = lifecycle::save(hub, &self.id, self.spec, self.secrets, grant).await?;
        hub.registry.identify_programs().await;
        Ok(view::server_view(hub, &server))
    }
}

impl Verb for RemoveServer {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        lifecycle::remove(hub, &self.id).await?;
        Ok(Done {})
    }
}

impl Verb for EnableServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        if let Some(built_in) = server.spec.builtin {
            let server = hub.enable_built_in(built_in, self.enabled).await?;
            hub.apply_spec_changes(&[self.id.clone()].into()).await;
            lifecycle::sync_in_background(hub, &server);
            return Ok(view::server_view(hub, &server));
        }
        let spec = ServerSpec {
            enabled: self.enabled,
            ..server.spec.clone()
        };
        // A server that waits for acceptance still waits: enabling it does not accept its other
        // changes.
        let grant = (hub.registry.acceptance(&server) == AcceptanceState::Accepted)
            .then(|| hub.registry.granted_secrets(&self.id).into());
        let server = hub.write_spec(&self.id, &spec, grant).await?;
        hub.apply_spec_changes(&[self.id.clone()].into()).await;
        lifecycle::sync_in_background(hub, &server);
        Ok(view::server_view(hub, &server))
    }
}

impl Verb for MoveLiterals {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        let secrets = SecretValues {
            move_literals: true,
            ..SecretValues::default()
        };
        // A server that waits for acceptance still waits: moving these values does not accept its
        // other changes.
        let grant =
            (hub.registry.acceptance(&server) == AcceptanceState::Accepted).then(|| Grant {
                secrets: hub.registry.granted_secrets(&self.id),
                only_references_changed: true,
            });
        let spec = server.spec.clone();
        let server = lifecycle::save(hub, &self.id, spec, secrets, grant).await?;
        Ok(view::server_view(hub, &server))
    }
}

impl Verb for PinServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = lifecycle::pin(hub, &self.id).await?;
        hub.registry.identify_programs().await;
        Ok(view::server_view(hub, &server))
    }
}

impl Verb for AcceptServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        let program = program::identify_program(&server.spec).await;
        if Registry::offered_identity(&server, program.as_ref()) != self.identity {
            return Err(ApiError::conflict(format!(
                "'{}' has changed since it was shown; check it again",
                self.id
            )));
        }
        lifecycle::accept(
            hub,
            &server,
            program,
            self.grant_secrets.into_iter().collect(),
        )
        .await?;
        Ok(view::server_view(hub, &server))
    }
}

impl Verb for VerifyServer {
    type Answer = VerifiedView;

    async fn run(self, hub: &Hub) -> Result<VerifiedView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        if hub.registry.acceptance(&server) != AcceptanceState::Accepted {
            return Err(ApiError::conflict(format!(
                "'{}' is not accepted yet; accept it first",
                self.id
            )));
        }
        lifecycle::verify_server(hub, &server).await
    }
}

impl Verb for VerifySpec {
    type Answer = VerifiedView;

    async fn run(self, hub: &Hub) -> Result<VerifiedView, ApiError> {
        lifecycle::verify_spec(hub, self.id, self.spec, self.secrets, self.grant_secrets).await
    }
}

impl Verb for SyncServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = lifecycle::get_runnable(hub, &self.id)?;
        hub.catalog.sync(&self.id).await?;
        Ok(view::server_view(hub, &server))
    }
}

impl Verb for RestartServer {
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = lifecycle::get_runnable(hub, &self.id)?;
        hub.pool
            .remove(&self.id, "the server is being restarted")
            .await;
        hub.catalog.sync(&self.id).await?;
        Ok(view::server_view(hub, &server))
    }
}

impl Verb for ReadSpecs {
    type Answer = Vec<ParsedSpec>;

    async fn run(self, hub: &Hub) -> Result<Vec<ParsedSpec>, ApiError> {
        let endpoint = hub.client_connection(&ClientName::new(""), None);
        let read = registry::read_specs(&self.text, &endpoint.url)
            .map_err(|error| ApiError::invalid(error.to_string()))?;
        let servers = read.servers.into_iter().map(view::parsed_spec);
        Ok(servers
            .chain(read.skipped.into_iter().map(view::skipped_spec))
            .collect())
    }
}

/// Removes a server and everything that is stored for the server.
///
/// # Errors
/// Returns an error if the server is unknown, or if a step of the removal fails.
pub(super) async fn remove(hub: &Hub, id: &ServerId) -> Result<(), ApiError> {
    lifecycle::remove(hub, id).await
}

/// Adds a server that a person has chosen, and accepts it. Returns its id.
///
/// # Errors
/// Returns an error if the spec is invalid or refers to a foreign secret, if its name is taken, or
/// if its secrets or its file cannot be written.
pub(super) async fn add(
    hub: &Hub,
    spec: ServerSpec,
    secrets: SecretValues,
) -> Result<ServerId, ApiError> {
    let id = hub.registry.new_id(&spec.name)?;
    lifecycle::save(hub, &id, spec, secrets, Some(Grant::default())).await?;
    Ok(id)
}

/// Connects once to the server of a client's entry, as the client would, and lists the tools.
///
/// # Errors
/// Returns an error if the spec is invalid, or if the server cannot be reached or read.
pub(super) async fn verify_entry(hub: &Hub, spec: ServerSpec) -> Result<VerifiedView, ApiError> {
    lifecycle::verify_spec(hub, None, spec, SecretValues::default(), Vec::new()).await
}

/// Connects once to the server of a client's entry, as the client would, and sends one request.
///
/// # Errors
/// Returns an error if the spec is invalid, or if the server cannot be reached or does not answer
/// in time.
pub(super) async fn request_entry(
    hub: &Hub,
    spec: ServerSpec,
    method: &str,
    params: &RawValue,
    time_limit: Duration,
) -> Result<RpcResponse, ApiError> {
    lifecycle::request_once(hub, spec, method, params, time_limit).await
}

/// Returns the state of a server.
pub(super) fn server_state(hub: &Hub, server: &RegisteredServer) -> ServerState {
    view::server_state(hub, server).0
}

/// Returns the state of a server, the reason for the state, and the remedy.
pub(super) fn explain_state(hub: &Hub, server: &RegisteredServer) -> (ServerState, String, String) {
    view::server_state(hub, server)
}
