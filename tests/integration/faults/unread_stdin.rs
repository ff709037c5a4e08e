//! Servers that do not read their stdin.

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, MemoryGrowth, wait::some_if, wait_until,
};
use serde_json::json;

use super::{add_neighbour, call_neighbour_during, read_outcomes};

const MIB: usize = 1 << 20;

/// Adds a server and makes it stop reading its stdin.
fn add_unread_server<'a>(hub: &'a Hub<'a>, call_ms: u32) -> (FaultyServer<'a>, McpClient) {
    let faulty =
        FaultyServer::add(hub, "faulty", &json!({"call_ms": call_ms}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    assert_eq!(
        client.call("faulty__stop_reading", "{}").text(),
        "nothing is read any more"
    );
    (faulty, client)
}

#[test]
fn a_call_to_a_server_that_does_not_read_times_out_and_disturbs_no_other_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let (faulty, client) = add_unread_server(&hub, 1_500);
    let arguments = json!({"text": "x".repeat(MIB)}).to_string();
    let answer = call_neighbour_during(&home, &neighbour_client, |_| {
        client.call("faulty__measure", &arguments)
    });
    assert!(
        answer.is_error() && answer.text().contains("did not answer in time"),
        "{}",
        answer.raw
    );
    home.cli(&["servers", "restart", "faulty"]).expect_success();
    wait_until("a new process of the server runs", || {
        some_if(faulty.count_starts() == 2 && faulty.count_processes() == 1)
    });
    assert_eq!(
        client.call("faulty__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#
    );
}

#[test]
fn the_queue_of_a_server_that_does_not_read_is_bounded_in_bytes() {
    const CALLS: usize = 40;
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_faulty, client) = add_unread_server(&hub, 600_000);
    let arguments = json!({"text": "x".repeat(4 * MIB)});
    let memory = MemoryGrowth::new(hub.pid());
    for number in 1..=CALLS {
        let params = json!({"name": "faulty__measure", "arguments": arguments});
        let call =
            json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params});
        let connection = client.begin_post(&call).expect("a connection");
        wait_until("the call is recorded", || {
            some_if(read_outcomes(&home, "measure").len() == number)
        });
        drop(connection);
        wait_until("the call has ended with its client", || {
            some_if(
                read_outcomes(&home, "measure")
                    .iter()
                    .all(|outcome| ["cancelled", "unreachable"].contains(&outcome.as_str())),
            )
        });
    }
    let growth_mib = memory.peak_growth_mib();
    println!("{CALLS} abandoned calls of 4 MiB: the hub grew by {growth_mib} MiB");
    assert!(growth_mib <= 96, "the hub grew by {growth_mib} MiB");
}
