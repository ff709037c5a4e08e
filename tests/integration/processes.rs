//! Processes: servers are started when they are needed, and none outlives the hub.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use drawbridge_tests::{Faulty, Home, Hub, hub::calls_heard, store, until, wait::yes};
use nix::sys::signal::Signal;
use serde_json::json;

fn probes(home: &Home) -> Vec<u32> {
    home.servers()
        .iter()
        .filter(|process| process.command.contains("upstream-probe"))
        .map(|process| process.pid)
        .collect()
}

fn stubborn(home: &Home) -> usize {
    home.servers()
        .iter()
        .filter(|process| process.command.contains("sleep 600"))
        .count()
}

#[test]
fn no_child_outlives_a_hub_that_was_killed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--grandchild"]);
    hub.policy("probe", "allow");
    let client = hub.client("desk");
    assert!(!client.call("probe__echo", "{}").is_error());
    until("the server runs, and what it started", || {
        yes(!probes(&home).is_empty() && stubborn(&home) > 0)
    });
    hub.end(Signal::SIGKILL);
    home.nothing_outlives_the_hub();
    assert!(
        store::is_sound(&home.data_dir()).expect("read the store"),
        "the database is sound"
    );
}

#[test]
fn no_child_outlives_a_hub_that_was_asked_to_stop() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--grandchild"]);
    hub.policy("probe", "allow");
    assert!(!hub.client("desk").call("probe__echo", "{}").is_error());
    until("the server runs, and what it started", || {
        yes(!probes(&home).is_empty() && stubborn(&home) > 0)
    });
    hub.end(Signal::SIGTERM);
    home.nothing_outlives_the_hub();
}

#[test]
fn no_process_that_left_its_group_outlives_the_hub_however_it_ends() {
    // `SIGABRT` is how a program ends if it panics in code that must not unwind.
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGABRT] {
        let home = Home::new();
        let hub = Hub::serve(&home);
        let faulty =
            Faulty::add(&hub, "faulty", &json!({}), &["--escaped-child", "--child"]).synced();
        until("all three run", || yes(faulty.processes() >= 3));
        let runs: HashSet<String> = home
            .servers()
            .iter()
            .filter_map(|one| one.variable("DRAWBRIDGE_RUN").map(str::to_owned))
            .collect();
        assert_eq!(
            runs.len(),
            1,
            "each carries the id of the hub's run: {runs:?}"
        );
        drop(faulty);
        hub.end(signal);
        home.nothing_outlives_the_hub();
    }
}

#[test]
fn a_killed_hub_is_there_again_within_seconds_and_replays_nothing() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.client("desk");
    let waiting = client.call_meanwhile("probe__echo", r#"{"n":1}"#);
    hub.approval();
    hub.end(Signal::SIGKILL);
    drop(waiting);
    let start = Instant::now();
    let hub = Hub::serve(&home);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "it listens again after {:?}",
        start.elapsed()
    );
    assert_eq!(
        home.cli(&["approvals", "list", "--json"]).json(),
        serde_json::json!([]),
        "nothing waits"
    );
    assert_eq!(
        hub.server("probe")["tools"][0]["name"],
        "echo",
        "it knows its servers"
    );
    assert_eq!(
        calls_heard(&home),
        Vec::<String>::new(),
        "the undecided call never crosses"
    );
}

#[test]
fn a_second_hub_on_the_same_folder_names_the_first() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut second = Hub::spawn(&home);
    let (status, printed) = second.finish(Duration::from_secs(10));
    assert_eq!(status.code(), Some(1), "it refuses");
    assert_eq!(printed, "", "it listens nowhere");
    let said = second.stderr();
    assert!(
        said.contains(&hub.id().to_string()),
        "it names the pid {}: {said}",
        hub.id()
    );
    assert!(
        !hub.client("desk")
            .request("ping", "{}")
            .raw
            .contains("error"),
        "the first goes on"
    );
}

#[test]
fn of_two_hubs_that_start_at_once_one_serves_and_the_other_names_it() {
    for _ in 0..5 {
        let home = Home::new();
        let mut hubs = [Hub::spawn(&home), Hub::spawn(&home)];
        let refused = until("one of them refuses", || {
            hubs.iter_mut().position(|hub| hub.ended().is_some())
        });
        let (status, printed) = hubs[refused].finish(Duration::from_secs(1));
        assert_eq!(
            (status.code(), printed.as_str()),
            (Some(1), ""),
            "{}",
            hubs[refused].stderr()
        );
        let serves = &mut hubs[1 - refused];
        assert!(
            serves.line().starts_with("listening on "),
            "the other one serves"
        );
        let pid = serves.id().to_string();
        let said = hubs[refused].stderr();
        assert!(said.contains(&pid), "it names the pid {pid}: {said}");
    }
}

#[test]
fn a_call_after_a_crash_starts_the_server_anew() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("probe", "allow");
    let client = hub.client("desk");
    assert!(!client.call("probe__echo", "{}").is_error());
    let start = Instant::now();
    let crashed = client.call("probe__crash", "{}");
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "the client hears of it soon: {:?}",
        start.elapsed()
    );
    assert!(
        crashed.is_error() && crashed.text().contains("probe"),
        "it names the server: {}",
        crashed.raw
    );
    let crashes = calls_heard(&home)
        .iter()
        .filter(|line| line.contains("\"crash\""))
        .count();
    assert_eq!(crashes, 1, "a call is never sent twice");
    assert_eq!(
        client.call("probe__echo", r#"{"back":true}"#).text(),
        r#"{"back":true}"#
    );
    let rows = store::calls(&home.data_dir()).expect("read the store");
    let crash = rows
        .iter()
        .find(|row| row.tool == "crash")
        .expect("the call is remembered");
    assert_eq!(crash.outcome, "unknown", "whether it ran is unknown");
}

#[test]
fn a_mute_server_ends_at_its_own_time_and_disturbs_nobody() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("*", "allow");
    let program = drawbridge_tests::places::text(drawbridge_tests::places::built("upstream-probe"));
    let spec = serde_json::json!({"spec": {
        "name": "mute", "command": program, "args": ["--mute"], "timeouts": {"initialize_ms": 1500}
    }});
    hub.verb("servers.add", &spec);
    let client = hub.client("desk");
    assert!(
        !client.call("probe__echo", "{}").is_error(),
        "the other server answers"
    );
    assert_eq!(
        home.cli(&["servers", "verify", "mute"]).code(),
        1,
        "the mute one does not"
    );
    until("no mute process is left", || {
        yes(!home
            .servers()
            .iter()
            .any(|process| process.command.contains("--mute")))
    });
}
