//! Clients that disconnect during a call: the server is notified soon, however the client
//! disconnects.

use std::time::Instant;

use drawbridge_tests::{Bridge, Faulty, Home, Hub, until, wait::yes};
use serde_json::json;

use super::{AT_ONCE, outcomes};

/// Waits until the server has received `calls` hanging calls.
#[track_caller]
fn until_hangs(faulty: &Faulty<'_>, calls: usize) {
    until(format!("call {calls} hangs"), || {
        yes(faulty.calls("hang").len() == calls)
    });
}

/// Checks that the server is notified exactly once, soon, and with the id that it knows.
#[track_caller]
fn is_cancelled(faulty: &Faulty<'_>, calls: usize, since: Instant) {
    until(format!("call {calls} is cancelled"), || {
        yes(faulty.heard_of("notifications/cancelled").len() >= calls)
    });
    assert!(
        since.elapsed() <= AT_ONCE,
        "the server heard of it after {:?}",
        since.elapsed()
    );
    let ids = |messages: Vec<serde_json::Value>, id: &str| -> Vec<_> {
        messages
            .iter()
            .map(|message| message.pointer(id).cloned())
            .collect()
    };
    assert_eq!(
        ids(
            faulty.heard_of("notifications/cancelled"),
            "/params/requestId"
        ),
        ids(faulty.calls("hang"), "/id")
    );
}

#[test]
fn a_call_is_cancelled_at_the_server_within_a_second_whichever_way_its_client_leaves() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let call = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "faulty__hang", "arguments": {}}})
    };
    let cancel = |id: u64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let client = hub.client("desk");

    let connection = client.begin(&call(101)).expect("a connection");
    until_hangs(&faulty, 1);
    let start = Instant::now();
    drop(connection);
    is_cancelled(&faulty, 1, start);

    let connection = client.begin(&call(102)).expect("a connection");
    until_hangs(&faulty, 2);
    let start = Instant::now();
    assert_eq!(client.post(&cancel(102)).expect("an answer").status, 202);
    is_cancelled(&faulty, 2, start);
    drop(connection);

    let connection = client.begin(&call(103)).expect("a connection");
    until_hangs(&faulty, 3);
    let start = Instant::now();
    client.end();
    is_cancelled(&faulty, 3, start);
    drop(connection);

    let mut bridge = Bridge::open(&home, "editor");
    bridge.say(&call(104));
    until_hangs(&faulty, 4);
    let start = Instant::now();
    bridge.say(&cancel(104));
    is_cancelled(&faulty, 4, start);

    bridge.say(&call(105));
    until_hangs(&faulty, 5);
    let start = Instant::now();
    drop(bridge);
    is_cancelled(&faulty, 5, start);

    until("it is written down", || {
        yes(outcomes(&home, "hang") == vec!["cancelled"; 5])
    });
    assert_eq!(faulty.starts(), 1);
}
