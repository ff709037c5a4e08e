//! The summary of the hub that the tray, the popup and the notifications show: the state of the
//! drawbridge, the waiting calls and clients, the muted clients, the servers, and any trouble.

use drawbridge_endpoint::HubHandle;
use drawbridge_hub::api::{
    ApiError,
    approvals::ListApprovals,
    calls::ListCalls,
    clients::ListClients,
    drawbridge::ShowDrawbridge,
    health::{HealthStatus, HealthView, ShowHealth},
    pairing::ListPairings,
    servers::ListServers,
    settings::ShowSettings,
};
use drawbridge_model::{
    approval::ApprovalRequest,
    ids::{ClientName, ServerId, Timestamp},
    pairing::PairingRequest,
    server::ServerState,
};

/// The number of calls from which the first overview learns which servers were used last.
const RECENT_CALLS: u32 = 50;
/// The maximum number of servers that are remembered as used last.
const MAX_RECENT: usize = 50;

/// The state of the hub, as far as the tray, the popup and the notifications need it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Overview {
    /// Whether all calls are paused.
    pub(crate) paused: bool,
    /// When paused calls resume by themselves, or `None` if a person has to resume them.
    pub(crate) resumes_at: Option<Timestamp>,
    /// The URL that clients connect to, if the hub listens.
    pub(crate) url: Option<String>,
    /// The waiting calls, oldest first.
    pub(crate) waiting: Vec<ApprovalRequest>,
    /// The clients that ask to be paired, oldest first.
    pub(crate) pairings: Vec<PairingRequest>,
    /// The muted clients, each with the end of its mute.
    pub(crate) muted: Vec<(ClientName, Timestamp)>,
    /// The servers, without the built-in servers.
    pub(crate) servers: Vec<ServerLine>,
    /// The servers of recent calls, newest first.
    pub(crate) recent: Vec<ServerId>,
    /// The most important problem, or `None` if there is none.
    pub(crate) trouble: Option<Trouble>,
}

/// A problem that a person has to solve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The hub does not answer.
    NoAnswer { error: String },
    /// A listener does not listen, so no client can connect to this address.
    NotListening { address: String },
    /// This many servers are in the state [`ServerState::Error`].
    Errors { servers: usize },
    /// The hub's check of the database, of the folder of the specs, or of the disk fails.
    CheckFailed { check: String },
    /// Some servers need a secret or a sign-in, or their specs cannot be read.
    NeedsAttention,
}

/// The facts about a server that the tray and the notifications show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerLine {
    pub(crate) id: ServerId,
    pub(crate) name: String,
    pub(crate) state: ServerState,
    /// Why the server is in this state; empty if there is nothing to report.
    pub(crate) reason: String,
    /// When the server may be started again after a failure.
    pub(crate) retry_at: Option<Timestamp>,
    /// Whether the server crashed so often that no request starts it before `retry_at`.
    pub(crate) crashed_often: bool,
    /// How many new and changed definitions wait for acceptance.
    pub(crate) waiting: usize,
}

impl Overview {
    /// Reads the overview from the hub. If the hub does not answer, the overview is empty except
    /// for [`Trouble::NoAnswer`].
    pub(crate) async fn read(hub: &HubHandle) -> Self {
        Self::try_read(hub).await.unwrap_or_else(|error| Self {
            trouble: Some(Trouble::NoAnswer {
                error: error.to_string(),
            }),
            ..Self::default()
        })
    }

    async fn try_read(hub: &HubHandle) -> Result<Self, ApiError> {
        let drawbridge = hub.run(ShowDrawbridge {}).await?;
        let waiting = hub.run(ListApprovals {}).await?;
        let pairings = hub.run(ListPairings {}).await?;
        let clients = hub.run(ListClients {}).await?;
        let servers = hub.run(ListServers {}).await?.servers;
        let health = hub.run(ShowHealth {}).await?;
        let url = hub.run(ShowSettings {}).await?.url;
        let servers: Vec<ServerLine> = servers
            .into_iter()
            // A built-in server never needs a person's attention.
            .filter(|server| server.spec.builtin.is_none())
            .map(|server| ServerLine {
                id: server.id,
                name: server.name,
                state: server.state,
                reason: server.reason,
                retry_at: server.retry_at,
                crashed_often: server.crashed_often,
                waiting: server.unaccepted.len(),
            })
            .collect();
        let trouble = find_trouble(&health, &servers);
        Ok(Self {
            paused: drawbridge.paused,
            resumes_at: drawbridge.resumes_at,
            url,
            waiting,
            pairings,
            muted: clients
                .into_iter()
                .filter_map(|client| Some((client.name, client.mute?.until)))
                .collect(),
            servers,
            recent: Vec::new(),
            trouble,
        })
    }

    /// Reads the servers of the latest calls, for the first overview. Returns nothing if the hub
    /// does not answer, because the overview then reports the failure.
    pub(crate) async fn read_recent(hub: &HubHandle) -> Vec<ServerId> {
        let latest = ListCalls {
            limit: Some(RECENT_CALLS),
            ..ListCalls::default()
        };
        let mut recent = Vec::new();
        for call in hub.run(latest).await.unwrap_or_default() {
            if !call.server.as_str().is_empty() && !recent.contains(&call.server) {
                recent.push(call.server);
            }
        }
        recent
    }

    /// Records a call of a server. Returns whether this changed the list of the servers of recent
    /// calls.
    pub(crate) fn record_call(&mut self, server: &ServerId) -> bool {
        if server.as_str().is_empty() || self.recent.first() == Some(server) {
            return false;
        }
        self.recent.retain(|recent| recent != server);
        self.recent.insert(0, server.clone());
        self.recent.truncate(MAX_RECENT);
        true
    }
}

/// Returns the most important problem. A listener that does not listen comes first, because no
/// client can connect through it, and then a failed check, because it may affect every call.
fn find_trouble(health: &HealthView, servers: &[ServerLine]) -> Option<Trouble> {
    if let Some(listener) = health
        .transports
        .iter()
        .find(|listener| !listener.listening)
    {
        return Some(Trouble::NotListening {
            address: listener.address.clone(),
        });
    }
    if let Some(check) = health.checks.iter().find(|check| !check.ok) {
        return Some(Trouble::CheckFailed {
            check: check.name.clone(),
        });
    }
    match servers
        .iter()
        .filter(|server| server.state == ServerState::Error)
        .count()
    {
        0 if health.status == HealthStatus::Ok => None,
        0 => Some(Trouble::NeedsAttention),
        servers => Some(Trouble::Errors { servers }),
    }
}

#[cfg(test)]
pub(crate) mod tests;
