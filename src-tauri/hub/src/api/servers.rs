//! Servers: the registry's specs and what is known of each server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod authorize;
mod capabilities;
mod definitions;
mod manifests;
mod saving;
mod usage;
mod view;

pub use authorize::{AuthorizeServer, AwaitSignIn, CancelSignIn, SignOutServer};
pub use capabilities::{CapabilitiesView, ShowCapabilities};
pub use definitions::{AcceptTools, DefinitionVersion, FieldChange, ShowToolHistory, ShownTool};
pub use manifests::{
    CheckRuntimes, FillManifest, FilledManifest, ListPresets, ManifestChoice, ManifestSource,
    ManifestView, PresetView, ReadManifest,
};
pub use usage::{MeasureServers, ServerUsage};

use super::{ApiError, Done, Verb, tools::ToolView};
use crate::{
    hub::Hub,
    model::{
        authorization::{Authorization, SignIn},
        capability::LeftOutEntries,
        ids::{ServerId, Timestamp},
        server::{Acceptance, ServerState, SyncStatus, Transition},
        spec::ServerSpec,
    },
    registry,
};

/// All servers, and the spec files that cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServersView {
    pub servers: Vec<ServerView>,
    pub broken: Vec<BrokenSpec>,
}

/// A spec file that cannot be used, and where its fault is. It disturbs no other server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BrokenSpec {
    /// The file's path.
    pub file: String,
    /// Counted from 1; 0 where the fault has no place.
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// What is known of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerView {
    pub id: ServerId,
    pub name: String,
    pub spec: ServerSpec,
    /// The path of its spec file.
    pub file: String,
    pub acceptance: Acceptance,
    /// The digest of what it would start or connect to; what `servers.accept` names.
    pub identity: String,
    pub state: ServerState,
    /// Why it is in that state, in plain words; empty where there is nothing to say.
    pub reason: String,
    /// What to do about it; empty where there is nothing to do.
    pub remedy: String,
    /// It failed, and is left alone until then.
    pub retry_at: Option<Timestamp>,
    /// The latest steps of its sessions, the latest last.
    pub transitions: Vec<Transition>,
    /// How it stands with signing in.
    pub authorization: Authorization,
    /// The latest attempt to sign in, where there is one.
    pub signing_in: Option<SignIn>,
    /// The process id of a local server that runs.
    pub pid: Option<u32>,
    pub sync_status: SyncStatus,
    pub last_synced_at: Option<Timestamp>,
    /// The cache is older than its TTL: it is still served, and refreshed behind.
    pub stale: bool,
    /// What the server called itself.
    pub server_name: Option<String>,
    pub server_version: Option<String>,
    pub protocol_version: Option<String>,
    /// What the server tells a model about itself, at `initialize`.
    pub instructions: Option<String>,
    pub tools: Vec<ToolView>,
    /// About how many tokens a model spends on its tools, as far as clients are shown them.
    pub tokens: u32,
    /// Tools whose definitions are new or changed, and wait for a person.
    pub waiting_tools: u32,
    /// Entries of its lists that no client sees, each with its reason. What the person does not allow is not among
    /// them.
    pub left_out: LeftOutEntries,
    /// Lines on its stdout that were not JSON-RPC, since the hub started.
    pub noise_lines: u32,
    /// Starts since the hub started.
    pub starts: u32,
}

/// Values to put into the keyring, by what gets them: environment variables, headers, the OAuth client. In the
/// spec each becomes `${keyring:NAME}`. Never logged, never written to a file.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct SecretValues {
    pub env: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
    /// The secret of the spec's OAuth client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth_client: Option<String>,
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

/// `servers.list`: all servers, in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListServers {}

/// `servers.show`: one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowServer {
    pub id: ServerId,
}

/// `servers.add`: writes a new spec file; the id is made from the spec's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddServer {
    pub spec: ServerSpec,
    #[serde(default)]
    pub secrets: SecretValues,
    /// Leaves it waiting for the user's approval. What a person adds counts as accepted.
    #[serde(default)]
    pub pending: bool,
}

/// `servers.update`: replaces a server's spec, accepting the new one unless it is left pending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UpdateServer {
    pub id: ServerId,
    pub spec: ServerSpec,
    #[serde(default)]
    pub secrets: SecretValues,
    /// Leaves it waiting for the user's approval, where it would start something else than what was accepted.
    #[serde(default)]
    pub pending: bool,
}

/// `servers.remove`: removes the spec file, its secrets, its policies and its cache, and ends its session.
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

/// `servers.accept`: the user accepts what the server's spec would start, as it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AcceptServer {
    pub id: ServerId,
    /// The identity that the person saw. A server of another identity is not accepted.
    pub identity: String,
}

/// `servers.verify`: connects a saved server apart from its session, lists its tools, and ends the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerifyServer {
    pub id: ServerId,
}

/// `servers.try`: the same for a spec that is not saved; secrets are passed on and not kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TryServer {
    pub spec: ServerSpec,
    #[serde(default)]
    pub secrets: SecretValues,
}

