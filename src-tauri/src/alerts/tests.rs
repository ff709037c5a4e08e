use drawbridge_model::{clock, ids::Timestamp, server::ServerState};

use super::{AlertKind, Alerts};
use crate::overview::{Overview, ServerLine, Trouble, tests::server_line};

fn server(state: ServerState) -> ServerLine {
    ServerLine {
        reason: "the program is missing".into(),
        ..server_line("files", "files", state)
    }
}

fn with_definitions(waiting: usize) -> ServerLine {
    ServerLine {
        waiting,
        ..server(ServerState::Active)
    }
}

/// Returns the kinds of the unseen alerts after an overview of one server.
fn kinds_after(alerts: &mut Alerts, server: ServerLine) -> Vec<AlertKind> {
    alerts.update(&Overview {
        servers: vec![server],
        ..Overview::default()
    });
    alerts.list().map(|alert| alert.kind).collect()
}

#[test]
fn a_failed_server_is_reported_once_until_it_recovers() {
    let mut alerts = Alerts::default();
    assert_eq!(
        kinds_after(&mut alerts, server(ServerState::Error)),
        [AlertKind::Failed]
    );
    assert_eq!(
        alerts.list().next().map(|alert| alert.reason.as_str()),
        Some("the program is missing")
    );
    alerts.clear();
    for state in [
        ServerState::Error,
        ServerState::Idle,
        ServerState::Initializing,
        ServerState::Error,
    ] {
        assert_eq!(kinds_after(&mut alerts, server(state)), [], "{state:?}");
    }
    assert_eq!(kinds_after(&mut alerts, server(ServerState::Active)), []);
    assert_eq!(
        kinds_after(&mut alerts, server(ServerState::Error)),
        [AlertKind::Failed],
        "the server had recovered"
    );
    assert_eq!(
        kinds_after(&mut alerts, server(ServerState::Active)),
        [],
        "the server recovered before the person looked"
    );
}

#[test]
fn a_server_that_a_person_stopped_or_that_is_tried_again_soon_is_not_reported() {
    let mut alerts = Alerts::default();
    for state in [
        ServerState::Closed,
        ServerState::Disabled,
        ServerState::Idle,
    ] {
        assert_eq!(kinds_after(&mut alerts, server(state)), [], "{state:?}");
    }
    let paused = ServerLine {
        retry_at: Some(Timestamp(clock::now().0 + 5_000)),
        ..server(ServerState::Error)
    };
    assert_eq!(kinds_after(&mut alerts, paused.clone()), []);
    let crashed_often = ServerLine {
        crashed_often: true,
        ..paused
    };
    assert_eq!(
        kinds_after(&mut alerts, crashed_often),
        [AlertKind::Failed],
        "the server crashed too often, whatever is left of its pause"
    );
}

#[test]
fn definitions_that_begin_to_wait_are_reported_once_until_none_waits() {
    let mut alerts = Alerts::default();
    assert_eq!(
        kinds_after(&mut alerts, with_definitions(1)),
        [],
        "the definitions waited before the app started"
    );
    assert_eq!(kinds_after(&mut alerts, with_definitions(0)), []);
    assert_eq!(
        kinds_after(&mut alerts, with_definitions(2)),
        [AlertKind::DefinitionsWait]
    );
    alerts.clear();
    assert_eq!(kinds_after(&mut alerts, with_definitions(3)), []);
    assert_eq!(kinds_after(&mut alerts, with_definitions(0)), []);
    assert_eq!(
        kinds_after(&mut alerts, with_definitions(1)),
        [AlertKind::DefinitionsWait]
    );
}

#[test]
fn a_hub_that_does_not_answer_changes_nothing_and_a_removed_server_is_no_alert() {
    let mut alerts = Alerts::default();
    kinds_after(&mut alerts, server(ServerState::Error));
    alerts.update(&Overview {
        trouble: Some(Trouble::NoAnswer {
            error: String::new(),
        }),
        ..Overview::default()
    });
    assert_eq!(alerts.list().count(), 1);
    alerts.update(&Overview::default());
    assert_eq!(alerts.list().count(), 0);
}
