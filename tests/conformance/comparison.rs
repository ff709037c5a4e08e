//! Tests of the comparison itself, on handmade reports.

use std::{fs, path::Path};

use serde_json::json;

use crate::{
    differences::{ANY_SERVER, Difference, EVERY},
    report::{Report, find_differences},
};

/// Returns the report of a suite about a single scenario `ping`.
fn report(folder: &Path, statuses: &[&str]) -> Report {
    let scenario = folder.join("server-ping-2026-01-01T00-00-00-000Z");
    fs::create_dir_all(&scenario).expect("a folder");
    let check = |status: &&str| json!({"id": "ping", "name": "Ping", "status": status, "errorMessage": "it did not"});
    let checks: Vec<_> = statuses.iter().map(check).collect();
    fs::write(scenario.join("checks.json"), json!(checks).to_string()).expect("write the checks");
    let report = Report::read(folder);
    fs::remove_dir_all(scenario).expect("empty the folder");
    report
}

fn known_difference(through: &'static str) -> Difference {
    Difference {
        suite: "any",
        server_kinds: ANY_SERVER,
        scenario: "ping",
        check: "ping/Ping",
        through,
        reason: "it is a test",
    }
}

#[test]
fn a_check_with_another_result_is_reported_unless_it_is_known() {
    let home = tempfile::tempdir().expect("a folder");
    let good = report(home.path(), &["SUCCESS", "SUCCESS"]);
    let worse = report(home.path(), &["SUCCESS", "FAILURE"]);
    let gone = report(home.path(), &[]);
    assert_eq!(find_differences(&good, &good, &[]), Vec::<String>::new());
    let said = ["  ping ping/Ping: “SUCCESS” became “FAILURE and SUCCESS” it did not"];
    assert_eq!(find_differences(&good, &worse, &[]), said);
    assert_eq!(
        find_differences(&good, &gone, &[]),
        ["  ping ping/Ping: “SUCCESS” became “” "]
    );
    assert_eq!(
        find_differences(&good, &worse, &[&known_difference("FAILURE and SUCCESS")]),
        Vec::<String>::new()
    );
    let all = Difference {
        check: EVERY,
        ..known_difference("")
    };
    assert_eq!(
        find_differences(&good, &worse, &[&all]),
        Vec::<String>::new()
    );
    assert_eq!(
        find_differences(&good, &worse, &[&known_difference("FAILURE")]).len(),
        2,
        "it came out otherwise, and not as known"
    );
}

#[test]
fn an_obsolete_known_difference_is_reported() {
    let home = tempfile::tempdir().expect("a folder");
    let good = report(home.path(), &["SUCCESS"]);
    let said = find_differences(&good, &good, &[&known_difference("FAILURE")]);
    assert_eq!(
        said,
        ["  ping ping/Ping: is no longer “FAILURE”: take it out of differences.rs"]
    );
}

#[test]
fn an_aborted_scenario_is_a_failed_check() {
    let home = tempfile::tempdir().expect("a folder");
    fs::create_dir(home.path().join("server-ping-2026-01-01T00-00-00-000Z")).expect("a folder");
    assert_eq!(
        Report::read(home.path()).problems(),
        ["ping scenario/BrokeOff: {}"]
    );
}
