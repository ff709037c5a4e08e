//! The stdio bridge, for clients that support only stdio.

use std::time::Duration;

use drawbridge_tests::{Bridge, Home, Hub, paths, wait::some_if, wait_until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

#[test]
fn calls_of_a_stdio_client_need_approval() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let mut bridge = Bridge::open(&home, "editor");
    let tools = bridge.request(2, "tools/list", &json!({}));
    assert!(tools.to_string().contains("probe__echo"), "{tools}");
    bridge.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "probe__echo", "arguments": {"over": "stdio"}}}));
    let approval = hub.wait_for_approval();
    assert_eq!(
        approval["client"], "editor",
        "the approval names the client"
    );
    let ping = bridge.request(4, "ping", &json!({}));
    assert_eq!(
        ping["result"],
        json!({}),
        "other requests are answered while a request is pending"
    );
    home.cli(&[
        "approvals",
        "approve",
        approval["id"].as_str().expect("an id"),
    ])
    .expect_success();
    let answer = bridge.read_response(3);
    assert_eq!(
        answer["result"]["content"][0]["text"],
        r#"{"over":"stdio"}"#
    );
    drop(bridge.stdin.take());
    let (status, _) = bridge.process.wait_until_exit(Duration::from_secs(10));
    assert!(
        status.success(),
        "the bridge exits when its client closes stdin: {status}"
    );
}

#[test]
fn the_bridge_starts_a_hub_if_none_runs() {
    let home = Home::new();
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    home.cli(&["servers", "add", "probe", "--", &program])
        .expect_success();
    home.cli(&["policy", "set", "probe", "allow"])
        .expect_success();
    let mut bridge = Bridge::open(&home, "editor");
    let mut id = 10;
    wait_until("the tools are listed", || {
        id += 1;
        some_if(
            bridge
                .request(id, "tools/list", &json!({}))
                .to_string()
                .contains("probe__echo"),
        )
    });
    let answer = bridge.request(
        1000,
        "tools/call",
        &json!({"name": "probe__echo", "arguments": {"a": 1}}),
    );
    assert_eq!(
        answer["result"]["content"][0]["text"], r#"{"a":1}"#,
        "{answer}"
    );
}

#[test]
fn a_stdio_client_gets_an_error_after_the_hub_exits() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let mut bridge = Bridge::open(&home, "editor");
    bridge.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "probe__echo", "arguments": {}}}));
    hub.wait_for_approval();
    hub.stop(Signal::SIGKILL);
    let answer = bridge.read_response(5);
    assert!(
        answer.get("error").is_some() || answer["result"]["isError"] == true,
        "the answer is an error: {answer}"
    );
}

#[test]
fn concurrent_requests_to_a_new_hub_share_one_new_session() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let mut bridge = Bridge::open(&home, "editor");
    hub.stop(Signal::SIGKILL);
    let hub = Hub::serve(&home);
    for id in 10..30 {
        bridge.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {}}));
    }
    for _ in 10..30 {
        let line = bridge.process.read_line();
        assert!(
            line.contains("probe__echo"),
            "each request is answered: {line}"
        );
    }
    assert_eq!(count_sessions(&hub, "editor"), 1);
}

#[test]
fn a_terminated_bridge_ends_its_session() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut bridge = Bridge::open(&home, "editor");
        assert_eq!(count_sessions(&hub, "editor"), 1);
        bridge.process.send_signal(signal);
        let (status, _) = bridge.process.wait_until_exit(Duration::from_secs(10));
        assert!(status.success(), "{signal}: {status}");
        assert_eq!(count_sessions(&hub, "editor"), 0, "after {signal}");
    }
}

/// Returns the number of open sessions of a known client.
#[track_caller]
fn count_sessions(hub: &Hub, client: &str) -> u64 {
    let clients = hub.run_verb("clients.list", &json!({}));
    let known_client = clients.as_array().and_then(|clients| {
        clients
            .iter()
            .find(|known_client| known_client["name"] == client)
    });
    let sessions = &known_client.expect("the client is known")["sessions"];
    sessions.as_u64().expect("a number")
}

#[test]
fn progress_reaches_a_stdio_client_before_the_answer() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_everything();
    let mut bridge = Bridge::open(&home, "editor");
    bridge.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "everything__trigger-long-running-operation", "arguments": {"duration": 1, "steps": 4},
        "_meta": {"progressToken": "mine"}}}));
    let mut progress = 0;
    loop {
        let message: Value = serde_json::from_str(&bridge.process.read_line()).expect("JSON");
        if message["id"] == 9 {
            break;
        }
        progress += u32::from(message["params"]["progressToken"] == "mine");
    }
    assert!(progress >= 1, "the client receives progress");
}
