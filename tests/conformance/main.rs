//! The official conformance suites, run against a server that passes all checks and against the
//! same server behind Drawbridge: the findings must be the same.

mod client;
mod compares;
mod differences;
mod forwarder;
mod report;
mod suite;

use std::thread;

use drawbridge_tests::{Home, Hub, places, process::Process};

use crate::{
    differences::Behind,
    forwarder::Forwarder,
    report::{Report, differences},
    suite::Suite,
};

/// The server's id, which is a part of its endpoint.
const ID: &str = "conformance";

const FIXTURE: &str = "upstream-conformance";

#[test]
fn drawbridge_changes_nothing_that_the_first_suite_finds() {
    same(&suite::FIRST);
}

#[test]
fn drawbridge_changes_nothing_that_the_suite_of_2025_11_25_finds() {
    same(&suite::OF_2025_11_25);
}

#[test]
fn drawbridge_changes_nothing_that_the_suite_of_2026_07_28_finds() {
    same(&suite::OF_2026_07_28);
}

/// Runs a suite against the server and against the server behind Drawbridge, and compares check by
/// check.
#[track_caller]
fn same(suite: &Suite) {
    let (direct, through) = thread::scope(|scope| {
        let through = suite
            .behind
            .iter()
            .map(|behind| (*behind, scope.spawn(|| through(suite, *behind))));
        let through: Vec<_> = through.collect();
        let direct = direct(suite);
        let through = through
            .into_iter()
            .map(|(behind, run)| (behind, run.join()));
        (direct, through.collect::<Vec<_>>())
    });
    assert_eq!(
        direct.troubles(),
        Vec::<String>::new(),
        "the fixture itself must pass: it is wrong, not Drawbridge"
    );
    assert_eq!(
        direct.passed(),
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
            .filter(|known| known.suite == suite.name && known.behind.contains(&behind));
        let here = differences(&direct, &through, &known.collect::<Vec<_>>());
        if !here.is_empty() {
            wrong.push(format!(
                "{behind:?}: {} checks pass, {} are not as they should be:",
                through.passed(),
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
fn direct(suite: &Suite) -> Report {
    let home = Home::new();
    let (_server, url) = serve(&home, &[]);
    suite.run(&home, &url, "direct")
}

/// Returns the report of the suite about Drawbridge's endpoint for the fixture.
fn through(suite: &Suite, behind: Behind) -> Report {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _server = match behind {
        Behind::Http => Some(add(&home, &[])),
        Behind::OtherEra => Some(add(&home, &[suite.other_era])),
        Behind::Stdio => {
            hub.add_server(ID, &[], &[&places::text(places::built(FIXTURE)), "--stdio"]);
            None
        }
    };
    hub.until_synced(ID);
    hub.policy(ID, "allow");
    let forwarder = Forwarder::start(&hub.url, &hub.token("suite"));
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
        .ok();
    server
}

/// Starts the fixture. Returns its process and its URL.
fn serve(home: &Home, options: &[&str]) -> (Process, String) {
    let mut command = home.command(places::built(FIXTURE));
    let mut server = Process::start(home, FIXTURE, command.arg("0").args(options));
    let line = server.line();
    let url = line
        .strip_prefix("listening on ")
        .unwrap_or_else(|| panic!("not where it listens: {line}"));
    (server, url.to_owned())
}