/// What a server answered when it was verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerifiedView {
    pub server_name: Option<String>,
    pub server_version: Option<String>,
    pub protocol_version: String,
    pub tools: Vec<ToolView>,
    /// Entries of its list of tools that no client would see.
    pub left_out: LeftOutEntries,
    /// From start to the last page of tools.
    pub duration_ms: u32,
}

/// `servers.sync`: reads the server's capabilities anew into the cache.
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

/// `servers.read_specs`: reads any client's `mcpServers` JSON (or one server's object, or a
/// command line) into specs. Saves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReadSpecs {
    pub text: String,
}

/// A spec that was read from a text, or why that entry cannot be one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReadSpec {
    pub name: String,
    pub spec: Option<ServerSpec>,
    /// What is wrong with the entry; empty where `spec` is set.
    pub problem: String,
    /// Names in `env` and `headers` whose literal values look like secrets.
    pub likely_secrets: Vec<String>,
}

impl Verb for ListServers {
    const NAME: &'static str = "servers.list";
    type Answer = ServersView;

    async fn run(self, hub: &Hub) -> Result<ServersView, ApiError> {
        let specs = hub.registry.specs();
        let servers = specs
            .servers
            .values()
            .map(|server| view::server(hub, server))
            .collect();
        Ok(ServersView {
            servers,
            broken: specs.broken.iter().map(view::broken).collect(),
        })
    }
}

impl Verb for ShowServer {
    const NAME: &'static str = "servers.show";
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        Ok(view::server(hub, &*hub.registry.get(&self.id)?))
    }
}

impl Verb for AddServer {
    const NAME: &'static str = "servers.add";
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let id = hub.registry.new_id(&self.spec.name)?;
        let server = saving::save(hub, &id, self.spec, self.secrets).await?;
        if !self.pending {
            saving::accept(hub, &server).await?;
        }
        Ok(view::server(hub, &server))
    }
}

impl Verb for UpdateServer {
    const NAME: &'static str = "servers.update";
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        hub.registry.get(&self.id)?;
        let server = saving::save(hub, &self.id, self.spec, self.secrets).await?;
        if !self.pending {
            saving::accept(hub, &server).await?;
        }
        Ok(view::server(hub, &server))
    }
}

impl Verb for RemoveServer {
    const NAME: &'static str = "servers.remove";
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        saving::remove(hub, &self.id).await?;
        Ok(Done {})
    }
}

impl Verb for EnableServer {
    const NAME: &'static str = "servers.enable";
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        let spec = ServerSpec {
            enabled: self.enabled,
            ..server.spec.clone()
        };
        let server = hub.registry.write(&self.id, &spec)?;
        hub.specs_changed(std::slice::from_ref(&self.id)).await;
        saving::read_behind(hub, &server);
        Ok(view::server(hub, &server))
    }
}

impl Verb for AcceptServer {
    const NAME: &'static str = "servers.accept";
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        if server.identity != self.identity {
            return Err(ApiError::conflict(format!(
                "'{}' is not what was shown any more; look at it again",
                self.id
            )));
        }
        saving::accept(hub, &server).await?;
        hub.rules
            .server_accepted(&self.id, &server.identity)
            .await?;
        Ok(view::server(hub, &server))
    }
}

impl Verb for VerifyServer {
    const NAME: &'static str = "servers.verify";
    type Answer = VerifiedView;

    async fn run(self, hub: &Hub) -> Result<VerifiedView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        if hub.registry.acceptance(&server) != Acceptance::Accepted {
            return Err(ApiError::conflict(format!(
                "'{}' waits for your approval; accept it first",
                self.id
            )));
        }
        saving::verify(hub, &server).await
    }
}

impl Verb for TryServer {
    const NAME: &'static str = "servers.try";
    type Answer = VerifiedView;

    async fn run(self, hub: &Hub) -> Result<VerifiedView, ApiError> {
        saving::try_spec(hub, self.spec, self.secrets).await
    }
}

impl Verb for SyncServer {
    const NAME: &'static str = "servers.sync";
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = saving::runnable(hub, &self.id)?;
        hub.catalog.sync(&self.id).await?;
        Ok(view::server(hub, &server))
    }
}

impl Verb for RestartServer {
    const NAME: &'static str = "servers.restart";
    type Answer = ServerView;

    async fn run(self, hub: &Hub) -> Result<ServerView, ApiError> {
        let server = saving::runnable(hub, &self.id)?;
        hub.pool.remove(&self.id, "it is being restarted").await;
        hub.catalog.sync(&self.id).await?;
        Ok(view::server(hub, &server))
    }
}

impl Verb for ReadSpecs {
    const NAME: &'static str = "servers.read_specs";
    type Answer = Vec<ReadSpec>;

    async fn run(self, _: &Hub) -> Result<Vec<ReadSpec>, ApiError> {
        let read = registry::read_specs(&self.text).map_err(ApiError::invalid)?;
        Ok(read.into_iter().map(view::read).collect())
    }
}

/// The state of a server, or why it can have none.
pub(super) fn state(hub: &Hub, server: &crate::model::spec::Registered) -> ServerState {
    view::state(hub, server).0
}
