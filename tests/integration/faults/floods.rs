//! Servers that write without end to stderr or stdout: calls complete, and memory and logs stay
//! small.
//!
//! `DRAWBRIDGE_FLOOD_MIB` sets how much is written to stderr; the default is 200.

use std::{env, fs, thread, time::Duration};

use drawbridge_tests::{Faulty, Home, Hub, McpClient, Memory, canary::files_of};
use serde_json::{Value, json};

use super::{meanwhile, neighbour, timed};

/// The largest growth of the hub in MiB, however much is written.
const MOST: u64 = 32;
/// Lines a second that a server may add to the log.
const LINES_A_SECOND: u64 = 200;

/// MiB per call, so that no call takes longer than the client waits.
const PORTION: u64 = 100;

/// The longest time of a neighbour's call, on a loaded machine too.
const PROMPT: Duration = Duration::from_secs(3);

/// The effects of a flood.
#[derive(Debug)]
struct Flooded {
    took: Duration,
    /// The growth of the hub in MiB.
    rise: u64,
    /// The longest call of another server meanwhile.
    slowest: Duration,
    calls: usize,
}

/// Makes a server flood while a neighbour is called.
fn flood(hub: &Hub<'_>, client: &McpClient, neighbour: &McpClient, arguments: &Value) -> Flooded {
    let memory = Memory::of(hub.id());
    let params = json!({"name": "faulty__flood", "arguments": arguments, "_meta": {"progressToken": "mine"}});
    let ((answer, took), others) = meanwhile(neighbour, || {
        timed(|| client.request("tools/call", &params.to_string()))
    });
    assert_eq!(answer.text(), "the flood is over", "{arguments}");
    let slowest = others.iter().max().copied().expect("some calls");
    let flooded = Flooded {
        took,
        rise: memory.rise(),
        slowest,
        calls: others.len(),
    };
    assert!(
        slowest < PROMPT,
        "{arguments}: another server was not prompt: {flooded:?}"
    );
    assert!(
        flooded.rise <= MOST,
        "{arguments}: the hub grew: {flooded:?}"
    );
    flooded
}

/// Returns the number of bytes and of the server's lines in the log.
fn logged(home: &Home) -> (u64, u64) {
    let files = files_of(&home.data_dir().join("logs"));
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
fn most_lines(took: Duration) -> u64 {
    // The flood touches the seconds of its beginning and end too, and each second adds a line that
    // counts the omitted ones.
    (LINES_A_SECOND + 1) * (took.as_secs() + 3)
}

#[test]
fn a_flood_of_errors_leaves_the_hub_small_its_log_short_and_other_servers_prompt() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = neighbour(&hub);
    let _faulty = Faulty::add(&hub, "faulty", &json!({"call_ms": 900_000}), &[]).synced();
    let mib: u64 =
        env::var("DRAWBRIDGE_FLOOD_MIB").map_or(200, |text| text.parse().expect("a number of MiB"));
    let client = hub.client("desk");
    let memory = Memory::of(hub.id());
    let (mut left, mut took, mut slowest, mut calls) = (mib, Duration::ZERO, Duration::ZERO, 0);
    while left > 0 {
        let portion = left.min(PORTION);
        let flooded = flood(
            &hub,
            &client,
            &other,
            &json!({"kind": "stderr", "bytes": portion << 20}),
        );
        (left, took, calls) = (left - portion, took + flooded.took, calls + flooded.calls);
        slowest = slowest.max(flooded.slowest);
    }
    let (rise, (lines, bytes)) = (memory.rise(), logged(&home));
    println!(
        "{mib} MiB in {took:?}: the hub grew by {rise} MiB; {calls} other calls, up to {slowest:?}; \
         the log has {lines} lines of it, {bytes} bytes in all"
    );
    assert!(rise <= MOST, "the hub grew by {rise} MiB");
    let most = most_lines(took);
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
fn a_flood_of_messages_of_any_kind_leaves_the_hub_small_and_other_servers_prompt() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = neighbour(&hub);
    let faulty = Faulty::add(&hub, "faulty", &json!({"call_ms": 100_000}), &[]).synced();
    let client = hub.client("desk");
    for (kind, count) in [
        ("progress", 100_000),
        ("message", 100_000),
        ("list_changed", 100_000),
        ("stray", 100_000),
        ("asking", 20_000),
    ] {
        let flooded = flood(
            &hub,
            &client,
            &other,
            &json!({"kind": kind, "count": count}),
        );
        println!("{count} times {kind}: {flooded:?}");
    }
    assert_eq!(faulty.starts(), 1, "it runs still");
}

#[test]
fn a_client_that_does_not_read_its_progress_costs_the_hub_nothing_and_delays_nobody() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = neighbour(&hub);
    let faulty = Faulty::add(&hub, "faulty", &json!({"call_ms": 100_000}), &[]).synced();
    let client = hub.client("desk");
    let memory = Memory::of(hub.id());
    let params = json!({"name": "faulty__flood", "arguments": {"kind": "progress", "count": 200_000},
        "_meta": {"progressToken": 1}});
    let unread = client
        .begin(&json!({"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": params}));
    let unread = unread.expect("a connection");
    let (echoed, others) = meanwhile(&other, || client.call("faulty__echo", r#"{"n":1}"#).text());
    assert_eq!(
        (echoed.as_str(), faulty.starts()),
        (r#"{"n":1}"#, 1),
        "the next call of the same server is answered"
    );
    let slowest = others.iter().max().expect("some calls");
    assert!(
        *slowest < PROMPT,
        "of {} calls of another server one took {slowest:?}",
        others.len()
    );
    let rise = memory.rise();
    println!("the hub grew by {rise} MiB");
    assert!(rise <= MOST, "it grew by {rise} MiB");
    drop(unread);
}

/// Returns the median.
fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}

#[test]
fn a_flood_of_errors_makes_the_calls_of_other_servers_take_less_than_twice_as_long() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = neighbour(&hub);
    let _faulty = Faulty::add(&hub, "faulty", &json!({"call_ms": 100_000}), &[]).synced();
    let client = hub.client("desk");
    let (_, alone) = meanwhile(&other, || thread::sleep(Duration::from_secs(2)));
    let arguments = json!({"kind": "stderr", "bytes": 50 << 20});
    let (_, flooded) = meanwhile(&other, || {
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
