//! The official conformance suites, run against a server that passes all checks and against the
//! same server behind Drawbridge: the findings must be the same.

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
    let (direct, through) = thread::scope(|scope| {
        let through = suite.server_kinds.iter().map(|behind| {
            (
                *behind,
                scope.spawn(|| run_through_drawbridge(suite, *behind)),
            )
        });
        let through: Vec<_> = through.collect();
        let direct = run_directly(suite);
        let through = through
            .into_iter()
            .map(|(behind, run)| (behind, run.join()));
        (direct, through.collect::<Vec<_>>())
    });
    assert_eq!(
        direct.problems(),
        Vec::<String>::new(),
        "the fixture itself must pass: it is wrong, not Drawbridge"
    );
    assert_eq!(
        direct.count_passed(),
        suite.passed,
        "checks of {} that the fixture passes",
        suite.name
    );
    let mut wrong = vec![];
    for (behind, through) in through {
        let Ok(through) = through else {
            wrong.push(format!(
                "{behind:?}: the suite could not be run; the panic above says why"
            ));
            continue;
        };
        let known = differences::ALL
            .iter()
            .filter(|known| known.suite == suite.name && known.server_kinds.contains(&behind));
        let here = find_differences(&direct, &through, &known.collect::<Vec<_>>());
        if !here.is_empty() {
            wrong.push(format!(
                "{behind:?}: {} checks pass, {} are not as they should be:",
                through.count_passed(),
                here.len()
            ));
            wrong.extend(here);
        }
    }
    assert!(
        wrong.is_empty(),
        "through Drawbridge:\n{}",
        wrong.join("\n")
    );
}

/// Returns the report of the suite about the fixture.
fn run_directly(suite: &Suite) -> Report {
    let home = Home::new();
    let (_server, url) = serve(&home, &[]);
    suite.run(&home, &url, "direct")
}

/// Returns the report of the suite about Drawbridge's endpoint for the fixture.
fn run_through_drawbridge(suite: &Suite, behind: ServerKind) -> Report {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _server = match behind {
        ServerKind::Http => Some(add(&home, &[])),
        ServerKind::OtherEra => Some(add(&home, &[suite.other_era])),
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
        &format!("{behind:?}").to_lowercase(),
    )
}

/// Starts the fixture and adds it to Drawbridge.
fn add(home: &Home, options: &[&str]) -> Process {
    let (server, url) = serve(home, options);
    home.cli(&["servers", "add", ID, "--url", &url, "--transport", "http"])
        .expect_success();
    server
}

/// Starts the fixture. Returns its process and its URL.
fn serve(home: &Home, options: &[&str]) -> (Process, String) {
    let mut command = home.command(paths::built_binary(FIXTURE));
    let mut server = Process::start(home, FIXTURE, command.arg("0").args(options));
    let line = server.read_line();
    let url = line
        .strip_prefix("listening on ")
        .unwrap_or_else(|| panic!("not where it listens: {line}"));
    (server, url.to_owned())
}
