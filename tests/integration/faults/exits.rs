//! Servers that exit: during a call, at once, repeatedly, or not when they should. Also a server
//! that starts slowly, and is started once.

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, mcp::Answer, paths, process::signal_process, wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{add_neighbour, long_timeouts, read_outcomes};

/// Checks that the error names the server and reports the outcome as unknown.
#[track_caller]
fn assert_outcome_unknown(answer: &Answer, server: &str) {
    let text = answer.text();
    assert!(
        answer.is_error() && text.contains(server) && text.contains("unknown"),
        "{}",
        answer.raw
    );
}

#[test]
fn each_call_in_flight_at_a_dying_server_fails_before_its_timeout_and_is_not_retried() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &long_timeouts(), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let calls: Vec<_> = (0..8)
        .map(|number| client.spawn_call("faulty__hang", &json!({"n": number}).to_string()))
        .collect();
    wait_until("all calls hang", || {
        some_if(faulty.received_calls("hang").len() == 8)
    });
    assert_outcome_unknown(&client.call("faulty__die", "{}"), "faulty");
    for call in calls {
        assert_outcome_unknown(&call.join().expect("an answer"), "faulty");
    }
    assert_eq!(
        client.call("faulty__echo", r#"{"back":1}"#).text(),
        r#"{"back":1}"#,
        "the next call restarts the server"
    );
    assert_eq!(
        (
            faulty.received_calls("die").len(),
            faulty.received_calls("hang").len(),
            faulty.count_starts()
        ),
        (1, 8, 2),
        "no call is sent twice"
    );
    wait_until("the outcomes are recorded", || {
        some_if(
            read_outcomes(&home, "hang") == vec!["unknown"; 8]
                && read_outcomes(&home, "die") == ["unknown"],
        )
    });
}

#[test]
fn a_call_fails_while_an_escaped_process_still_holds_the_stdout() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &long_timeouts(), &["--escaped-child"])
        .wait_until_synced();
    let answer = hub.connect_client("desk").call("faulty__die", "{}");
    assert_outcome_unknown(&answer, "faulty");
    assert_eq!(faulty.received_calls("die").len(), 1);
}

/// Returns the pid of a server, after it has started.
fn wait_for_pid(hub: &Hub<'_>, server: &str) -> u32 {
    let pid = wait_until(format!("{server} runs"), || {
        hub.show_server(server)["pid"].as_u64()
    });
    u32::try_from(pid).expect("a pid")
}

// The server is one that other people wrote, not the faulty server of these tests.
#[test]
fn a_call_fails_if_its_server_is_killed_and_the_next_call_restarts_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let everything = paths::path_text(paths::npm_file(
        "@modelcontextprotocol/server-everything/dist/index.js",
    ));
    let spec = json!({"name": "everything", "command": "node", "args": [everything],
        "timeouts": long_timeouts()});
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced("everything");
    hub.set_policy("everything", "allow");
    let client = hub.connect_client("desk");
    assert_eq!(
        client.call("everything__echo", r#"{"message":"1"}"#).text(),
        "Echo: 1"
    );
    let params = json!({"name": "everything__trigger-long-running-operation", "arguments": {"duration": 60, "steps": 600},
        "_meta": {"progressToken": 1}});
    let call =
        client.post(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params}));
    let mut events = drawbridge_tests::mcp::Events::new(call.expect("an answer"));
    assert_eq!(
        events.next().expect("a progress notification").message()["method"],
        "notifications/progress"
    );
    signal_process(wait_for_pid(&hub, "everything"), Signal::SIGKILL);
    let answers: Vec<Value> = events
        .map(|event| event.message())
        .filter(|message| message["id"] == 77)
        .collect();
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

/// Adds a server that crashes at once, and waits until the hub gives up. Also returns the server as
/// `drawbridge servers show` then reports it.
fn add_crashing_server<'a>(hub: &'a Hub<'a>, name: &str) -> (FaultyServer<'a>, Value) {
    let crashing = FaultyServer::add(hub, name, &json!({}), &["--crash"]);
    let server = wait_until("the hub gives up", || {
        Some(crashing.show()).filter(|server| server["sync_status"] == "FAILED")
    });
    (crashing, server)
}

#[test]
fn a_server_that_exits_immediately_is_retried_a_few_times_and_then_given_up() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, client) = add_neighbour(&hub);
    let (crashing, server) = add_crashing_server(&hub, "crashing");
    assert_eq!(server["state"], "error", "{server}");
    let starts = crashing.count_starts();
    assert!(
        (1..=8).contains(&starts),
        "the server was started {starts} times"
    );
    for _ in 0..5 {
        client.list_tools();
    }
    assert_eq!(
        crashing.count_starts(),
        starts,
        "listing the tools does not restart the server"
    );
}

#[test]
fn a_server_that_exits_immediately_has_its_exit_status_as_reason() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    for number in 0..10 {
        let (_crashing, server) = add_crashing_server(&hub, &format!("crashing-{number}"));
        // The server exits with code 7.
        assert!(
            server["reason"].to_string().contains('7'),
            "server {number}: {server}"
        );
    }
}

#[test]
fn a_server_that_crashes_five_times_a_minute_is_not_restarted_for_a_while() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    for _ in 0..5 {
        client.call("faulty__die", "{}");
    }
    let starts = faulty.count_starts();
    let answer = client.call("faulty__echo", "{}");
    assert!(
        answer.is_error() && faulty.count_starts() == starts,
        "the server is not started a sixth time: {}",
        answer.raw
    );
    let server = faulty.show();
    assert!(
        server["state"] == "error"
            && server["crashed_often"] == true
            && server["reason"].to_string().contains("crash"),
        "{server}"
    );
}

#[test]
fn a_server_that_ignores_termination_is_killed_with_the_hub() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let starter = ["sh", "-c", "trap '' TERM INT HUP; exec \"$0\" \"$@\""];
    let server = FaultyServer::add_with_starter(
        &hub,
        "stubborn",
        &json!({}),
        &starter,
        &["--stay", "--child"],
    )
    .wait_until_synced();
    assert!(
        !hub.connect_client("desk")
            .call("stubborn__echo", "{}")
            .is_error()
    );
    assert!(
        server.count_processes() >= 2,
        "the server and its child run"
    );
    hub.stop(Signal::SIGTERM);
    home.assert_no_survivors();
}

#[test]
fn a_slow_server_is_started_once_for_all_waiting_calls() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let slow_server =
        FaultyServer::add(&hub, "late", &json!({}), &["--late-start", "1500"]).wait_until_synced();
    home.cli(&["servers", "restart", "late"]).expect_success();
    let clients: Vec<McpClient> = (0..5)
        .map(|number| hub.connect_client(&format!("desk-{number}")))
        .collect();
    wait_until("the earlier process has ended", || {
        some_if(slow_server.count_processes() <= 1)
    });
    let starts = slow_server.count_starts();
    let calls: Vec<_> = clients
        .iter()
        .map(|client| client.spawn_call("late__echo", r#"{"a":1}"#))
        .collect();
    for call in calls {
        assert_eq!(call.join().expect("an answer").text(), r#"{"a":1}"#);
    }
    assert!(
        slow_server.count_starts() <= starts + 1,
        "{} additional starts",
        slow_server.count_starts() - starts
    );
    assert_eq!(
        (
            slow_server.count_processes(),
            slow_server.received_calls("echo").len()
        ),
        (1, 5)
    );
}
