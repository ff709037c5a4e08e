//! An idle hub: its exit if a bridge started it, and the number of its threads.

use std::{fs, process::Stdio, time::Duration};

use drawbridge_tests::{
    Bridge, Home, Hub,
    hub::write_spec,
    paths,
    process::Process,
    wait::{shift_moment, some_if, try_until_within},
    wait_until,
};
use serde_json::json;

/// Returns the pid of the hub of a home, if one runs.
fn find_hub(home: &Home) -> Option<u32> {
    home.processes()
        .into_iter()
        .find(|process| process.command.contains(" serve "))
        .map(|process| process.pid)
}

/// Starts a bridge whose client sends nothing. The hub that the bridge starts exits after `idle`
/// seconds without use.
fn start_silent_bridge(home: &Home, idle: &str) -> Process {
    let mut command = home.command(paths::built_binary("drawbridge"));
    command
        .args(["stdio", "--exit-when-idle", idle, "--data-dir"])
        .arg(home.data_dir())
        .stdin(Stdio::piped());
    Process::start(home, "silent", &mut command)
}

#[test]
fn a_hub_started_by_a_bridge_runs_while_a_bridge_runs_and_then_exits() {
    let home = Home::new();
    let mut silent_bridge = start_silent_bridge(&home, "1");
    let hub = wait_until("the bridge has started a hub", || {
        find_hub(&home).filter(|_| home.cli(&["approvals", "list"]).exit_code() == 0)
    });
    // The end of another, unused hub shows that more than the idle time has passed.
    let other_home = Home::new();
    Bridge::open_with(&other_home, "editor", &["--exit-when-idle", "2"]).close();
    wait_until("the other hub has exited", || {
        some_if(find_hub(&other_home).is_none())
    });
    assert_eq!(
        find_hub(&home),
        Some(hub),
        "a bridge keeps its hub running, even if its client sends nothing"
    );
    drop(silent_bridge.take_stdin());
    let (status, _) = silent_bridge.wait_until_exit(Duration::from_secs(10));
    assert!(status.success(), "{status}");
    wait_until("the bridge's hub has exited", || {
        some_if(find_hub(&home).is_none())
    });
    assert!(
        !home.data_dir().join("drawbridge.sock").exists(),
        "the hub has removed its socket"
    );
}

#[test]
fn a_hub_started_by_a_person_does_not_exit_when_unused() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    Bridge::open_with(&home, "editor", &["--exit-when-idle", "1"]).close();
    let other_home = Home::new();
    Bridge::open_with(&other_home, "editor", &["--exit-when-idle", "2"]).close();
    wait_until("the other hub has exited", || {
        some_if(find_hub(&other_home).is_none())
    });
    assert_eq!(find_hub(&home), Some(hub.pid()));
}

#[test]
fn a_bridge_that_starts_while_the_hub_exits_gets_another_hub() {
    let home = Home::new();
    // The server, and so the hub, takes seven seconds to stop.
    let program = paths::path_text(paths::built_binary("upstream-faulty"));
    let spec = json!({"command": program, "args": ["--stay"], "timeouts": {"stop_ms": 7_000}});
    home.cli(&["servers", "list"]).expect_success();
    write_spec(&home, "slow", &spec.to_string());
    home.accept_server("slow");
    home.cli(&["policy", "set", "slow", "allow"])
        .expect_success();
    let mut bridge = Bridge::open_with(&home, "editor", &["--exit-when-idle", "1"]);
    let first_hub = find_hub(&home).expect("a hub");
    let answer = bridge.request(
        2,
        "tools/call",
        &json!({"name": "slow__echo", "arguments": {"n": 1}}),
    );
    assert_eq!(
        answer["result"]["content"][0]["text"], r#"{"n":1}"#,
        "the server runs: {answer}"
    );
    bridge.close();
    let socket = home.data_dir().join("drawbridge.sock");
    wait_until("the hub accepts no connections", || {
        some_if(!socket.exists())
    });
    assert_eq!(
        find_hub(&home),
        Some(first_hub),
        "the first hub still waits for its server to stop"
    );
    let mut bridge = Bridge::open_with(&home, "editor", &["--exit-when-idle", "1"]);
    assert!(
        bridge
            .request(2, "tools/list", &json!({}))
            .to_string()
            .contains("slow__echo")
    );
    assert_ne!(find_hub(&home), Some(first_hub), "another hub runs");
    bridge.close();
}

#[test]
fn bridges_that_start_at_any_moment_of_a_hub_exit_are_served() {
    let home = Home::new();
    // The pause grows by 10 ms each time, so that some bridges arrive exactly at the end of the
    // idle second.
    for step in 0..8 {
        let mut bridge = Bridge::open_with(&home, "editor", &["--exit-when-idle", "1"]);
        assert!(bridge.request(2, "ping", &json!({}))["error"].is_null());
        bridge.close();
        shift_moment(Duration::from_millis(960 + 10 * step));
    }
}

#[test]
fn an_idle_hub_keeps_few_threads() {
    /// An idle hub needs six threads: one for the event loop, three for the store (journal, head of
    /// the audit log, log files), one that watches the spec files, and one for the database. The
    /// test tolerates two more threads.
    const MAX_THREADS: usize = 8;
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("claude-code");
    assert!(!client.call("probe__echo", "{}").is_error());
    drop(client);
    let pid = find_hub(&home).expect("the hub runs");
    let names = || -> Vec<String> {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the hub runs");
        let name_of = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm"));
        threads
            .filter_map(|thread| Some(name_of(thread.ok()?).ok()?.trim().to_owned()))
            .collect()
    };
    try_until_within(Duration::from_secs(90), || {
        some_if(names().len() <= MAX_THREADS)
    });
    let names = names();
    assert!(
        names.len() <= MAX_THREADS,
        "the threads of an idle hub: {names:?}"
    );
}
