//! The client side of the official suite: Drawbridge as a client of the suite's servers.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use drawbridge_tests::{
    Desk, Hub,
    docs::{self, Part},
    places,
    process::Process,
    wait::{within, yes},
};
use serde_json::Value;

use crate::suite::{OF_2025_11_25, OF_2026_07_28, Suite};

/// Ample for all scenarios at once on a loaded machine.
const BOUND: Duration = Duration::from_secs(110);

/// A deliberate deviation from the suite.
struct Difference {
    scenario: &'static str,
    /// The check that fails while the others of the scenario pass, or [`EVERY`] for all checks.
    check: &'static str,
    because: &'static str,
}

/// Stands for every check of a scenario that does not apply.
const EVERY: &str = "*";

const DIFFERENCES: &[Difference] = &[
    Difference {
        scenario: "auth/basic-cimd",
        check: "cimd-client-id-used",
        because: "the suite recommends a document about the client at a web address; Drawbridge has no such address \
                  and registers itself with the authorization server, which the protocol allows",
    },
    extension(
        "auth/client-credentials-basic",
        "signing in without a person is an optional extension",
    ),
    extension(
        "auth/client-credentials-jwt",
        "signing in without a person is an optional extension",
    ),
    extension(
        "auth/dpop",
        "tokens that are bound to a key are an optional extension",
    ),
    extension(
        "auth/dpop-nonce",
        "tokens that are bound to a key are an optional extension",
    ),
    extension(
        "auth/enterprise-managed-authorization",
        "signing in through an employer is an optional extension",
    ),
    extension(
        "auth/wif-jwt-bearer",
        "signing in as a workload is an optional extension",
    ),
];

const fn extension(scenario: &'static str, because: &'static str) -> Difference {
    Difference {
        scenario,
        check: EVERY,
        because,
    }
}

#[test]
fn client_side_of_2025_11_25_passes_each_scenario_that_applies() {
    run(&OF_2025_11_25);
}

#[test]
fn client_side_of_2026_07_28_passes_each_scenario_that_applies() {
    run(&OF_2026_07_28);
}

#[test]
fn the_docs_say_how_many_scenarios_of_the_client_side_pass() {
    docs::hold(Part::Suites, &part());
}

/// Runs the client side of a suite through one hub, and signs in to the suite's servers.
#[track_caller]
fn run(suite: &Suite) {
    let desk = Desk::without_screen();
    let hub = Hub::serve(&desk);
    let client = [
        places::text(places::built("conformance-client")),
        places::text(desk.data_dir()),
        hub.url.clone(),
        hub.token("suite"),
    ];
    let folder = places::output_folder(&format!("conformance/{}/client", suite.name));
    fs::remove_dir_all(&folder).unwrap_or_else(|e| panic!("empty {}: {e}", folder.display()));
    let mut command = desk.command(places::node());
    command.arg(places::npm(&format!("{}/dist/index.js", suite.package)));
    command
        .args([
            "client",
            "--command",
            &client.join(" "),
            "--timeout",
            "60000",
            "-o",
        ])
        .arg(&folder);
    command.args(suite.options);
    let unsupported: Vec<&str> = DIFFERENCES
        .iter()
        .filter(|known| known.check == EVERY)
        .map(|known| known.scenario)
        .collect();
    command.env("CONFORMANCE_UNSUPPORTED", unsupported.join(" "));
    let mut process = Process::start(&desk, "suite", &mut command);
    let all = suite.client_scenarios + unsupported.len();
    // The suite's servers may take long to close, but the results are written before.
    within(BOUND, format!("{all} scenarios have ended"), || {
        yes(scenarios(&folder).len() == all || process.ended().is_some())
    });
    let (mut wrong, mut passed) = (vec![], 0);
    for (scenario, failed) in scenarios(&folder) {
        let known = DIFFERENCES.iter().find(|known| known.scenario == scenario);
        let is_known = |check: &Value| known.is_some_and(|known| check["id"] == known.check);
        match known {
            Some(known) if failed.is_empty() => {
                wrong.push(format!(
                    "{scenario} {}: passes now: remove it from DIFFERENCES",
                    known.check
                ));
            }
            Some(Difference { check: EVERY, .. }) => {}
            _ if failed.iter().all(is_known) => passed += 1,
            _ => wrong.extend(failed.iter().map(|check| {
                format!(
                    "{scenario} {}: {} {}",
                    check["id"], check["status"], check["errorMessage"]
                )
            })),
        }
    }
    assert!(
        wrong.is_empty(),
        "{passed} scenarios of {} pass, but:\n{}",
        suite.name,
        wrong.join("\n")
    );
    assert_eq!(
        passed,
        suite.client_scenarios,
        "scenarios of {} that pass; {}",
        suite.name,
        process.stderr()
    );
}

/// Returns the scenarios that have ended, each with its failures and warnings. The suite writes
/// `SCENARIO-TIME/checks.json` and then `stderr.txt` beside it. A scenario's name may contain a
/// slash.
#[track_caller]
fn scenarios(folder: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        );
        if !path.join("stderr.txt").exists() {
            let inner = scenarios(&path).into_iter();
            found.extend(inner.map(|(scenario, failed)| (format!("{name}/{scenario}"), failed)));
            continue;
        }
        let text = fs::read_to_string(path.join("checks.json"))
            .expect("the checks of a scenario that has ended");
        let checks: Vec<Value> =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let is_bad = |check: &&Value| check["status"] == "FAILURE" || check["status"] == "WARNING";
        found.insert(
            without_time(&name),
            checks.into_iter().filter(|check| is_bad(&check)).collect(),
        );
    }
    found
}

/// `SCENARIO-2026-01-01T00-00-00-000Z` → `SCENARIO`
fn without_time(folder: &str) -> String {
    let length = folder
        .len()
        .saturating_sub("-2026-01-01T00-00-00-000Z".len());
    folder.get(..length).unwrap_or(folder).to_owned()
}

/// Returns the part of docs/compatibility.md.
fn part() -> String {
    let version = places::npm_version(OF_2025_11_25.package);
    let mut part = format!(
        "## Conformance suites\n\nThe official conformance suite, {version}, also tries clients: it starts servers and \
         authorization servers for them.\nDrawbridge as the client passes:\n\n"
    );
    for suite in [OF_2025_11_25, OF_2026_07_28] {
        let count = suite.client_scenarios;
        part += &format!(
            "- {}: {count} of {count} scenarios that apply\n",
            suite.name
        );
    }
    part += "\nDrawbridge does otherwise than these scenarios want:\n\n";
    for Difference {
        scenario, because, ..
    } in DIFFERENCES
    {
        part += &format!("- `{scenario}`: {because}\n");
    }
    part
}
