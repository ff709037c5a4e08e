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

/// A scenario in which Drawbridge deliberately behaves differently.
struct ClientDifference {
    scenario: &'static str,
    /// The only check of the scenario that fails, or [`EVERY_CHECK`].
    check: &'static str,
    reason: &'static str,
}

/// Stands for all checks of a scenario, if the whole scenario does not apply to Drawbridge.
const EVERY_CHECK: &str = "*";

const DIFFERENCES: &[ClientDifference] = &[
    ClientDifference {
        scenario: "auth/basic-cimd",
        check: "cimd-client-id-used",
        reason: "the suite recommends a client ID metadata document at a URL; Drawbridge has no public URL, and registers \
                  itself with the authorization server instead, which the protocol allows",
    },
    extension("auth/client-credentials-basic", CLIENT_CREDENTIALS),
    extension("auth/client-credentials-jwt", CLIENT_CREDENTIALS),
    extension("auth/dpop", DPOP),
    extension("auth/dpop-nonce", DPOP),
    extension(
        "auth/enterprise-managed-authorization",
        "sign-in through an employer (enterprise-managed authorization) is an optional extension that Drawbridge does not \
         support",
    ),
    extension(
        "auth/wif-jwt-bearer",
        "sign-in as a workload (workload identity federation) is an optional extension that Drawbridge does not support",
    ),
];

const CLIENT_CREDENTIALS: &str = "sign-in without a person (client credentials) is an optional extension that Drawbridge \
                               does not support";

const DPOP: &str = "tokens that are bound to a key (DPoP) are an optional extension that Drawbridge does not support";

/// Returns a difference for a scenario of an extension that Drawbridge does not support.
const fn extension(scenario: &'static str, reason: &'static str) -> ClientDifference {
    ClientDifference {
        scenario,
        check: EVERY_CHECK,
        reason,
    }
}

#[test]
fn client_side_of_2025_11_25_passes_each_scenario_that_applies() {
    run_client_side(&OF_2025_11_25);
}

#[test]
fn client_side_of_2026_07_28_passes_each_scenario_that_applies() {
    run_client_side(&OF_2026_07_28);
}

#[test]
fn the_docs_state_how_many_client_scenarios_pass() {
    docs::check_or_write(Part::Suites, &render_docs_part());
}

/// Runs the client side of a suite through one hub, and checks that each scenario that applies
/// passes.
#[track_caller]
fn run_client_side(suite: &Suite) {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    // The suite starts this program (`client_program.rs`) for each scenario, and appends the URL of
    // the scenario's server. The program adds the server to the hub, and uses what it offers.
    let client_command = [
        paths::path_text(paths::built_binary("conformance-client")),
        paths::path_text(desktop.data_dir()),
        hub.url.clone(),
        hub.add_client("suite"),
    ];
    let folder = paths::output_folder(&format!("conformance/{}/client", suite.name));
    fs::remove_dir_all(&folder)
        .unwrap_or_else(|e| panic!("cannot delete {}: {e}", folder.display()));
    let mut command = desktop.command(paths::node_program());
    command.arg(paths::npm_file(&format!("{}/dist/index.js", suite.package)));
    command
        .args([
            "client",
            "--command",
            &client_command.join(" "),
            "--timeout",
            "60000",
            "-o",
        ])
        .arg(&folder);
    command.args(suite.options);
    // The program fails these scenarios at once, because trying each of them would take long.
    let unsupported: Vec<&str> = DIFFERENCES
        .iter()
        .filter(|difference| difference.check == EVERY_CHECK)
        .map(|difference| difference.scenario)
        .collect();
    command.env("CONFORMANCE_UNSUPPORTED", unsupported.join(" "));
    let mut process = Process::start(&desktop, "suite", &mut command);
    let scenario_count = suite.client_scenarios + unsupported.len();
    // The suite writes the results before it closes its servers, which may take long.
    wait_until_within(
        TIMEOUT,
        format!("{scenario_count} scenarios have ended"),
        || {
            some_if(
                read_scenarios(&folder).len() == scenario_count || process.exit_status().is_some(),
            )
        },
    );
    let mut problems = vec![];
    let mut passed = 0;
    for (scenario, failed_checks) in read_scenarios(&folder) {
        let difference = DIFFERENCES.iter().find(|entry| entry.scenario == scenario);
        let is_expected =
            |check: &Value| difference.is_some_and(|entry| check["id"] == entry.check);
        match difference {
            Some(difference) if failed_checks.is_empty() => {
                problems.push(format!(
                    "{scenario} {}: passes now: remove it from DIFFERENCES",
                    difference.check
                ));
            }
            Some(ClientDifference {
                check: EVERY_CHECK, ..
            }) => {}
            _ if failed_checks.iter().all(is_expected) => passed += 1,
            _ => problems.extend(failed_checks.iter().map(|check| {
                format!(
                    "{scenario} {}: {} {}",
                    check["id"], check["status"], check["errorMessage"]
                )
            })),
        }
    }
    assert!(
        problems.is_empty(),
        "{passed} client scenarios of {} pass, but:\n{}",
        suite.name,
        problems.join("\n")
    );
    assert_eq!(
        passed,
        suite.client_scenarios,
        "the number of client scenarios of {} that pass; {}",
        suite.name,
        process.stderr()
    );
}

