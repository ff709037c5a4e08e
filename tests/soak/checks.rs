//! The checks at the end: the records of the servers, the store and the clients must agree, no
//! approval may be pending, and the stopped hub must leave sound data and no child process.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_tests::{FaultyServer, Home, Hub, store, wait::try_until_within};
use serde_json::json;
use std::time::Duration;

/// The longest time until the outcomes of the last calls are written.
const OUTCOMES_TIMEOUT: Duration = Duration::from_secs(30);

/// Compares the calls that the servers received, the answers of the clients, and the records.
/// Returns the contradictions, the undecided calls, and a pending approval.
pub(crate) fn find_violations(
    hub: &Hub<'_>,
    servers: &[FaultyServer<'_>],
    outcomes: &super::Outcomes,
) -> Vec<String> {
    let mut violations = Vec::new();
    let data_dir = hub.home.data_dir();
    let ended_calls = try_until_within(OUTCOMES_TIMEOUT, || {
        let rows = store::read_calls(&data_dir).ok()?;
        rows.iter()
            .all(|row| row.outcome != "running")
            .then_some(rows)
    });
    let Some(rows) = ended_calls else {
        return vec!["some calls have no outcome, or the store cannot be read".into()];
    };
    let mut allowed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut succeeded: BTreeSet<&str> = BTreeSet::new();
    for row in &rows {
        if row.decision == "allowed" {
            *allowed.entry(&row.arguments_digest).or_default() += 1;
        }
        if row.outcome == "ok" {
            succeeded.insert(&row.arguments_digest);
        }
    }
    let mut received: BTreeMap<String, usize> = BTreeMap::new();
    for server in servers {
        for message in server.received() {
            if !message["undecided"].is_null() {
                violations.push(format!(
                    "{}: a call was not decided: {message}",
                    server.name
                ));
            }
            if message["method"] == "tools/call" {
                let arguments = message["params"]["arguments"].to_string();
                *received.entry(arguments).or_default() += 1;
            }
        }
    }
    for (arguments, count) in &received {
        let digest = store::digest(arguments);
        if *count != 1 {
            violations.push(format!("{arguments} reached a server {count} times"));
        }
        if allowed.get(digest.as_str()) != Some(&1) {
            violations.push(format!(
                "{arguments} was received, but not allowed exactly once"
            ));
        }
    }
    for arguments in outcomes.answered() {
        if !received.contains_key(&arguments) {
            violations.push(format!("{arguments} was answered, but never received"));
        }
        if !succeeded.contains(store::digest(&arguments).as_str()) {
            violations.push(format!("{arguments} was answered, but not recorded as ok"));
        }
    }
    if hub.run_verb("approvals.list", &json!({})) != json!([]) {
        violations.push("an approval is still pending".into());
    }
    println!(
        "{} calls reached a server; {} are recorded.",
        received.len(),
        rows.len()
    );
    violations
}

/// Returns the violations in the data folder of a stopped hub. Fails if a child of the hub outlives
/// it.
pub(crate) fn find_violations_after_stop(home: &Home) -> Vec<String> {
    let mut violations = Vec::new();
    home.assert_no_survivors();
    match store::passes_integrity_check(&home.data_dir()) {
        Ok(true) => {}
        other => violations.push(format!("the database is not sound: {other:?}")),
    }
    let verified = home.cli(&["audit", "verify"]);
    if verified.exit_code() != 0 {
        violations.push(format!(
            "the audit log is not intact: {}",
            verified.stderr()
        ));
    }
    violations
}
