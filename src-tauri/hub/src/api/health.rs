//! Health: whether the hub works, for people and for probes.

use drawbridge_model::{listener::ListenerHealth, server::ServerState};
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb, servers};
use crate::hub::Hub;

/// The answer of `GET /health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HealthView {
    pub status: HealthStatus,
    /// Always `drawbridge`.
    pub service: String,
    pub version: String,
    pub builtin_tools: BuiltinTools,
    pub registry: RegistryHealth,
    pub storage: StorageHealth,
    pub ready: bool,
    pub transports: Vec<ListenerHealth>,
    /// The number of client sessions that are open now.
    pub sessions: u32,
    pub servers: ServersHealth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    Ok,
    /// Some servers are in error, or a listener does not listen.
    Degraded,
    /// All servers are in error.
    Down,
}

/// The hub's own tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BuiltinTools {
    pub total: u32,
    pub names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RegistryHealth {
    pub servers_total: u32,
    pub servers_enabled: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StorageHealth {
    /// The number of clients with an open session.
    pub active_users: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServersHealth {
    pub connected: u32,
    pub errors: u32,
}

/// `health.show`: the health of the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowHealth {}

impl Verb for ShowHealth {
    type Answer = HealthView;

    async fn run(self, hub: &Hub) -> Result<HealthView, ApiError> {
        let specs = hub.registry.specs();
        let states: Vec<_> = specs
            .servers
            .values()
            .map(|server| servers::server_state(hub, server))
            .collect();
        let count = |wanted: &[ServerState]| {
            to_u32(states.iter().filter(|state| wanted.contains(state)).count())
        };
        let connected = count(&[ServerState::Active]);
        let errors = count(&[
            ServerState::Error,
            ServerState::NeedsSecret,
            ServerState::NeedsSignIn,
        ]) + to_u32(specs.broken.len());
        let enabled = to_u32(
            specs
                .servers
                .values()
                .filter(|server| server.spec.enabled)
                .count(),
        );
        let transports = hub.listener_health();
        let all_listen = transports.iter().all(|transport| transport.listening);
        let status = match errors {
            0 if all_listen => HealthStatus::Ok,
            errors if errors > 0 && errors >= enabled + to_u32(specs.broken.len()) => {
                HealthStatus::Down
            }
            _ => HealthStatus::Degraded,
        };
        Ok(HealthView {
            status,
            service: "drawbridge".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            builtin_tools: BuiltinTools::default(),
            registry: RegistryHealth {
                servers_total: to_u32(specs.servers.len()),
                servers_enabled: enabled,
            },
            storage: StorageHealth {
                active_users: to_u32(hub.sessions.count_clients()),
            },
            ready: true,
            transports,
            sessions: to_u32(hub.sessions.count()),
            servers: ServersHealth { connected, errors },
        })
    }
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
