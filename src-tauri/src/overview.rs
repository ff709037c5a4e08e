//! What the tray tells at a glance: whether the drawbridge is raised, the calls that wait, the
//! servers, and what is wrong.

use drawbridge_hub::{
    api::{
        ApiError,
        approvals::ListApprovals,
        drawbridge::ShowDrawbridge,
        health::{HealthStatus, HealthView, ShowHealth},
        servers::ListServers,
    },
    model::{approval::ApprovalRequest, server::ServerState},
};

use crate::door::Door;

/// The hub at a glance.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Overview {
    /// The drawbridge is raised: no call crosses.
    pub(crate) raised: bool,
    /// Oldest first.
    pub(crate) waiting: Vec<ApprovalRequest>,
    pub(crate) servers: Vec<ServerLine>,
    /// What is wrong, in a few words.
    pub(crate) trouble: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerLine {
    pub(crate) name: String,
    pub(crate) state: ServerState,
}

impl Overview {
    /// Reads it from the hub. A hub that does not answer is trouble, and nothing is known of it.
    pub(crate) async fn read(door: &Door) -> Self {
        Self::try_read(door).await.unwrap_or_else(|error| Self {
            trouble: Some(format!("the hub does not answer: {error}")),
            ..Self::default()
        })
    }

    async fn try_read(door: &Door) -> Result<Self, ApiError> {
        let raised = door.run(ShowDrawbridge {}).await?.raised;
        let waiting = door.run(ListApprovals {}).await?;
        let servers = door.run(ListServers {}).await?.servers;
        let health = door.run(ShowHealth {}).await?;
        let servers: Vec<ServerLine> = servers
            .into_iter()
            .map(|server| ServerLine {
                name: server.name,
                state: server.state,
            })
            .collect();
        let trouble = trouble(&health, &servers);
        Ok(Self {
            raised,
            waiting,
            servers,
            trouble,
        })
    }
}

/// A listener that does not listen comes first: without it no client comes in.
fn trouble(health: &HealthView, servers: &[ServerLine]) -> Option<String> {
    if let Some(transport) = health
        .transports
        .iter()
        .find(|transport| !transport.listening)
    {
        return Some(format!("not listening on {}", transport.address));
    }
    match servers
        .iter()
        .filter(|server| server.state == ServerState::Error)
        .count()
    {
        0 if health.status == HealthStatus::Ok => None,
        0 => Some("some servers are in error".to_owned()),
        1 => Some("1 server is in error".to_owned()),
        errors => Some(format!("{errors} servers are in error")),
    }
}

#[cfg(test)]
mod tests;
