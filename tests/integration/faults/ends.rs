//! Servers that exit: during a call, at once, repeatedly, or not when they should.

use std::time::{Duration, Instant};

use drawbridge_tests::{
    Faulty, Home, Hub, McpClient, mcp::Answer, places, process::signal_to, until, wait::yes, within,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{AT_ONCE, neighbour, outcomes, timed};

/// Checks that the error names the server and reports the outcome as unknown.
#[track_caller]
fn is_unknown(answer: &Answer, server: &str) {
    let said = answer.text();
    assert!(
        answer.is_error() && said.contains(server) && said.contains("unknown"),
        "{}",
        answer.raw
    );
}

#[test]
fn each_call_in_flight_at_a_server_that_dies_has_one_error_at_once_and_is_not_sent_again() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    let waiting: Vec<_> = (0..8)
        .map(|n| client.call_meanwhile("faulty__hang", &json!({"n": n}).to_string()))
        .collect();
    until("all of them hang", || yes(faulty.calls("hang").len() == 8));
    let start = Instant::now();
    is_unknown(&client.call("faulty__die", "{}"), "faulty");
    for waiting in waiting {
        is_unknown(&waiting.join().expect("an answer"), "faulty");
    }
    assert!(
        start.elapsed() <= AT_ONCE,
        "they heard of it after {:?}",
        start.elapsed()
    );
    assert_eq!(
        client.call("faulty__echo", r#"{"back":1}"#).text(),
        r#"{"back":1}"#,
        "the next call starts it anew"
    );
    assert_eq!(
        (
            faulty.calls("die").len(),
            faulty.calls("hang").len(),
            faulty.starts()
        ),
        (1, 8, 2),
        "nothing is sent again"
    );
    until("what is known of them is written", || {
        yes(outcomes(&home, "hang") == vec!["unknown"; 8] && outcomes(&home, "die") == ["unknown"])
    });
}

#[test]
fn a_call_fails_at_once_though_a_process_that_left_the_dead_servers_group_holds_its_stdout() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &["--escaped-child"]).synced();
    let (answer, took) = timed(|| hub.client("desk").call("faulty__die", "{}"));
    is_unknown(&answer, "faulty");
    assert!(took <= AT_ONCE, "it heard of it after {took:?}");
    assert_eq!(faulty.calls("die").len(), 1);
}

/// Returns the pid of a server, after it has started.
fn pid(hub: &Hub<'_>, server: &str) -> u32 {
    let pid = until(format!("{server} runs"), || {
        hub.server(server)["pid"].as_u64()
    });
    u32::try_from(pid).expect("a pid")
}

#[test]
fn a_public_server_that_is_killed_mid_call_is_one_error_at_once_and_runs_again_with_the_next_call()
{
    let home = Home::new();
    let hub = Hub::serve(&home);
    let everything = places::text(places::npm(
        "@modelcontextprotocol/server-everything/dist/index.js",
    ));
    hub.add_server("everything", &[], &["node", &everything]);
    hub.until_synced("everything");
    hub.policy("everything", "allow");
    let client = hub.client("desk");
    assert_eq!(
        client.call("everything__echo", r#"{"message":"1"}"#).text(),
        "Echo: 1"
    );
    let long = json!({"name": "everything__trigger-long-running-operation", "arguments": {"duration": 60, "steps": 600},
        "_meta": {"progressToken": 1}});
    let call =
        client.post(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": long}));
    let mut events = drawbridge_tests::mcp::Events::of(call.expect("an answer"));
    assert_eq!(
        events.next().expect("it is at work").message()["method"],
        "notifications/progress"
    );
    let start = Instant::now();
    signal_to(pid(&hub, "everything"), Signal::SIGKILL);
    let answers: Vec<Value> = events
        .map(|event| event.message())
        .filter(|message| message["id"] == 77)
        .collect();
    assert!(
        start.elapsed() <= AT_ONCE,
        "it heard of it after {:?}",
        start.elapsed()
    );
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(
        answers[0]["result"]["content"][0]["text"]
            .to_string()
            .contains("unknown"),
        "{}",
        answers[0]
    );
    assert_eq!(
        client.call("everything__echo", r#"{"message":"2"}"#).text(),
        "Echo: 2"
    );
}

/// Adds a server that crashes at once, and waits until the hub gives up. Returns what a person sees
/// then.
fn given_up<'a>(hub: &'a Hub<'a>, name: &str) -> (Faulty<'a>, Value) {
    let crashing = Faulty::add(hub, name, &json!({}), &["--crash"]);
    let seen = until("it is given up", || {
        Some(crashing.seen()).filter(|seen| seen["sync_status"] == "FAILED")
    });
    (crashing, seen)
}

#[test]
fn a_server_that_ends_at_once_is_tried_a_few_times_and_then_left_alone() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, client) = neighbour(&hub);
    let (crashing, seen) = given_up(&hub, "crashing");
    assert_eq!(seen["state"], "error", "{seen}");
    let starts = crashing.starts();
    assert!((1..=8).contains(&starts), "it was started {starts} times");
    for _ in 0..5 {
        client.tools();
    }
    assert_eq!(
        crashing.starts(),
        starts,
        "listing what there is does not start it again so soon"
    );
}

#[test]
fn a_server_that_ends_at_once_says_how_it_ended() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    for number in 0..10 {
        let (_crashing, seen) = given_up(&hub, &format!("crashing-{number}"));
        assert!(
            seen["reason"].to_string().contains('7'),
            "server {number}: {seen}"
        );
    }
}

#[test]
fn a_server_that_crashes_five_times_a_minute_is_left_alone_for_a_while_which_its_state_says() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    for _ in 0..5 {
        client.call("faulty__die", "{}");
    }
    let starts = faulty.starts();
    let refused = client.call("faulty__echo", "{}");
    assert!(
        refused.is_error() && faulty.starts() == starts,
        "it is not started a sixth time: {}",
        refused.raw
    );
    let seen = faulty.seen();
    assert!(
        seen["state"] == "error" && seen["reason"].to_string().contains("crash"),
        "{seen}"
    );
}

#[test]
fn a_server_that_ignores_every_request_to_end_is_killed_with_the_hub() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let starter = ["sh", "-c", "trap '' TERM INT HUP; exec \"$0\" \"$@\""];
    let stubborn = Faulty::add_behind(
        &hub,
        "stubborn",
        &json!({}),
        &starter,
        &["--stay", "--child"],
    )
    .synced();
    assert!(!hub.client("desk").call("stubborn__echo", "{}").is_error());
    assert!(stubborn.processes() >= 2, "it runs, and what it started");
    hub.end(Signal::SIGTERM);
    home.nothing_outlives_the_hub();
}

#[test]
fn a_server_that_starts_late_is_started_once_for_all_who_wait_for_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let late = Faulty::add(&hub, "late", &json!({}), &["--late-start", "1500"]).synced();
    home.cli(&["servers", "restart", "late"]).ok();
    let clients: Vec<McpClient> = (0..5).map(|n| hub.client(&format!("desk-{n}"))).collect();
    within(Duration::from_secs(10), "it was ended", || {
        yes(late.processes() <= 1)
    });
    let starts = late.starts();
    let waiting: Vec<_> = clients
        .iter()
        .map(|client| client.call_meanwhile("late__echo", r#"{"a":1}"#))
        .collect();
    for waiting in waiting {
        assert_eq!(waiting.join().expect("an answer").text(), r#"{"a":1}"#);
    }
    assert!(
        late.starts() <= starts + 1,
        "{} starts more",
        late.starts() - starts
    );
    assert_eq!((late.processes(), late.calls("echo").len()), (1, 5));
}
