//! Clients: the AI applications that may connect. Each client that connects over HTTP has its own
//! token.

use std::{collections::BTreeSet, num::NonZeroU32, time::Duration};

use drawbridge_client_config::{Connection, find_client};
use drawbridge_model::{
    approval::ClientMute,
    audit::AuditKind,
    clock,
    ids::{ClientName, Timestamp, UserName},
};
use drawbridge_store::secrets::Secret;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Done, Verb, profiles};
use crate::{access::TokenLifetime, hub::Hub};

/// The period in which abandoned calls are counted, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A client that a person added or paired, or that connected without a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientView {
    pub name: ClientName,
    /// The user to whom the client belongs, and whose memory it reads and writes.
    pub user: UserName,
    /// Whether the client has a token. A client of the stdio bridge has none.
    pub has_token: bool,
    /// How many calls the client may make in a minute; null if the number is not limited.
    pub calls_per_minute: Option<NonZeroU32>,
    /// When the token expires; null if it does not expire.
    pub token_expires_at: Option<Timestamp>,
    /// When the old token expires after a rotation, if nobody uses the new token before.
    pub old_token_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// The number of client sessions that are open now.
    pub sessions: u32,
    /// The name and version that the client reported, such as `claude-code 2.1.329`.
    pub software: Option<String>,
    /// The `User-Agent` of the last request with the client's token: untrusted plain text.
    pub user_agent: Option<String>,
    /// The profile that limits what the client sees; null if the client sees everything, or if its
    /// profile was removed.
    pub profile: Option<String>,
    /// Whether the client's profile was removed. The client then sees nothing until a person
    /// assigns another profile, or chooses that the client has no profile.
    pub profile_removed: bool,
    /// The number of calls that the client abandoned before a decision, in the last 24 hours.
    pub abandoned_calls: u32,
    /// The longest time that the client waited before it abandoned one of these calls, in
    /// milliseconds.
    pub longest_wait_ms: u32,
    /// Whether a legacy session of the client was notified of changed tools more than a minute ago,
    /// and has not read the list of tools since.
    pub ignores_tool_changes: bool,
    /// The client's mute; null if the client is not muted. A client is muted for a minute if nobody
    /// decides three of its requests in a row.
    pub mute: Option<ClientMute>,
}

/// A new client and its token, which is shown once and stored only as an HMAC.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientAdded {
    pub name: ClientName,
    pub token: String,
    /// The URL of the endpoint, such as `http://127.0.0.1:8765/mcp`. If there are allowed hosts,
    /// the URL has the first allowed host.
    pub url: String,
    /// The `mcpServers` JSON for HTTP, with the token, to paste into the client's settings.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub config: serde_json::Value,
    /// The `mcpServers` JSON for a client that supports only stdio, without a token.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub stdio_config: serde_json::Value,
}

/// `clients.list`: all clients, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListClients {}

/// `clients.add`: adds a client and creates its token. The name may be that of a revoked client, or
/// of a client that has no token because it connects over the stdio bridge.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddClient {
    pub name: ClientName,
    /// A token of the person's choice, with at least 32 characters; a random token if absent.
    #[serde(default)]
    pub token: Option<String>,
    /// The user to whom the client belongs. If absent, the client belongs to the user of the
    /// earlier client of this name, or else to `default`.
    #[serde(default)]
    pub user: Option<UserName>,
    /// How long the token is valid, in seconds, at least 1; without end if absent.
    #[serde(default)]
    pub lifetime_s: Option<u32>,
    /// The profile that limits what the client sees. If it is absent, the client keeps the profile
    /// that was assigned to its name, or sees everything.
    #[serde(default)]
    pub profile: Option<String>,
}

/// `clients.rotate`: gives a client a new token, and writes it to the files that Drawbridge manages
/// for this client. The old token is valid until the new token is used, at most for 24 hours.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RotateClient {
    pub name: ClientName,
    /// A token of the person's choice, with at least 32 characters; a random token if absent.
    #[serde(default)]
    pub token: Option<String>,
    /// How long the new token is valid, in seconds, or 0 for a token without an end. If it is
    /// absent, the new token gets the lifetime that the old token had.
    #[serde(default)]
    pub lifetime_s: Option<u32>,
}

/// The new token of a client, which is shown once.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientRotated {
    pub name: ClientName,
    pub token: String,
    /// As in `clients.add`.
    pub url: String,
    /// The `mcpServers` JSON for HTTP, with the token, to paste into the client's settings.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub config: serde_json::Value,
    /// The files of the client that have the new token.
    pub updated_files: Vec<String>,
    /// The files that still have the old token, and why.
    pub failed_files: Vec<FailedFile>,
}

/// A file of a client that could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FailedFile {
    pub path: String,
    pub error: String,
}

/// `clients.set_user`: gives a client to another user. The client's sessions end, and the lists and
/// results that Drawbridge keeps for the client are deleted, because they may contain data of the
/// previous user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetClientUser {
    pub name: ClientName,
    pub user: UserName,
}

/// `clients.limit`: limits how many calls a client may make in a minute, effective at once. Other
/// guarded requests of the client count like calls. Requests about a task do not count, because the
/// call that started the task did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LimitClient {
    pub name: ClientName,
    /// The limit, at least 1; no limit if absent.
    #[serde(default)]
    pub calls_per_minute: Option<NonZeroU32>,
}

/// `clients.unmute`: ends a client's mute at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UnmuteClient {
    pub name: ClientName,
}

/// The answer to `clients.unmute`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientUnmuted {
    /// Whether the client was muted until now.
    pub was_muted: bool,
}

/// `clients.revoke`: ends a client's token and sessions at once. Also deletes the client's rules,
/// its assignment to a profile, and the lists and results that Drawbridge keeps for the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RevokeClient {
    pub name: ClientName,
}

