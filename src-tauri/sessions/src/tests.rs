use tokio::time::advance;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_stateless_session_stays_during_a_call_and_for_the_idle_timeout_after_it() {
    let sessions = ClientSessions::new(Events::new());
    let hello = ClientHello {
        era: Era::Modern,
        ..ClientHello::for_manual_calls()
    };
    let open = |name: &str| {
        sessions
            .get_or_open_stateless(&ClientName::new(name), &hello, &ClientScope::ALL)
            .expect("a session")
            .0
    };
    let session = open("long");
    let call = session.begin_request("1").expect("the id is free");
    advance(IDLE_TIMEOUT * 2).await;
    open("second");
    assert!(
        !session.ended.is_cancelled(),
        "a session with a call in flight stays open"
    );
    drop(call);
    advance(IDLE_TIMEOUT / 2).await;
    open("third");
    assert!(
        !session.ended.is_cancelled(),
        "a session that was used a moment ago stays open"
    );
    advance(IDLE_TIMEOUT).await;
    open("fourth");
    assert!(session.ended.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_stateless_session_ends_after_the_idle_timeout_even_if_no_other_client_connects() {
    let sessions = ClientSessions::new(Events::new());
    let hello = ClientHello {
        era: Era::Modern,
        ..ClientHello::for_manual_calls()
    };
    let open = || {
        sessions
            .get_or_open_stateless(&ClientName::new("c"), &hello, &ClientScope::ALL)
            .expect("a session")
    };
    let (first, _) = open();
    advance(IDLE_TIMEOUT / 2).await;
    assert_eq!(open().0.id, first.id, "the session is in use");
    advance(IDLE_TIMEOUT * 2).await;
    let (second, is_new) = open();
    assert!(is_new && second.id != first.id && first.ended.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_changed_tools_counts_as_ignoring_the_changes() {
    let sessions = ClientSessions::new(Events::new());
    let hello = ClientHello::for_manual_calls();
    let session = sessions
        .open(ClientName::new("c"), hello, ClientScope::ALL)
        .expect("a session");
    session.record_tool_change();
    advance(LIST_CHANGE_TIMEOUT / 2).await;
    session.record_tool_change();
    assert!(!session.ignores_tool_changes(), "the client still has time");
    advance(LIST_CHANGE_TIMEOUT).await;
    assert!(
        session.ignores_tool_changes(),
        "the first change counts, not the latest"
    );
    session.record_tools_read();
    assert!(!session.ignores_tool_changes());
    advance(LIST_CHANGE_TIMEOUT * 2).await;
    assert!(!session.ignores_tool_changes(), "nothing has changed since");
}

#[test]
fn the_requests_in_flight_of_a_session_are_limited() {
    let sessions = ClientSessions::new(Events::new());
    let hello = ClientHello::for_manual_calls();
    let session = sessions
        .open(ClientName::new("c"), hello, ClientScope::ALL)
        .expect("a session");
    let mut in_flight = Vec::new();
    let refused = loop {
        match session.begin_request(&in_flight.len().to_string()) {
            Ok(request) => in_flight.push(request),
            Err(error) => break error,
        }
        assert!(in_flight.len() <= 512, "no limit");
    };
    assert_eq!((refused, in_flight.len()), (NotBegun::TooMany, 512));
    drop(in_flight.remove(0));
    assert_eq!(
        session.begin_request("511").err(),
        Some(NotBegun::IdInUse),
        "there is room, but not for the same id"
    );
    assert!(session.begin_request("0").is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_sessions_in_a_loop_has_to_wait_and_no_other_client_does() {
    let sessions = ClientSessions::new(Events::new());
    let open = |name: &str| {
        let client = ClientName::new(name);
        let hello = ClientHello::for_manual_calls();
        let session = sessions.open(client, hello, ClientScope::ALL)?;
        sessions.close(&session.id);
        Ok::<_, TooManyOpened>(())
    };
    let refused = (0..100_000).find_map(|_| open("looping").err());
    let refused = refused.expect("there is a limit");
    assert_eq!(refused.wait_s, 1);
    let modern = ClientHello {
        era: Era::Modern,
        ..ClientHello::for_manual_calls()
    };
    let stateless =
        sessions.get_or_open_stateless(&ClientName::new("looping"), &modern, &ClientScope::ALL);
    assert_eq!(
        stateless.err(),
        Some(refused),
        "the sessions of both eras count"
    );
    assert_eq!(open("other"), Ok(()));
    advance(Duration::from_secs(refused.wait_s)).await;
    assert_eq!(open("looping"), Ok(()));
}