/// Returns the scenarios that have ended, each with its failures and warnings. The suite writes
/// `SCENARIO-TIME/checks.json` and then `stderr.txt` beside it. A scenario's name may contain a
/// slash.
#[track_caller]
fn read_scenarios(folder: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut scenarios = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        );
        if !path.join("stderr.txt").exists() {
            let inner = read_scenarios(&path).into_iter();
            scenarios
                .extend(inner.map(|(scenario, failed_checks)| {
                    (format!("{name}/{scenario}"), failed_checks)
                }));
            continue;
        }
        let text = fs::read_to_string(path.join("checks.json"))
            .expect("the suite writes checks.json before stderr.txt");
        let checks: Vec<Value> = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{}/checks.json is not valid JSON: {e}", path.display()));
        let has_failed =
            |check: &&Value| check["status"] == "FAILURE" || check["status"] == "WARNING";
        scenarios.insert(
            remove_time(&name),
            checks
                .into_iter()
                .filter(|check| has_failed(&check))
                .collect(),
        );
    }
    scenarios
}

/// `SCENARIO-2026-01-01T00-00-00-000Z` → `SCENARIO`
fn remove_time(folder: &str) -> String {
    let length = folder
        .len()
        .saturating_sub("-2026-01-01T00-00-00-000Z".len());
    folder.get(..length).unwrap_or(folder).to_owned()
}

/// Returns the section of docs/compatibility.md about the tests of clients.
fn render_docs_part() -> String {
    let version = paths::npm_version(OF_2025_11_25.package);
    let mut part = format!(
        "## Conformance suites\n\nThe official conformance suite (version {version}) tests servers and clients. This \
         section is about\nits tests of clients: the suite starts servers and authorization servers, and Drawbridge is \
         the client. Drawbridge passes:\n\n"
    );
    for suite in [OF_2025_11_25, OF_2026_07_28] {
        let count = suite.client_scenarios;
        part += &format!(
            "- protocol revision {}: {count} of {count} scenarios that apply\n",
            suite.name
        );
    }
    part += "\nThe following scenarios count as passed, although Drawbridge deliberately fails one check in each:\n\n";
    part += &render_differences(|difference| difference.check != EVERY_CHECK);
    part += "\nThese scenarios are not counted above, because Drawbridge deliberately does not support what \
             they test:\n\n";
    part + &render_differences(|difference| difference.check == EVERY_CHECK)
}

/// Returns a list of the differences that `is_listed` selects.
fn render_differences(is_listed: impl Fn(&ClientDifference) -> bool) -> String {
    DIFFERENCES
        .iter()
        .filter(|difference| is_listed(difference))
        .map(
            |ClientDifference {
                 scenario, reason, ..
             }| format!("- `{scenario}`: {reason}\n"),
        )
        .collect()
}
