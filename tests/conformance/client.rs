//! The client side of the official suite: Drawbridge as a client of the suite's servers.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use drawbridge_tests::{
    DesktopSession, Hub,
    docs::{self, Part},
    paths,
    process::Process,
    wait::{some_if, wait_until_within},
};
use serde_json::Value;

use crate::suite::{OF_2025_11_25, OF_2026_07_28, Suite};

/// Ample for all scenarios at once on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(110);

/// A deliberate deviation from the suite.
struct ClientDifference {
    scenario: &'static str,
    /// The check that fails while the others of the scenario pass, or [`EVERY`] for all checks.
    check: &'static str,
    reason: &'static str,
}

/// Stands for every check of a scenario that does not apply.
const EVERY: &str = "*";

const DIFFERENCES: &[ClientDifference] = &[
    ClientDifference {
        scenario: "auth/basic-cimd",
        check: "cimd-client-id-used",
        reason: "the suite recommends a document about the client at a web address; Drawbridge has no such address \
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

const fn extension(scenario: &'static str, because: &'static str) -> ClientDifference {
    ClientDifference {
        scenario,
        check: EVERY,
        reason: because,
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
fn the_docs_state_how_many_client_scenarios_pass() {
    docs::check_or_write(Part::Suites, &docs_part());
}

/// Runs the client side of a suite through one hub, and signs in to the suite's servers.
#[track_caller]
fn run(suite: &Suite) {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let client = [
        paths::path_text(paths::built_binary("conformance-client")),
        paths::path_text(desktop.data_dir()),
        hub.url.clone(),
        hub.add_client("suite"),
    ];
    let folder = paths::output_folder(&format!("conformance/{}/client", suite.name));
    fs::remove_dir_all(&folder).unwrap_or_else(|e| panic!("empty {}: {e}", folder.display()));
    let mut command = desktop.command(paths::node_program());
    command.arg(paths::npm_file(&format!("{}/dist/index.js", suite.package)));
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
    let mut process = Process::start(&desktop, "suite", &mut command);
    let all = suite.client_scenarios + unsupported.len();
    // The suite's servers may take long to close, but the results are written before.
    wait_until_within(TIMEOUT, format!("{all} scenarios have ended"), || {
        some_if(read_scenarios(&folder).len() == all || process.exit_status().is_some())
    });
    let (mut wrong, mut passed) = (vec![], 0);
    for (scenario, failed) in read_scenarios(&folder) {
        let known = DIFFERENCES.iter().find(|known| known.scenario == scenario);
        let is_known = |check: &Value| known.is_some_and(|known| check["id"] == known.check);
        match known {
            Some(known) if failed.is_empty() => {
                wrong.push(format!(
                    "{scenario} {}: passes now: remove it from DIFFERENCES",
                    known.check
                ));
            }
            Some(ClientDifference { check: EVERY, .. }) => {}
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
fn read_scenarios(folder: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        );
        if !path.join("stderr.txt").exists() {
            let inner = read_scenarios(&path).into_iter();
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
fn docs_part() -> String {
    let version = paths::npm_version(OF_2025_11_25.package);
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
    for ClientDifference {
        scenario,
        reason: because,
        ..
    } in DIFFERENCES
    {
        part += &format!("- `{scenario}`: {because}\n");
    }
    part
}
