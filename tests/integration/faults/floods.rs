//! Servers that write without end to stderr or stdout: calls complete, and memory and logs stay
//! small.
//!
//! `DRAWBRIDGE_FLOOD_MIB` sets the number of MiB that are written to stderr; the default is 200.

use std::{collections::BTreeMap, env, fs, path::Path};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, MemoryGrowth, canary::list_files, wait::some_if, wait_until,
};
use serde_json::{Value, json};

use super::{add_neighbour, call_neighbour_during};

/// The largest growth of the hub in MiB, for any number of written bytes.
const MAX_GROWTH_MIB: u64 = 32;
/// The number of lines per second that a server may add to the log.
const LINES_A_SECOND: u64 = 200;

/// The number of MiB per call, small enough that no call takes longer than the client waits.
const CALL_MIB: u64 = 100;

/// Makes a server flood until a neighbour has been answered. Checks the hub's growth meanwhile and
/// returns it in MiB.
fn flood_beside(
    hub: &Hub<'_>,
    client: &McpClient,
    neighbour: &McpClient,
    arguments: &Value,
) -> u64 {
    let memory = MemoryGrowth::new(hub.pid());
    let answer = call_neighbour_during(hub.home, neighbour, |until_file| {
        let mut arguments = arguments.clone();
        arguments["until"] = until_file.into();
        let params = json!({"name": "faulty__flood", "arguments": arguments, "_meta": {"progressToken": "mine"}});
        client.request("tools/call", &params.to_string())
    });
    assert_eq!(answer.text(), "the flood is over", "{arguments}");
    let growth_mib = memory.peak_growth_mib();
    assert!(
        growth_mib <= MAX_GROWTH_MIB,
        "{arguments}: the hub grew by {growth_mib} MiB"
    );
    growth_mib
}

/// Returns the number of the server's lines in the log for each second of their time stamps.
fn count_lines_by_second(home: &Home) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for file in list_files(&home.data_dir().join("logs")) {
        let text = fs::read_to_string(file).expect("a log");
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("a line as JSON");
            if line["server"] == "faulty" {
                let timestamp = line["at"].as_u64().expect("milliseconds since 1970");
                *counts.entry(timestamp / 1_000).or_default() += 1;
            }
        }
    }
    counts
}

#[test]
fn during_a_stderr_flood_memory_and_log_stay_small_and_no_other_server_is_delayed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let _faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 900_000}), &[]).wait_until_synced();
    let mib: u64 =
        env::var("DRAWBRIDGE_FLOOD_MIB").map_or(200, |text| text.parse().expect("a number of MiB"));
    let client = hub.connect_client("desk");
    let memory = MemoryGrowth::new(hub.pid());
    let mut remaining_mib = mib;
    while remaining_mib > 0 {
        let call_mib = remaining_mib.min(CALL_MIB);
        let arguments = json!({"kind": "stderr", "bytes": call_mib << 20});
        flood_beside(&hub, &client, &neighbour_client, &arguments);
        remaining_mib -= call_mib;
    }
    let (growth_mib, lines) = (memory.peak_growth_mib(), count_lines_by_second(&home));
    println!(
        "{mib} MiB: the hub grew by {growth_mib} MiB, the log has these lines a second: {lines:?}"
    );
    assert!(
        growth_mib <= MAX_GROWTH_MIB,
        "the hub grew by {growth_mib} MiB"
    );
    // The hub's seconds do not begin together with the seconds of the time stamps, so each second
    // of the time stamps overlaps two seconds of the hub. Each second of the hub adds a line that
    // counts the dropped lines.
    let max_lines = 2 * (LINES_A_SECOND + 1);
    assert!(
        !lines.is_empty() && lines.values().all(|count| *count <= max_lines),
        "at most {max_lines} lines a second: {lines:?}"
    );
    let dropped_log = home
        .cli(&["logs", "--server", "faulty", "--text", "dropped", "--json"])
        .stdout();
    assert!(
        dropped_log.contains("lines because there were too many lines or bytes per second"),
        "the log counts the dropped lines: {dropped_log}"
    );
}

#[test]
fn during_a_message_flood_memory_stays_small_and_no_other_server_is_delayed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 100_000}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    for (kind, count) in [
        ("progress", 100_000),
        ("message", 100_000),
        ("list_changed", 100_000),
        // Responses to no request.
        ("stray", 100_000),
        // Requests to the client.
        ("asking", 20_000),
    ] {
        let arguments = json!({"kind": kind, "count": count});
        let growth_mib = flood_beside(&hub, &client, &neighbour_client, &arguments);
        println!("{count} times {kind}: the hub grew by {growth_mib} MiB");
    }
    assert_eq!(faulty.count_starts(), 1, "the server was not restarted");
}

#[test]
fn with_unread_progress_memory_stays_small_and_no_other_client_is_delayed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 100_000}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let memory = MemoryGrowth::new(hub.pid());
    let (unread_call, echoed_text) =
        call_neighbour_during(&home, &neighbour_client, |neighbour_answered| {
            let arguments =
                json!({"kind": "progress", "count": 200_000, "until": neighbour_answered});
            let params = json!({"name": "faulty__flood", "arguments": arguments,
            "_meta": {"progressToken": 1}});
            let unread_call = client.begin_post(
                &json!({"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": params}),
            );
            wait_until("the server floods", || {
                some_if(faulty.received_calls("flood").len() == 1)
            });
            let echoed_text = client.call("faulty__echo", r#"{"n":1}"#).text();
            wait_until("the call of the other server is answered", || {
                some_if(Path::new(neighbour_answered).exists())
            });
            (unread_call.expect("a connection"), echoed_text)
        });
    assert_eq!(
        (echoed_text.as_str(), faulty.count_starts()),
        (r#"{"n":1}"#, 1),
        "the next call of the same server is answered"
    );
    let growth_mib = memory.peak_growth_mib();
    println!("the hub grew by {growth_mib} MiB");
    assert!(
        growth_mib <= MAX_GROWTH_MIB,
        "the hub grew by {growth_mib} MiB"
    );
    drop(unread_call);
}
