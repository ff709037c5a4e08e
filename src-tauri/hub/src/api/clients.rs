//! Clients: the AI applications that may knock, each with its own token.

use serde::{Deserialize, Serialize};

use super::{ApiError, Done, Verb};
use crate::{
    clients::standard,
    hub::Hub,
    model::ids::{ClientName, Timestamp},
    secrets::Secret,
};

/// The endpoint's URL unless told otherwise; given where no hub listens, as when a folder is provisioned.
const DEFAULT_URL: &str = "http://127.0.0.1:8765/mcp";

/// A client that was added, or that came over the stdio bridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientView {
    pub name: ClientName,
    /// Whether it has a token; one that came over the stdio bridge has none.
    pub has_token: bool,
    pub created_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// Client sessions open now.
    pub sessions: u32,
    /// What the client called itself at `initialize`, such as `claude-code 2.1.329`.
    pub software: Option<String>,
    /// The profile that says what it sees; none for all.
    pub profile: Option<String>,
}

/// The token of a new client: shown once, kept nowhere.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientAdded {
    pub name: ClientName,
    pub token: String,
    /// The endpoint, such as `http://127.0.0.1:8765/mcp`.
    pub url: String,
    /// The `mcpServers` JSON to paste into the client's settings, over HTTP.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub config: serde_json::Value,
    /// The same for a client that only speaks stdio; it holds no token.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub stdio_config: serde_json::Value,
}

/// `clients.list`: all clients, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListClients {}

/// `clients.add`: a new client and its token. A revoked client's name can be added again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddClient {
    pub name: ClientName,
    /// A given token of at least 32 characters; a random one where there is none.
    #[serde(default)]
    pub token: Option<String>,
}

/// `clients.revoke`: its token and its sessions end at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RevokeClient {
    pub name: ClientName,
}

impl Verb for ListClients {
    const NAME: &'static str = "clients.list";
    type Answer = Vec<ClientView>;

    async fn run(self, hub: &Hub) -> Result<Vec<ClientView>, ApiError> {
        let rows = hub.access.clients();
        Ok(rows
            .into_iter()
            .map(|row| ClientView {
                has_token: row.token_hmac.is_some(),
                created_at: row.created_at,
                last_seen_at: row.last_seen_at,
                revoked_at: row.revoked_at,
                sessions: u32::try_from(hub.sessions.count_of(&row.name)).unwrap_or(u32::MAX),
                software: row.software,
                profile: hub
                    .catalog
                    .profiles()
                    .of(&row.name)
                    .map(|profile| profile.name.clone()),
                name: row.name,
            })
            .collect())
    }
}

impl Verb for AddClient {
    const NAME: &'static str = "clients.add";
    type Answer = ClientAdded;

    async fn run(self, hub: &Hub) -> Result<ClientAdded, ApiError> {
        let token = hub.access.add(&self.name, self.token).await?;
        hub.logs.mask(&Secret::new(token.clone()));
        let url = hub.url().unwrap_or_else(|| DEFAULT_URL.to_owned());
        let config = standard::http(&url, &token);
        let stdio_config = standard::stdio(&self.name);
        Ok(ClientAdded {
            name: self.name,
            token,
            url,
            config,
            stdio_config,
        })
    }
}

impl Verb for RevokeClient {
    const NAME: &'static str = "clients.revoke";
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.access.revoke(&self.name).await?;
        hub.sessions.close_all_of(&self.name);
        hub.rules.remove_client(&self.name).await?;
        hub.catalog.profiles().assign(&self.name, None).await?;
        Ok(Done {})
    }
}
