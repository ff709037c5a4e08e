use tokio::time::advance;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_stateless_session_stays_while_a_call_is_in_flight_and_for_its_idle_time_after_it() {
    let sessions = ClientSessions::new(Events::new());
    let hello = ClientHello {
        era: Era::Modern,
        ..ClientHello::for_manual_calls()
    };
    let open = |name: &str| {
        sessions
            .get_or_open_stateless(&ClientName::new(name), &hello, &ClientScope::ALL)
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
async fn a_stateless_session_ends_with_its_idle_time_even_if_no_other_client_connects() {
    let sessions = ClientSessions::new(Events::new());
    let hello = ClientHello {
        era: Era::Modern,
        ..ClientHello::for_manual_calls()
    };
    let open = || sessions.get_or_open_stateless(&ClientName::new("c"), &hello, &ClientScope::ALL);
    let (first, _) = open();
    advance(IDLE_TIMEOUT / 2).await;
    assert_eq!(open().0.id, first.id, "the session is in use");
    advance(IDLE_TIMEOUT * 2).await;
    let (second, is_new) = open();
    assert!(is_new && second.id != first.id && first.ended.is_cancelled());
}
