//! Processes: no server outlives its hub, a data folder has one hub at a time, and a hub or server
//! that crashed starts again. A mute server times out.

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

fn count_sleeping_children(home: &Home) -> usize {
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
    wait_until("the server and its child run", || {
        some_if(!find_probes(&home).is_empty() && count_sleeping_children(&home) > 0)
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
    wait_until("the server and its child run", || {
        some_if(!find_probes(&home).is_empty() && count_sleeping_children(&home) > 0)
    });
    hub.stop(Signal::SIGTERM);
    home.assert_no_survivors();
}

#[test]
fn no_escaped_process_outlives_the_hub_however_the_hub_ends() {
    // A program ends with `SIGABRT` if it panics in code that must not unwind.
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGABRT] {
        let home = Home::new();
        let hub = Hub::serve(&home);
        let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &["--escaped-child", "--child"])
            .wait_until_synced();
        wait_until("the server and its two children run", || {
            some_if(faulty.count_processes() >= 3)
        });
        let runs: HashSet<String> = home
            .server_processes()
            .iter()
            .filter_map(|process| process.variable("DRAWBRIDGE_RUN").map(str::to_owned))
            .collect();
        assert_eq!(
            runs.len(),
            1,
            "all processes have the id of the same run of the hub: {runs:?}"
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
    let pending_call = client.spawn_call("probe__echo", r#"{"n":1}"#);
    hub.wait_for_approval();
    hub.stop(Signal::SIGKILL);
    drop(pending_call);
    let hub = Hub::serve(&home);
    assert_eq!(
        home.cli(&["approvals", "list", "--json"]).expect_json(),
        serde_json::json!([]),
        "no approval is pending"
    );
    assert_eq!(
        hub.show_server("probe")["tools"][0]["name"],
        "echo",
        "the restarted hub knows its servers"
    );
    assert_eq!(
        received_calls(&home),
        Vec::<String>::new(),
        "the undecided call never reaches the server"
    );
}

#[test]
fn a_second_hub_on_the_same_folder_reports_the_first() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut second_hub = Hub::spawn(&home);
    let (status, stdout) = second_hub.wait_until_exit(Duration::from_secs(10));
    assert_eq!(status.code(), Some(1), "the second hub exits with an error");
    assert_eq!(stdout, "", "the second hub does not listen");
    let stderr = second_hub.stderr();
    assert!(
        stderr.contains(&hub.pid().to_string()),
        "the error names the pid {}: {stderr}",
        hub.pid()
    );
    assert!(
        !hub.connect_client("desk")
            .request("ping", "{}")
            .raw
            .contains("error"),
        "the first hub still works"
    );
}

#[test]
fn of_two_hubs_that_start_concurrently_one_serves_and_the_other_reports_it() {
    for _ in 0..5 {
        let home = Home::new();
        let mut hubs = [Hub::spawn(&home), Hub::spawn(&home)];
        let exited_index = wait_until("one of the hubs exits", || {
            hubs.iter_mut().position(|hub| hub.exit_status().is_some())
        });
        let (status, stdout) = hubs[exited_index].wait_until_exit(Duration::from_secs(1));
        assert_eq!(
            (status.code(), stdout.as_str()),
            (Some(1), ""),
            "{}",
            hubs[exited_index].stderr()
        );
        let serving_hub = &mut hubs[1 - exited_index];
        assert!(
            serving_hub.read_line().starts_with("listening on "),
            "the other hub serves"
        );
        let pid = serving_hub.pid().to_string();
        let stderr = hubs[exited_index].stderr();
        assert!(
            stderr.contains(&pid),
            "the error names the pid {pid}: {stderr}"
        );
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
    // The client learns of the crash long before its call would time out.
    let crash_answer = client.call("probe__crash", "{}");
    assert!(
        crash_answer.is_error() && crash_answer.text().contains("probe"),
        "the error names the server: {}",
        crash_answer.raw
    );
    let crash_count = received_calls(&home)
        .iter()
        .filter(|line| line.contains("\"crash\""))
        .count();
    assert_eq!(crash_count, 1, "a call is never sent twice");
    assert_eq!(
        client.call("probe__echo", r#"{"back":true}"#).text(),
        r#"{"back":true}"#
    );
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    let crash_row = rows
        .iter()
        .find(|row| row.tool == "crash")
        .expect("the call is recorded");
    assert_eq!(
        crash_row.outcome, "unknown",
        "it is unknown whether the call ran"
    );
}

#[test]
fn a_mute_server_times_out_and_disturbs_no_other_server() {
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
        "the verification of the mute server fails"
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
