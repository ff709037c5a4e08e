//! The official conformance suites, against a server that passes them all and against the same
//! server behind Drawbridge: what they find must be the same.

mod compares;
mod differences;
mod forwarder;
mod report;
mod suite;

use std::thread;

use drawbridge_tests::{Home, Hub, places, process::Process};

use crate::{
    differences::Difference,
    forwarder::Forwarder,
    report::{Report, differences},
    suite::Suite,
};

/// The server's id, which its endpoint bears.
const ID: &str = "conformance";

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

/// How Drawbridge reaches the server.
#[derive(Debug, Clone, Copy)]
enum Transport {
    Http,
    Stdio,
}

/// Runs a suite against the server and against Drawbridge before it, and compares check by check.
#[track_caller]
fn same(suite: &Suite) {
    let (direct, over_http, over_stdio) = thread::scope(|scope| {
        let direct = scope.spawn(|| direct(suite));
        let over_http = scope.spawn(|| through(suite, Transport::Http));
        let over_stdio = through(suite, Transport::Stdio);
        (direct.join().expect("the suite runs"), over_http.join().expect("the suite runs over HTTP"), over_stdio)
    });
    assert_eq!(direct.troubles(), Vec::<String>::new(), "the fixture itself must pass: it is wrong, not Drawbridge");
    assert_eq!(direct.passed(), suite.passed, "checks of {} that the fixture passes", suite.name);
    let known: Vec<&Difference> = differences::ALL.iter().filter(|known| known.suite == suite.name).collect();
    let wrong = [("HTTP", over_http), ("stdio", over_stdio)].map(|(transport, through)| {
        let wrong = differences(&direct, &through, &known);
        let head = format!("{} checks pass through Drawbridge over {transport}", through.passed());
        (!wrong.is_empty()).then(|| format!("{head}, {} are not as they should be:\n{}", wrong.len(), wrong.join("\n")))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the suite finds at the fixture.
fn direct(suite: &Suite) -> Report {
    let home = Home::new();
    let (_server, url) = serve(&home);
    suite.run(&home, &url, "direct")
}

/// What the suite finds at the endpoint that Drawbridge has for the fixture.
fn through(suite: &Suite, transport: Transport) -> Report {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _server = match transport {
        Transport::Http => {
            let (server, url) = serve(&home);
            home.cli(&["servers", "add", ID, "--url", &url, "--transport", "http"]).ok();
            Some(server)
        }
        Transport::Stdio => {
            hub.add_server(ID, &[], &[&places::text(places::built("upstream-conformance")), "--stdio"]);
            None
        }
    };
    hub.until_synced(ID);
    hub.policy(ID, "allow");
    let forwarder = Forwarder::start(&hub.url, &hub.token("suite"));
    suite.run(&home, &format!("{}/{ID}", forwarder.url), &format!("{transport:?}").to_lowercase())
}

/// The fixture, listening; its URL.
fn serve(home: &Home) -> (Process, String) {
    let mut command = home.command(places::built("upstream-conformance"));
    let mut server = Process::start(home, ID, command.arg("0"));
    let line = server.line();
    let url = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("not where it listens: {line}"));
    (server, url.to_owned())
}
