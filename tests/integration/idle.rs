//! Hubs that a bridge started, after their last use.

use std::process::Stdio;

use drawbridge_tests::{
    Bridge, Home, Hub, hub::write_spec, places, process::Process, until, wait::yes,
};
use serde_json::json;

/// Returns the pid of the hub of a home, if one runs.
fn hub_of(home: &Home) -> Option<u32> {
    home.processes()
        .into_iter()
        .find(|process| process.command.contains(" serve "))
        .map(|process| process.pid)
}

/// Starts a bridge whose client sends nothing.
fn silent_bridge(home: &Home, idle: &str) -> Process {
    let mut command = home.command(places::built("drawbridge"));
    command
        .args(["stdio", "--exit-when-idle", idle, "--data-dir"])
        .arg(home.data_dir())
        .stdin(Stdio::piped());
    Process::start(home, "silent", &mut command)
}

#[test]
fn a_hub_that_a_bridge_started_stays_while_a_bridge_runs_and_ends_when_nobody_uses_it() {
    let home = Home::new();
    let mut silent = silent_bridge(&home, "1");
    let hub = until("the bridge has started a hub", || {
        hub_of(&home).filter(|_| home.cli(&["approvals", "list"]).code() == 0)
    });
    // The end of another, unused hub shows that more than the idle time has passed.
    let other = Home::new();
    Bridge::open_with(&other, "editor", &["--exit-when-idle", "2"]).end();
    until("the other hub has ended", || yes(hub_of(&other).is_none()));
    assert_eq!(
        hub_of(&home),
        Some(hub),
        "a bridge keeps its hub, also if its client says nothing"
    );
    drop(silent.take_stdin());
    let (status, _) = silent.finish(std::time::Duration::from_secs(10));
    assert!(status.success(), "{status}");
    until("its hub has ended too", || yes(hub_of(&home).is_none()));
    assert!(
        !home.data_dir().join("drawbridge.sock").exists(),
        "it has cleaned up"
    );
}

#[test]
fn a_hub_that_a_person_started_does_not_end_when_nobody_uses_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    Bridge::open_with(&home, "editor", &["--exit-when-idle", "1"]).end();
    let other = Home::new();
    Bridge::open_with(&other, "editor", &["--exit-when-idle", "2"]).end();
    until("the other hub has ended", || yes(hub_of(&other).is_none()));
    assert_eq!(hub_of(&home), Some(hub.id()));
}

#[test]
fn a_bridge_that_comes_while_the_hub_ends_gets_another_hub() {
    let home = Home::new();
    // The server, and so the hub, takes seven seconds to stop.
    let program = places::text(places::built("upstream-faulty"));
    let spec = json!({"command": program, "args": ["--stay"], "timeouts": {"stop_ms": 7_000}});
    home.cli(&["servers", "list"]).ok();
    write_spec(&home, "slow", &spec.to_string());
    home.cli(&["servers", "accept", "slow"]).ok();
    home.cli(&["policy", "set", "slow", "allow"]).ok();
    let mut bridge = Bridge::open_with(&home, "editor", &["--exit-when-idle", "1"]);
    let first = hub_of(&home).expect("a hub");
    let answer = bridge.ask(
        2,
        "tools/call",
        &json!({"name": "slow__echo", "arguments": {"n": 1}}),
    );
    assert_eq!(
        answer["result"]["content"][0]["text"], r#"{"n":1}"#,
        "the server runs: {answer}"
    );
    bridge.end();
    let socket = home.data_dir().join("drawbridge.sock");
    until("the hub takes no connection any more", || {
        yes(!socket.exists())
    });
    assert_eq!(hub_of(&home), Some(first), "but still waits for its server");
    let mut bridge = Bridge::open_with(&home, "editor", &["--exit-when-idle", "1"]);
    assert!(
        bridge
            .ask(2, "tools/list", &json!({}))
            .to_string()
            .contains("slow__echo")
    );
    assert_ne!(
        hub_of(&home),
        Some(first),
        "another hub has taken its place"
    );
    bridge.end();
}

#[test]
fn bridges_that_come_at_any_moment_of_a_hub_s_end_are_served() {
    let home = Home::new();
    // The pause grows by 10 ms each time, so that some bridges arrive exactly at the end of the
    // idle second.
    for step in 0..8 {
        let mut bridge = Bridge::open_with(&home, "editor", &["--exit-when-idle", "1"]);
        assert!(bridge.ask(2, "ping", &json!({}))["error"].is_null());
        bridge.end();
        std::thread::sleep(std::time::Duration::from_millis(960 + 10 * step));
    }
}
