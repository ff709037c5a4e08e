//! The official conformance suites, run against a server that passes all checks and against the
//! same server behind Drawbridge: the results must be the same, except for the listed differences.
//! The module `client` runs the suites' tests of clients, with Drawbridge as the client.

mod client;
mod comparison;
mod differences;
mod forwarder;
mod report;
mod suite;

use std::thread;

use drawbridge_tests::{Home, Hub, paths, process::Process};

use crate::{
    differences::ServerKind,
    forwarder::Forwarder,
    report::{Report, find_differences},
    suite::Suite,
};

/// The server's id, which is a part of its endpoint.
const ID: &str = "conformance";

const FIXTURE: &str = "upstream-conformance";

#[test]
fn results_of_the_first_suite_are_the_same_through_drawbridge() {
    assert_same_results(&suite::FIRST);
}

#[test]
fn results_of_the_2025_11_25_suite_are_the_same_through_drawbridge() {
    assert_same_results(&suite::OF_2025_11_25);
}

#[test]
fn results_of_the_2026_07_28_suite_are_the_same_through_drawbridge() {
    assert_same_results(&suite::OF_2026_07_28);
}

/// Runs a suite against the server and against the server behind Drawbridge, and compares check by
/// check.
#[track_caller]
fn assert_same_results(suite: &Suite) {
    let (direct_report, drawbridge_runs) = thread::scope(|scope| {
        let threads = suite.server_kinds.iter().map(|server_kind| {
            (
                *server_kind,
                scope.spawn(|| run_through_drawbridge(suite, *server_kind)),
            )
        });
        let threads: Vec<_> = threads.collect();
        let direct_report = run_directly(suite);
        let runs = threads
            .into_iter()
            .map(|(server_kind, thread)| (server_kind, thread.join()));
        (direct_report, runs.collect::<Vec<_>>())
    });
    assert_eq!(
        direct_report.problems(),
        Vec::<String>::new(),
        "the fixture fails the suite even without Drawbridge"
    );
    assert_eq!(
        direct_report.count_passed(),
        suite.passed,
        "the number of checks of {} that the fixture passes",
        suite.name
    );
    let mut problems = vec![];
    for (server_kind, run) in drawbridge_runs {
        let Ok(drawbridge_report) = run else {
            problems.push(format!(
                "{server_kind:?}: the run of the suite panicked; the panic above says why"
            ));
            continue;
        };
        let listed = differences::ALL
            .iter()
            .filter(|row| row.suite == suite.name && row.server_kinds.contains(&server_kind));
        let unexpected = find_differences(
            &direct_report,
            &drawbridge_report,
            &listed.collect::<Vec<_>>(),
        );
        if !unexpected.is_empty() {
            problems.push(format!(
                "{server_kind:?}: {} checks pass, {} have an unexpected result:",
                drawbridge_report.count_passed(),
                unexpected.len()
            ));
            problems.extend(unexpected);
        }
    }
    assert!(
        problems.is_empty(),
        "the results of {} differ through Drawbridge:\n{}",
        suite.name,
        problems.join("\n")
    );
}

/// Returns the report of the suite about the fixture.
fn run_directly(suite: &Suite) -> Report {
    let home = Home::new();
    let (_server, url) = start_server(&home, &[]);
    suite.run(&home, &url, "direct")
}

/// Returns the report of the suite about Drawbridge's endpoint for the fixture.
fn run_through_drawbridge(suite: &Suite, server_kind: ServerKind) -> Report {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _server = match server_kind {
        ServerKind::Http => Some(start_and_add_server(&home, &[])),
        ServerKind::OtherEra => Some(start_and_add_server(&home, &[suite.other_era])),
        ServerKind::Stdio => {
            hub.add_server(
                ID,
                &[],
                &[&paths::path_text(paths::built_binary(FIXTURE)), "--stdio"],
            );
            None
        }
    };
    hub.wait_until_synced(ID);
    hub.set_policy(ID, "allow");
    let forwarder = Forwarder::start(&hub.url, &hub.add_client("suite"));
    suite.run(
        &home,
        &format!("{}/{ID}", forwarder.url),
        &format!("{server_kind:?}").to_lowercase(),
    )
}

/// Starts the fixture and adds it to Drawbridge.
fn start_and_add_server(home: &Home, options: &[&str]) -> Process {
    let (server, url) = start_server(home, options);
    home.cli(&["servers", "add", ID, "--url", &url, "--transport", "http"])
        .expect_success();
    server
}

/// Starts the fixture. Returns its process and its URL.
fn start_server(home: &Home, options: &[&str]) -> (Process, String) {
    let mut command = home.command(paths::built_binary(FIXTURE));
    let mut server = Process::start(home, FIXTURE, command.arg("0").args(options));
    let line = server.read_line();
    let url = line
        .strip_prefix("listening on ")
        .unwrap_or_else(|| panic!("{FIXTURE} printed no URL: {line}"));
    (server, url.to_owned())
}
