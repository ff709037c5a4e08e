//! Tests of the comparison itself, on handmade reports.

use std::{fs, path::Path};

use serde_json::json;

use crate::{
    differences::{ANY_SERVER, Difference, EVERY_CHECK},
    report::{Report, find_differences},
};

/// Returns the report of a suite about a single scenario `ping`.
fn make_report(folder: &Path, statuses: &[&str]) -> Report {
    let scenario = folder.join("server-ping-2026-01-01T00-00-00-000Z");
    fs::create_dir_all(&scenario).expect("create a folder");
    let check = |status: &&str| json!({"id": "ping", "name": "Ping", "status": status, "errorMessage": "no pong"});
    let checks: Vec<_> = statuses.iter().map(check).collect();
    fs::write(scenario.join("checks.json"), json!(checks).to_string()).expect("write the checks");
    let report = Report::read(folder);
    fs::remove_dir_all(scenario).expect("delete the folder of the scenario");
    report
}

fn listed_difference(outcome: &'static str) -> Difference {
    Difference {
        suite: "any",
        server_kinds: ANY_SERVER,
        scenario: "ping",
        check: "ping/Ping",
        outcome,
        reason: "the test needs a difference",
    }
}

#[test]
fn a_check_with_a_different_result_is_reported_unless_the_difference_is_listed() {
    let home = tempfile::tempdir().expect("create a folder");
    let passing = make_report(home.path(), &["SUCCESS", "SUCCESS"]);
    let failing = make_report(home.path(), &["SUCCESS", "FAILURE"]);
    let missing = make_report(home.path(), &[]);
    assert_eq!(
        find_differences(&passing, &passing, &[]),
        Vec::<String>::new()
    );
    assert_eq!(
        find_differences(&passing, &failing, &[]),
        ["  ping ping/Ping: “SUCCESS” became “FAILURE and SUCCESS”: no pong"]
    );
    assert_eq!(
        find_differences(&passing, &missing, &[]),
        ["  ping ping/Ping: “SUCCESS” became “”: "]
    );
    assert_eq!(
        find_differences(
            &passing,
            &failing,
            &[&listed_difference("FAILURE and SUCCESS")]
        ),
        Vec::<String>::new()
    );
    let any_outcome = Difference {
        check: EVERY_CHECK,
        ..listed_difference("")
    };
    assert_eq!(
        find_differences(&passing, &failing, &[&any_outcome]),
        Vec::<String>::new()
    );
    assert_eq!(
        find_differences(&passing, &failing, &[&listed_difference("FAILURE")]).len(),
        2,
        "the new outcome is reported, and so is the listed difference that did not occur"
    );
}

#[test]
fn a_listed_difference_that_no_longer_occurs_is_reported() {
    let home = tempfile::tempdir().expect("create a folder");
    let passing = make_report(home.path(), &["SUCCESS"]);
    assert_eq!(
        find_differences(&passing, &passing, &[&listed_difference("FAILURE")]),
        [
            "  ping ping/Ping: the outcome is no longer “FAILURE”: remove the row from differences.rs"
        ]
    );
}

#[test]
fn an_aborted_scenario_is_a_failed_check() {
    let home = tempfile::tempdir().expect("create a folder");
    fs::create_dir(home.path().join("server-ping-2026-01-01T00-00-00-000Z"))
        .expect("create a folder");
    assert_eq!(
        Report::read(home.path()).problems(),
        ["ping scenario/Aborted: {}"]
    );
}