impl Verb for ListClients {
    type Answer = Vec<ClientView>;

    async fn run(self, hub: &Hub) -> Result<Vec<ClientView>, ApiError> {
        let rows = hub.access.clients();
        let now = clock::now();
        let since = Timestamp(now.0 - DAY_MS);
        let abandoned = hub.store.abandoned_calls(since).await?;
        let ignoring: BTreeSet<ClientName> = hub
            .sessions
            .all()
            .iter()
            .filter(|session| session.ignores_tool_changes())
            .map(|session| session.client.clone())
            .collect();
        Ok(rows
            .into_iter()
            .map(|row| ClientView {
                abandoned_calls: abandoned.get(&row.name).map_or(0, |calls| calls.count),
                longest_wait_ms: abandoned
                    .get(&row.name)
                    .map_or(0, |calls| calls.longest_wait_ms),
                ignores_tool_changes: ignoring.contains(&row.name),
                mute: hub.queue.find_mute(&row.name),
                user: row.user,
                has_token: row.token_hmac.is_some(),
                calls_per_minute: row.calls_per_minute,
                token_expires_at: row.token_expires_at,
                old_token_until: row.old_token_until.filter(|until| *until > now),
                user_agent: row.user_agent,
                profile_removed: hub.catalog.profiles().has_removed_profile(&row.name),
                created_at: row.created_at,
                last_seen_at: row.last_seen_at,
                revoked_at: row.revoked_at,
                sessions: u32::try_from(hub.sessions.count_for_client(&row.name))
                    .unwrap_or(u32::MAX),
                software: row.software,
                profile: hub
                    .catalog
                    .profiles()
                    .client_profile(&row.name)
                    .map(|profile| profile.name.clone()),
                name: row.name,
            })
            .collect())
    }
}

impl Verb for AddClient {
    type Answer = ClientAdded;

    async fn run(self, hub: &Hub) -> Result<ClientAdded, ApiError> {
        hub.check_http_clients_can_connect()?;
        if self.lifetime_s == Some(0) {
            return Err(ApiError::invalid(
                "a token must be valid for at least one second; leave `lifetime_s` out for a token \
                 without an end",
            ));
        }
        if let Some(profile) = &self.profile {
            hub.catalog.profiles().check_known(profile)?;
        }
        let lifetime = self.lifetime_s.map(|s| Duration::from_secs(s.into()));
        let client = hub
            .access
            .prepare_client(&self.name, self.token, self.user, lifetime)
            .await?;
        let profile = self.profile.as_deref();
        let token = profiles::add_with_profile(hub, &self.name, profile, client.store()).await?;
        hub.logs.add_secret(&Secret::new(token.clone()));
        let config = |token| {
            let connection = hub.manual_connection(&self.name, token);
            standard_config(&connection)
        };
        Ok(ClientAdded {
            url: hub.manual_connection(&self.name, Some(&token)).url,
            config: config(Some(token.as_str())),
            stdio_config: config(None),
            name: self.name,
            token,
        })
    }
}

impl Verb for RotateClient {
    type Answer = ClientRotated;

    async fn run(self, hub: &Hub) -> Result<ClientRotated, ApiError> {
        let lifetime = match self.lifetime_s {
            None => TokenLifetime::Same,
            Some(0) => TokenLifetime::Unlimited,
            Some(seconds) => TokenLifetime::For(Duration::from_secs(seconds.into())),
        };
        let token = hub.access.rotate(&self.name, self.token, lifetime).await?;
        hub.logs.add_secret(&Secret::new(token.clone()));
        // The old token is still valid, so a person can update by hand the files that could not be
        // written.
        let written = hub.write_client_token(&self.name, &token).await;
        let connection = hub.manual_connection(&self.name, Some(&token));
        Ok(ClientRotated {
            url: connection.url.clone(),
            config: standard_config(&connection),
            updated_files: written.updated,
            failed_files: written
                .failed
                .into_iter()
                .map(|(path, error)| FailedFile { path, error })
                .collect(),
            name: self.name,
            token,
        })
    }
}

impl Verb for RevokeClient {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.access.revoke(&self.name).await?;
        hub.queue.unmute(&self.name);
        hub.sessions.close_client(&self.name);
        hub.pool.remove_client_extensions(&self.name);
        hub.rules.delete_for_client(&self.name).await?;
        profiles::assign_profile(hub, &self.name, None).await?;
        hub.delete_client_data(&self.name).await?;
        Ok(Done {})
    }
}

impl Verb for LimitClient {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let limit = self.calls_per_minute;
        hub.access.set_call_limit(&self.name, limit).await?;
        Ok(Done {})
    }
}

impl Verb for UnmuteClient {
    type Answer = ClientUnmuted;

    async fn run(self, hub: &Hub) -> Result<ClientUnmuted, ApiError> {
        hub.access.check_admitted(&self.name)?;
        let was_muted = hub.queue.unmute(&self.name);
        if was_muted {
            let note = json!({ "client": self.name, "muted": false });
            hub.store.append_audit(AuditKind::ClientChanged, &note);
        }
        Ok(ClientUnmuted { was_muted })
    }
}

impl Verb for SetClientUser {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        if hub.access.set_user(&self.name, &self.user).await? {
            hub.sessions.close_client(&self.name);
            hub.delete_client_data(&self.name).await?;
        }
        Ok(Done {})
    }
}

/// Returns the `mcpServers` JSON, which most clients read.
fn standard_config(connection: &Connection) -> serde_json::Value {
    let standard = find_client("standard").expect("`CLIENTS` has the kind `standard`");
    let text = standard
        .snippet(connection)
        .expect("the kind `standard` supports both transports");
    standard.parse_snippet(&text)
}
