//! Servers that write without end to stderr or stdout: calls complete, and memory and logs stay
//! small.
//!
//! `DRAWBRIDGE_FLOOD_MIB` sets how much is written to stderr; the default is 200.

use std::{env, fs, thread, time::Duration};

use drawbridge_tests::{FaultyServer, Home, Hub, McpClient, MemoryGrowth, canary::list_files};
use serde_json::{Value, json};

use super::{add_neighbour, call_neighbour_during, measure};

/// The largest growth of the hub in MiB, however much is written.
const MAX_GROWTH_MIB: u64 = 32;
/// Lines a second that a server may add to the log.
const LINES_A_SECOND: u64 = 200;

/// MiB per call, so that no call takes longer than the client waits.
const CALL_MIB: u64 = 100;

/// The longest time of a neighbour's call, on a loaded machine too.
const MAX_NEIGHBOUR_TIME: Duration = Duration::from_secs(3);

/// The effects of a flood.
#[derive(Debug)]
struct FloodEffects {
    took: Duration,
    /// The growth of the hub in MiB.
    rise: u64,
    /// The longest call of another server meanwhile.
    slowest: Duration,
    calls: usize,
}

/// Makes a server flood while a neighbour is called.
fn measure_flood(
    hub: &Hub<'_>,
    client: &McpClient,
    neighbour: &McpClient,
    arguments: &Value,
) -> FloodEffects {
    let memory = MemoryGrowth::new(hub.pid());
    let params = json!({"name": "faulty__flood", "arguments": arguments, "_meta": {"progressToken": "mine"}});
    let ((answer, took), others) = call_neighbour_during(neighbour, || {
        measure(|| client.request("tools/call", &params.to_string()))
    });
    assert_eq!(answer.text(), "the flood is over", "{arguments}");
    let slowest = others.iter().max().copied().expect("some calls");
    let flooded = FloodEffects {
        took,
        rise: memory.peak_growth_mib(),
        slowest,
        calls: others.len(),
    };
    assert!(
        slowest < MAX_NEIGHBOUR_TIME,
        "{arguments}: another server was not prompt: {flooded:?}"
    );
    assert!(
        flooded.rise <= MAX_GROWTH_MIB,
        "{arguments}: the hub grew: {flooded:?}"
    );
    flooded
}

/// Returns the number of bytes and of the server's lines in the log.
fn measure_log(home: &Home) -> (u64, u64) {
    let files = list_files(&home.data_dir().join("logs"));
    let text: String = files
        .iter()
        .map(|file| fs::read_to_string(file).expect("a log"))
        .collect();
    let lines = text
        .lines()
        .filter(|line| line.contains(" faulty "))
        .count();
    (lines as u64, text.len() as u64)
}

/// Returns the most lines that the log may contain after this time.
fn max_lines(took: Duration) -> u64 {
    // The flood touches the seconds of its beginning and end too, and each second adds a line that
    // counts the omitted ones.
    (LINES_A_SECOND + 1) * (took.as_secs() + 3)
}

#[test]
fn a_stderr_flood_bounds_memory_and_log_and_delays_no_other_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = add_neighbour(&hub);
    let _faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 900_000}), &[]).wait_until_synced();
    let mib: u64 =
        env::var("DRAWBRIDGE_FLOOD_MIB").map_or(200, |text| text.parse().expect("a number of MiB"));
    let client = hub.connect_client("desk");
    let memory = MemoryGrowth::new(hub.pid());
    let (mut left, mut took, mut slowest, mut calls) = (mib, Duration::ZERO, Duration::ZERO, 0);
    while left > 0 {
        let portion = left.min(CALL_MIB);
        let flooded = measure_flood(
            &hub,
            &client,
            &other,
            &json!({"kind": "stderr", "bytes": portion << 20}),
        );
        (left, took, calls) = (left - portion, took + flooded.took, calls + flooded.calls);
        slowest = slowest.max(flooded.slowest);
    }
    let (rise, (lines, bytes)) = (memory.peak_growth_mib(), measure_log(&home));
    println!(
        "{mib} MiB in {took:?}: the hub grew by {rise} MiB; {calls} other calls, up to {slowest:?}; \
         the log has {lines} lines of it, {bytes} bytes in all"
    );
    assert!(rise <= MAX_GROWTH_MIB, "the hub grew by {rise} MiB");
    let most = max_lines(took);
    assert!((1..=most).contains(&lines), "{lines} lines in {took:?}");
    let left_out = home
        .cli(&["logs", "--server", "faulty", "--text", "left out", "--json"])
        .stdout();
    assert!(
        took < Duration::from_secs(1) || left_out.contains("lines were left out"),
        "it says so: {left_out}"
    );
}

#[test]
fn a_message_flood_bounds_memory_and_delays_no_other_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = add_neighbour(&hub);
    let faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 100_000}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    for (kind, count) in [
        ("progress", 100_000),
        ("message", 100_000),
        ("list_changed", 100_000),
        ("stray", 100_000),
        ("asking", 20_000),
    ] {
        let flooded = measure_flood(
            &hub,
            &client,
            &other,
            &json!({"kind": kind, "count": count}),
        );
        println!("{count} times {kind}: {flooded:?}");
    }
    assert_eq!(faulty.count_starts(), 1, "it runs still");
}

#[test]
fn unread_progress_bounds_memory_and_delays_no_other_client() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = add_neighbour(&hub);
    let faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 100_000}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let memory = MemoryGrowth::new(hub.pid());
    let params = json!({"name": "faulty__flood", "arguments": {"kind": "progress", "count": 200_000},
        "_meta": {"progressToken": 1}});
    let unread = client.begin_post(
        &json!({"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": params}),
    );
    let unread = unread.expect("a connection");
    let (echoed, others) =
        call_neighbour_during(&other, || client.call("faulty__echo", r#"{"n":1}"#).text());
    assert_eq!(
        (echoed.as_str(), faulty.count_starts()),
        (r#"{"n":1}"#, 1),
        "the next call of the same server is answered"
    );
    let slowest = others.iter().max().expect("some calls");
    assert!(
        *slowest < MAX_NEIGHBOUR_TIME,
        "of {} calls of another server one took {slowest:?}",
        others.len()
    );
    let rise = memory.peak_growth_mib();
    println!("the hub grew by {rise} MiB");
    assert!(rise <= MAX_GROWTH_MIB, "it grew by {rise} MiB");
    drop(unread);
}

/// Returns the median.
fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}

#[test]
fn a_stderr_flood_less_than_doubles_the_call_time_of_other_servers() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = add_neighbour(&hub);
    let _faulty =
        FaultyServer::add(&hub, "faulty", &json!({"call_ms": 100_000}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let (_, alone) = call_neighbour_during(&other, || thread::sleep(Duration::from_secs(2)));
    let arguments = json!({"kind": "stderr", "bytes": 50 << 20});
    let (_, flooded) = call_neighbour_during(&other, || {
        client.call("faulty__flood", &arguments.to_string())
    });
    let (calls, alone, flooded) = (flooded.len(), median(alone), median(flooded));
    println!("alone {alone:?}, while another server floods {flooded:?}, {calls} calls");
    // The machine may have other work.
    assert!(
        flooded < 2 * alone + Duration::from_millis(20),
        "alone {alone:?}, flooded {flooded:?}"
    );
}
