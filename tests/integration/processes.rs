//! Processes: servers are started when they are needed, and none outlives the hub.

use std::{collections::HashSet, time::Duration};

use drawbridge_tests::{
    FaultyServer, Home, Hub, hub::received_calls, store, wait::some_if, wait_until,
};
use nix::sys::signal::Signal;
use serde_json::json;

fn find_probes(home: &Home) -> Vec<u32> {
    home.server_processes()
        .iter()
        .filter(|process| process.command.contains("upstream-probe"))
        .map(|process| process.pid)
        .collect()
}

fn count_stubborn(home: &Home) -> usize {
    home.server_processes()
        .iter()
        .filter(|process| process.command.contains("sleep 600"))
        .count()
}

#[test]
fn no_child_outlives_a_hub_that_was_killed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--grandchild"]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    assert!(!client.call("probe__echo", "{}").is_error());
    wait_until("the server runs, and what it started", || {
        some_if(!find_probes(&home).is_empty() && count_stubborn(&home) > 0)
    });
    hub.stop(Signal::SIGKILL);
    home.assert_no_survivors();
    assert!(
        store::passes_integrity_check(&home.data_dir()).expect("read the store"),
        "the database is sound"
    );
}

#[test]
fn no_child_outlives_a_hub_that_was_asked_to_stop() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--grandchild"]);
    hub.set_policy("probe", "allow");
    assert!(
        !hub.connect_client("desk")
            .call("probe__echo", "{}")
            .is_error()
    );
    wait_until("the server runs, and what it started", || {
        some_if(!find_probes(&home).is_empty() && count_stubborn(&home) > 0)
    });
    hub.stop(Signal::SIGTERM);
    home.assert_no_survivors();
}

#[test]
fn no_escaped_process_outlives_the_hub_however_the_hub_ends() {
    // `SIGABRT` is how a program ends if it panics in code that must not unwind.
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGABRT] {
        let home = Home::new();
        let hub = Hub::serve(&home);
        let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &["--escaped-child", "--child"])
            .wait_until_synced();
        wait_until("all three run", || some_if(faulty.count_processes() >= 3));
        let runs: HashSet<String> = home
            .server_processes()
            .iter()
            .filter_map(|one| one.variable("DRAWBRIDGE_RUN").map(str::to_owned))
            .collect();
        assert_eq!(
            runs.len(),
            1,
            "each carries the id of the hub's run: {runs:?}"
        );
        drop(faulty);
        hub.stop(signal);
        home.assert_no_survivors();
    }
}

#[test]
fn a_killed_hub_restarts_and_replays_no_call() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.connect_client("desk");
    let waiting = client.spawn_call("probe__echo", r#"{"n":1}"#);
    hub.wait_for_approval();
    hub.stop(Signal::SIGKILL);
    drop(waiting);
    let hub = Hub::serve(&home);
    assert_eq!(
        home.cli(&["approvals", "list", "--json"]).expect_json(),
        serde_json::json!([]),
        "nothing waits"
    );
    assert_eq!(
        hub.show_server("probe")["tools"][0]["name"],
        "echo",
        "it knows its servers"
    );
    assert_eq!(
        received_calls(&home),
        Vec::<String>::new(),
        "the undecided call never crosses"
    );
}

#[test]
fn a_second_hub_on_the_same_folder_reports_the_first() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut second = Hub::spawn(&home);
    let (status, printed) = second.wait_until_exit(Duration::from_secs(10));
    assert_eq!(status.code(), Some(1), "it refuses");
    assert_eq!(printed, "", "it listens nowhere");
    let said = second.stderr();
    assert!(
        said.contains(&hub.pid().to_string()),
        "it names the pid {}: {said}",
        hub.pid()
    );
    assert!(
        !hub.connect_client("desk")
            .request("ping", "{}")
            .raw
            .contains("error"),
        "the first goes on"
    );
}

#[test]
fn of_two_hubs_that_start_concurrently_one_serves_and_the_other_reports_it() {
    for _ in 0..5 {
        let home = Home::new();
        let mut hubs = [Hub::spawn(&home), Hub::spawn(&home)];
        let refused = wait_until("one of them refuses", || {
            hubs.iter_mut().position(|hub| hub.exit_status().is_some())
        });
        let (status, printed) = hubs[refused].wait_until_exit(Duration::from_secs(1));
        assert_eq!(
            (status.code(), printed.as_str()),
            (Some(1), ""),
            "{}",
            hubs[refused].stderr()
        );
        let serves = &mut hubs[1 - refused];
        assert!(
            serves.read_line().starts_with("listening on "),
            "the other one serves"
        );
        let pid = serves.pid().to_string();
        let said = hubs[refused].stderr();
        assert!(said.contains(&pid), "it names the pid {pid}: {said}");
    }
}

#[test]
fn a_call_after_a_crash_restarts_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let mut spec = hub.show_server("probe")["spec"].clone();
    spec["timeouts"] = serde_json::json!({"call_ms": 600_000});
    hub.run_verb(
        "servers.update",
        &serde_json::json!({"id": "probe", "spec": spec}),
    );
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    assert!(!client.call("probe__echo", "{}").is_error());
    // The client learns of the crash although the timeout of its call is far away.
    let crashed = client.call("probe__crash", "{}");
    assert!(
        crashed.is_error() && crashed.text().contains("probe"),
        "it names the server: {}",
        crashed.raw
    );
    let crashes = received_calls(&home)
        .iter()
        .filter(|line| line.contains("\"crash\""))
        .count();
    assert_eq!(crashes, 1, "a call is never sent twice");
    assert_eq!(
        client.call("probe__echo", r#"{"back":true}"#).text(),
        r#"{"back":true}"#
    );
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    let crash = rows
        .iter()
        .find(|row| row.tool == "crash")
        .expect("the call is remembered");
    assert_eq!(crash.outcome, "unknown", "whether it ran is unknown");
}

#[test]
fn a_mute_server_times_out_and_disturbs_no_other() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("*", "allow");
    let program =
        drawbridge_tests::paths::path_text(drawbridge_tests::paths::built_binary("upstream-probe"));
    let spec = serde_json::json!({"spec": {
        "name": "mute", "command": program, "args": ["--mute"], "timeouts": {"initialize_ms": 1500}
    }});
    hub.run_verb("servers.add", &spec);
    let client = hub.connect_client("desk");
    assert!(
        !client.call("probe__echo", "{}").is_error(),
        "the other server answers"
    );
    assert_eq!(
        home.cli(&["servers", "verify", "mute"]).exit_code(),
        1,
        "the mute one does not"
    );
    wait_until("no mute process is left", || {
        some_if(
            !home
                .server_processes()
                .iter()
                .any(|process| process.command.contains("--mute")),
        )
    });
}
