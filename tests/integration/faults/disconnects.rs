//! Clients that cancel a call or disconnect during it: the server is notified, however the client
//! ends the call.

use drawbridge_tests::{Bridge, FaultyServer, Home, Hub, wait::some_if, wait_until};
use serde_json::json;

use super::{long_timeouts, read_outcomes};

/// Waits until the server has received `calls` hanging calls.
#[track_caller]
fn wait_until_hanging(faulty: &FaultyServer<'_>, calls: usize) {
    wait_until(format!("call {calls} hangs"), || {
        some_if(faulty.received_calls("hang").len() == calls)
    });
}

/// Checks that the server is notified exactly once of each cancelled call, with the id of the
/// request that it received. The timeout of the calls has not passed, so it is not the reason.
#[track_caller]
fn assert_cancelled_once(faulty: &FaultyServer<'_>, calls: usize) {
    wait_until(format!("call {calls} is cancelled"), || {
        some_if(faulty.received_by_method("notifications/cancelled").len() >= calls)
    });
    let ids = |messages: Vec<serde_json::Value>, pointer: &str| -> Vec<_> {
        messages
            .iter()
            .map(|message| message.pointer(pointer).cloned())
            .collect()
    };
    assert_eq!(
        ids(
            faulty.received_by_method("notifications/cancelled"),
            "/params/requestId"
        ),
        ids(faulty.received_calls("hang"), "/id")
    );
}

#[test]
fn a_call_is_cancelled_once_however_its_client_cancels_it_or_disconnects() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &long_timeouts(), &[]).wait_until_synced();
    let call = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "faulty__hang", "arguments": {}}})
    };
    let cancel = |id: u64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let client = hub.connect_client("desk");

    let connection = client.begin_post(&call(101)).expect("a connection");
    wait_until_hanging(&faulty, 1);
    drop(connection);
    assert_cancelled_once(&faulty, 1);

    let connection = client.begin_post(&call(102)).expect("a connection");
    wait_until_hanging(&faulty, 2);
    assert_eq!(client.post(&cancel(102)).expect("an answer").status, 202);
    assert_cancelled_once(&faulty, 2);
    drop(connection);

    let connection = client.begin_post(&call(103)).expect("a connection");
    wait_until_hanging(&faulty, 3);
    client.end_session();
    assert_cancelled_once(&faulty, 3);
    drop(connection);

    let mut bridge = Bridge::open(&home, "editor");
    bridge.send(&call(104));
    wait_until_hanging(&faulty, 4);
    bridge.send(&cancel(104));
    assert_cancelled_once(&faulty, 4);

    bridge.send(&call(105));
    wait_until_hanging(&faulty, 5);
    drop(bridge);
    assert_cancelled_once(&faulty, 5);

    wait_until("the outcomes are recorded", || {
        some_if(read_outcomes(&home, "hang") == vec!["cancelled"; 5])
    });
    assert_eq!(faulty.count_starts(), 1);
}
