//! A full disk, simulated by a limit on the size of files (`RLIMIT_FSIZE`), which applies to
//! administrators too.

use std::fs;

use drawbridge_tests::{
    Faulty, Home, Hub, canary::files_of, hub::spec_file, places, store, until, wait::yes,
};
use nix::sys::signal::Signal;
use serde_json::json;

use super::{is_denied, is_done, is_refused, screens_work};

/// Ignores `SIGXFSZ`, so that exceeding the limit is an error instead of the end of the process.
const STARTER: [&str; 3] = ["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""];

/// Limits the size of all files that the hub writes from now on.
#[track_caller]
fn limit(hub: &Hub<'_>, bytes: &str) {
    let mut command = hub.home.command(places::program("prlimit"));
    let set = command
        .arg(format!("--pid={}", hub.id()))
        .arg(format!("--fsize={bytes}:"))
        .status();
    assert!(
        set.expect("prlimit").success(),
        "limit its files to {bytes}"
    );
}

#[test]
fn while_the_disk_is_full_calls_are_denied_with_the_reason_the_screens_work_and_then_all_goes_on() {
    let home = Home::new();
    let hub = Hub::serve_behind(&home, &STARTER);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    is_done(&client, &faulty);
    limit(&hub, "0");
    for _ in 0..5 {
        is_denied(&client, &faulty);
    }
    screens_work(&hub);
    is_refused(
        &hub,
        "policy.set",
        &json!({"server": "faulty", "effect": "deny"}),
        "database",
    );
    let spec = json!({"spec": {"name": "new", "command": "true"}});
    is_refused(&hub, "servers.add", &spec, "new.json");
    assert!(
        !spec_file(&home.data_dir(), "new").exists(),
        "no half of a file is left in its place"
    );
    limit(&hub, "unlimited");
    is_done(&client, &faulty);
    assert_eq!(faulty.starts(), 1, "nothing was restarted");
    hub.verb("servers.add", &spec);
    let marker = "a line after the flood";
    hub.add_server(marker, &[], &["true"]);
    until("the log is written again", || {
        let logs = files_of(&home.data_dir().join("logs"));
        yes(logs.iter().any(|file| {
            fs::read_to_string(file).is_ok_and(|text| text.contains("a-line-after-the-flood"))
        }))
    });
    hub.end(Signal::SIGTERM);
    assert!(store::is_sound(&home.data_dir()).expect("read the store"));
    let rows = store::calls(&home.data_dir()).expect("read the store");
    let allowed = rows.iter().filter(|row| row.decision == "allowed").count();
    assert_eq!(
        allowed, 2,
        "what was denied is not there as allowed: {rows:#?}"
    );
}

#[test]
fn what_a_person_approves_while_the_disk_is_full_is_denied_with_the_reason() {
    let home = Home::new();
    let hub = Hub::serve_behind(&home, &STARTER);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    hub.policy("faulty", "ask");
    let waiting = hub.client("desk").call_meanwhile("faulty__echo", "{}");
    let asked = hub.approval();
    limit(&hub, "0");
    home.cli(&["approvals", "approve", asked["id"].as_str().expect("an id")]);
    let answer = waiting.join().expect("an answer");
    assert!(
        answer.is_error() && answer.text().contains("could not be written"),
        "{}",
        answer.raw
    );
    assert_eq!(faulty.calls("echo").len(), 0, "it never reached the server");
}
