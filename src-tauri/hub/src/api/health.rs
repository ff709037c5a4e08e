//! Health: whether the hub works, for people and for probes.

use std::collections::BTreeSet;

use drawbridge_model::{
    builtin::BuiltIn, ids::ServerId, listener::ListenerHealth, server::ServerState,
};
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb, servers};
use crate::{catalog::deferred, hub::Hub};

/// The answer of `health.show` and of `GET /health`.
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
    /// Whether all checks pass.
    pub ready: bool,
    pub checks: Vec<HealthCheck>,
    /// The listeners at which clients can connect.
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
    /// Some servers have errors, or a check fails.
    Degraded,
    /// No enabled server works: `servers.errors` counts all of them.
    Down,
}

/// Drawbridge's own tools that clients can see: the tools of its built-in servers, and
/// `tool_search` and `tool_call` if a server is deferred.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BuiltinTools {
    pub total: u32,
    pub names: Vec<String>,
}

/// The servers in the registry, without the built-in servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RegistryHealth {
    pub servers_total: u32,
    pub servers_enabled: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StorageHealth {
    /// The number of users who have a client with an open session.
    pub active_users: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServersHealth {
    /// The number of servers in the state `active`.
    pub connected: u32,
    /// The number of servers that are in the state `error`, or that need a secret or a sign-in,
    /// plus the number of spec files that cannot be read.
    pub errors: u32,
    /// The state of each server. The list is empty if the caller is not an administrator.
    pub states: Vec<ServerHealth>,
}

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerHealth {
    pub id: ServerId,
    pub state: ServerState,
}

/// The result of checking a part of the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HealthCheck {
    /// `database`, `listeners`, `registry` or `disk`.
    pub name: String,
    pub ok: bool,
    /// The fault, in words; empty if `ok`, or if the caller is not an administrator.
    pub error: String,
}

/// `health.show`: the health of the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowHealth {}

impl Verb for ShowHealth {
    type Answer = HealthView;

    async fn run(self, hub: &Hub) -> Result<HealthView, ApiError> {
        let specs = hub.registry.specs();
        let checks = check_parts(hub).await;
        let external: Vec<_> = specs
            .servers
            .values()
            .filter(|server| server.spec.builtin.is_none())
            .collect();
        let states: Vec<_> = external
            .iter()
            .map(|server| servers::server_state(hub, server))
            .collect();
        let count = |selected: &[ServerState]| {
            to_u32(
                states
                    .iter()
                    .filter(|state| selected.contains(state))
                    .count(),
            )
        };
        let server_states = external
            .iter()
            .zip(&states)
            .map(|(server, state)| ServerHealth {
                id: server.id.clone(),
                state: *state,
            })
            .collect();
        let connected = count(&[ServerState::Active]);
        let errors = count(&[
            ServerState::Error,
            ServerState::NeedsSecret,
            ServerState::NeedsSignIn,
        ]) + to_u32(specs.broken.len());
        let enabled = external.iter().filter(|server| server.spec.enabled);
        let enabled = to_u32(enabled.count());
        let ready = checks.iter().all(|check| check.ok);
        let status = match errors {
            0 if ready => HealthStatus::Ok,
            errors if errors > 0 && errors >= enabled + to_u32(specs.broken.len()) => {
                HealthStatus::Down
            }
            _ => HealthStatus::Degraded,
        };
        Ok(HealthView {
            status,
            service: "drawbridge".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            builtin_tools: builtin_tools(hub),
            registry: RegistryHealth {
                servers_total: to_u32(external.len()),
                servers_enabled: enabled,
            },
            storage: StorageHealth {
                active_users: to_u32(active_users(hub)),
            },
            ready,
            checks,
            transports: hub.listener_health(),
            sessions: to_u32(hub.sessions.count()),
            servers: ServersHealth {
                connected,
                errors,
                states: server_states,
            },
        })
    }
}

fn builtin_tools(hub: &Hub) -> BuiltinTools {
    let snapshot = hub.catalog.snapshot();
    let view = snapshot.all();
    let mut names: Vec<_> = BuiltIn::ALL
        .iter()
        .flat_map(|built_in| view.server_tools(&built_in.id()))
        .map(|tool| tool.exposed_name.clone())
        .collect();
    if deferred::is_offered(view) {
        names.extend([deferred::TOOL_SEARCH, deferred::TOOL_CALL].map(str::to_owned));
    }
    BuiltinTools {
        total: to_u32(names.len()),
        names,
    }
}

/// Returns the number of users who have a client with an open session.
fn active_users(hub: &Hub) -> usize {
    let sessions = hub.sessions.all();
    let users: BTreeSet<_> = sessions
        .iter()
        .filter_map(|session| hub.access.find_user(&session.client))
        .collect();
    users.len()
}

impl HealthView {
    /// Returns the health for callers that are not administrators: without the states of the
    /// servers, and without texts that may name a path.
    #[must_use]
    pub fn for_anyone(mut self) -> Self {
        self.servers.states.clear();
        for check in &mut self.checks {
            check.error.clear();
        }
        // The address of a local socket is a path in this user's folders.
        for local in self
            .transports
            .iter_mut()
            .filter(|listener| listener.name == "local")
        {
            local.address.clear();
            if !local.listening {
                local.error = "not listening".into();
            }
        }
        self
    }
}

/// Checks that the database can be written, that the listeners listen, that the folder of the specs
/// can be read, and that the disk has free space.
async fn check_parts(hub: &Hub) -> Vec<HealthCheck> {
    let database = match hub.store.check_writable().await {
        Ok(()) if hub.journal.is_failing() => "records cannot be written; see the log".to_owned(),
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    };
    let not_listening: Vec<_> = hub
        .listener_health()
        .into_iter()
        .filter(|listener| !listener.listening)
        .map(|listener| format!("{}: {}", listener.name, listener.error))
        .collect();
    let registry = match std::fs::read_dir(hub.data_dir.servers_dir()) {
        Ok(_) => String::new(),
        Err(error) => format!("the folder of the specs cannot be read: {error}"),
    };
    [
        ("database", database),
        ("listeners", not_listening.join("; ")),
        ("registry", registry),
        ("disk", hub.low_space_warning().await.unwrap_or_default()),
    ]
    .map(|(name, error)| HealthCheck {
        name: name.to_owned(),
        ok: error.is_empty(),
        error,
    })
    .into()
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
