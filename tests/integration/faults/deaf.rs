//! Servers that do not read their stdin.

use std::time::Duration;

use drawbridge_tests::{Faulty, Home, Hub, McpClient, Memory, until, wait::yes};
use serde_json::json;

use super::{meanwhile, neighbour, outcomes, timed};

const MIB: usize = 1 << 20;

/// Adds a server and makes it stop reading its stdin.
fn deaf<'a>(hub: &'a Hub<'a>, call_ms: u32) -> (Faulty<'a>, McpClient) {
    let faulty = Faulty::add(hub, "faulty", &json!({"call_ms": call_ms}), &[]).synced();
    let client = hub.client("desk");
    assert_eq!(
        client.call("faulty__deafen", "{}").text(),
        "nothing is read any more"
    );
    (faulty, client)
}

#[test]
fn a_call_to_a_server_that_does_not_read_ends_at_its_time_and_disturbs_nobody() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = neighbour(&hub);
    let (faulty, client) = deaf(&hub, 1_500);
    let long = json!({"text": "x".repeat(MIB)}).to_string();
    let ((answer, took), others) =
        meanwhile(&other, || timed(|| client.call("faulty__measure", &long)));
    assert!(
        answer.is_error() && answer.text().contains("did not answer in time"),
        "{}",
        answer.raw
    );
    assert!(took < Duration::from_secs(4), "it took {took:?}");
    let slowest = others.iter().max().expect("some calls");
    assert!(
        *slowest < Duration::from_secs(1),
        "a call of another server took {slowest:?}"
    );
    home.cli(&["servers", "restart", "faulty"]).ok();
    until("it is ended, and read in a new process", || {
        yes(faulty.starts() == 2 && faulty.processes() == 1)
    });
    assert_eq!(
        client.call("faulty__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#
    );
}

#[test]
fn what_waits_for_a_server_that_does_not_read_is_bounded_in_bytes() {
    const CALLS: usize = 40;
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_faulty, client) = deaf(&hub, 600_000);
    let arguments = json!({"text": "x".repeat(4 * MIB)});
    let memory = Memory::of(hub.id());
    for number in 1..=CALLS {
        let params = json!({"name": "faulty__measure", "arguments": arguments});
        let call =
            json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params});
        let connection = client.begin(&call).expect("a connection");
        until("the call is on its way", || {
            yes(outcomes(&home, "measure").len() == number)
        });
        drop(connection);
        until("its client has left", || {
            yes(outcomes(&home, "measure")
                .iter()
                .all(|outcome| ["cancelled", "unreachable"].contains(&outcome.as_str())))
        });
    }
    let rise = memory.rise();
    println!("{CALLS} calls of 4 MiB, of which nobody waits for any: the hub grew by {rise} MiB");
    assert!(rise <= 96, "it grew by {rise} MiB");
}
