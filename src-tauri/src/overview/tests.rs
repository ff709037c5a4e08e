use drawbridge_hub::api::health::{
    BuiltinTools, HealthCheck, HealthStatus, HealthView, RegistryHealth, ServersHealth,
    StorageHealth,
};
use drawbridge_model::{ids::ServerId, listener::ListenerHealth, server::ServerState};

use super::{ServerLine, Trouble, find_trouble};

fn health(status: HealthStatus, listening: bool) -> HealthView {
    HealthView {
        status,
        service: "drawbridge".into(),
        version: "0.1.0".into(),
        builtin_tools: BuiltinTools::default(),
        registry: RegistryHealth {
            servers_total: 1,
            servers_enabled: 1,
        },
        storage: StorageHealth { active_users: 0 },
        ready: true,
        checks: Vec::new(),
        transports: vec![ListenerHealth {
            name: "http".into(),
            address: "127.0.0.1:8765".into(),
            listening,
            error: String::new(),
        }],
        sessions: 0,
        servers: ServersHealth {
            connected: 0,
            errors: 0,
            states: Vec::new(),
        },
    }
}

pub(crate) fn server_line(id: &str, name: &str, state: ServerState) -> ServerLine {
    ServerLine {
        id: ServerId::new(id),
        name: name.into(),
        state,
        reason: String::new(),
        retry_at: None,
        crashed_often: false,
        waiting: 0,
    }
}

fn server(state: ServerState) -> ServerLine {
    server_line("files", "files", state)
}

#[test]
fn a_hub_that_works_has_no_trouble() {
    let servers = [
        server(ServerState::Idle),
        server(ServerState::NeedsAcceptance),
        server(ServerState::Disabled),
    ];
    assert_eq!(
        find_trouble(&health(HealthStatus::Ok, true), &servers),
        None
    );
}

#[test]
fn a_listener_that_does_not_listen_is_reported_before_a_server_in_error() {
    let servers = [server(ServerState::Error)];
    let trouble = find_trouble(&health(HealthStatus::Degraded, false), &servers);
    assert_eq!(
        trouble,
        Some(Trouble::NotListening {
            address: "127.0.0.1:8765".into()
        })
    );
}

#[test]
fn a_failed_check_is_reported_before_a_server_in_error() {
    let mut degraded = health(HealthStatus::Degraded, true);
    for (name, ok) in [("database", true), ("disk", false)] {
        degraded.checks.push(HealthCheck {
            name: name.into(),
            ok,
            error: String::new(),
        });
    }
    let trouble = find_trouble(&degraded, &[server(ServerState::Error)]);
    let check = "disk".to_owned();
    assert_eq!(trouble, Some(Trouble::CheckFailed { check }));
}

#[test]
fn servers_in_error_are_counted() {
    let one_failed = [server(ServerState::Error), server(ServerState::Active)];
    assert_eq!(
        find_trouble(&health(HealthStatus::Degraded, true), &one_failed),
        Some(Trouble::Errors { servers: 1 })
    );
    let two_failed = [server(ServerState::Error), server(ServerState::Error)];
    assert_eq!(
        find_trouble(&health(HealthStatus::Down, true), &two_failed),
        Some(Trouble::Errors { servers: 2 })
    );
}
