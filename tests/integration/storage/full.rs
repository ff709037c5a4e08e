//! A full disk, simulated by a limit on the size of files (`RLIMIT_FSIZE`), which applies to
//! administrators too.

use std::fs;

use drawbridge_tests::{
    FaultyServer, Home, Hub, canary::list_files, hub::spec_file, paths, store, wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::json;

use super::{assert_denied, assert_refused, assert_runs, assert_screens_work};

/// Starts the hub with `SIGXFSZ` ignored. A limit on the size of files simulates a full disk, and
/// exceeding the limit is then an error and does not end the hub.
const STARTER: [&str; 3] = ["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""];

/// Limits the size of all files that the hub writes from now on.
#[track_caller]
fn limit_file_size(hub: &Hub<'_>, bytes: &str) {
    let mut command = hub.home.command(paths::find_program("prlimit"));
    let status = command
        .arg(format!("--pid={}", hub.pid()))
        .arg(format!("--fsize={bytes}:"))
        .status();
    assert!(
        status.expect("prlimit").success(),
        "limit the hub's files to {bytes}"
    );
}

#[test]
fn on_a_full_disk_calls_are_denied_and_the_screens_work_until_there_is_space() {
    let home = Home::new();
    let hub = Hub::serve_with_starter(&home, &STARTER);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    assert_runs(&client, &faulty);
    limit_file_size(&hub, "0");
    for _ in 0..5 {
        assert_denied(&client, &faulty);
    }
    assert_screens_work(&hub);
    assert_refused(
        &hub,
        "policy.set",
        &json!({"server": "faulty", "effect": "deny"}),
        "database",
    );
    let spec = json!({"spec": {"name": "new", "command": "true"}});
    assert_refused(&hub, "servers.add", &spec, "new.json");
    assert!(
        !spec_file(&home.data_dir(), "new").exists(),
        "no partial file is left"
    );
    limit_file_size(&hub, "unlimited");
    assert_runs(&client, &faulty);
    assert_eq!(faulty.count_starts(), 1, "nothing was restarted");
    hub.run_verb("servers.add", &spec);
    // The log names the new server by its id.
    let marker = "a line after the full disk";
    hub.add_server(marker, &[], &["true"]);
    wait_until("the log is written again", || {
        let logs = list_files(&home.data_dir().join("logs"));
        some_if(logs.iter().any(|file| {
            fs::read_to_string(file).is_ok_and(|text| text.contains("a-line-after-the-full-disk"))
        }))
    });
    hub.stop(Signal::SIGTERM);
    assert!(store::passes_integrity_check(&home.data_dir()).expect("read the store"));
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    let allowed = rows.iter().filter(|row| row.decision == "allowed").count();
    assert_eq!(
        allowed, 2,
        "only the calls that ran are recorded as allowed: {rows:#?}"
    );
}

#[test]
fn an_approval_on_a_full_disk_is_denied_with_the_reason() {
    let home = Home::new();
    let hub = Hub::serve_with_starter(&home, &STARTER);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    hub.set_policy("faulty", "ask");
    let call = hub.connect_client("desk").spawn_call("faulty__echo", "{}");
    let approval = hub.wait_for_approval();
    limit_file_size(&hub, "0");
    home.cli(&[
        "approvals",
        "approve",
        approval["id"].as_str().expect("an id"),
    ]);
    let answer = call.join().expect("an answer");
    assert!(
        answer.is_error() && answer.text().contains("could not be recorded"),
        "{}",
        answer.raw
    );
    assert_eq!(
        faulty.received_calls("echo").len(),
        0,
        "the call did not reach the server"
    );
}
