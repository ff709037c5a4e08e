//! Tests when a session's end has to be awaited, and which and how many subscriptions a session
//! has.

use drawbridge_jsonrpc::json;
use drawbridge_model::{event::Events, ids::ClientName, protocol::handshake};
use drawbridge_sessions::{ClientScope, ClientSessions};

use super::*;

fn open(sessions: &ClientSessions) -> Arc<ClientSession> {
    let params = json::raw(r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#.into());
    let hello = handshake::read_initialize(Some(&params)).expect("a hello");
    sessions
        .open(ClientName::new("c"), hello, ClientScope::ALL)
        .expect("a session")
}

#[test]
fn a_session_is_watched_once_however_often_it_subscribes() {
    let (sessions, subscriptions, server) = (
        ClientSessions::new(Events::new()),
        Subscriptions::default(),
        ServerId::new("s"),
    );
    let session = open(&sessions);
    assert!(
        subscriptions.add(&server, "file:///a", &session),
        "this is the first subscription of the session"
    );
    for _ in 0..10 {
        assert!(!subscriptions.add(&server, "file:///b", &session));
        assert!(
            !subscriptions.remove(&server, "file:///b", &session),
            "the resource has no other subscriber"
        );
    }
    assert_eq!(
        subscriptions.server_of("file:///a", &session),
        Some(server.clone())
    );
    assert_eq!(subscriptions.server_of("file:///b", &session), None);
    assert_eq!(
        subscriptions.take_session(&session),
        [(server.clone(), "file:///a".to_owned())].into()
    );
    assert!(
        subscriptions.add(&server, "file:///a", &open(&sessions)),
        "this is the first subscription of another session"
    );
}

#[test]
fn a_session_subscribes_to_a_bounded_number_of_resources() {
    let (sessions, subscriptions, server) = (
        ClientSessions::new(Events::new()),
        Subscriptions::default(),
        ServerId::new("s"),
    );
    let session = open(&sessions);
    for number in 0..MAX_PER_SESSION {
        assert!(subscriptions.has_room(&session), "{number}");
        subscriptions.add(&server, &number.to_string(), &session);
    }
    assert!(!subscriptions.has_room(&session));
    subscriptions.remove(&server, "7", &session);
    assert!(subscriptions.has_room(&session));
    assert!(
        subscriptions.has_room(&open(&sessions)),
        "the limit applies to each session"
    );
}
