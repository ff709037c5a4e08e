//! The findings of a suite, and the comparison of two runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::{Value, json};

use crate::differences::Difference;

/// The results of a check in a run: the status of each execution, and the error messages.
#[derive(Debug, Default)]
struct CheckResult {
    statuses: Vec<String>,
    messages: BTreeSet<String>,
}

impl CheckResult {
    /// Returns the distinct statuses of the check.
    fn outcome(&self) -> String {
        let statuses: BTreeSet<&str> = self.statuses.iter().map(String::as_str).collect();
        statuses.into_iter().collect::<Vec<_>>().join(" and ")
    }
}

/// The checks of a run, by scenario and by their id and name.
#[derive(Debug)]
pub(crate) struct Report(BTreeMap<(String, String), CheckResult>);

impl Report {
    /// Reads the output of the suite: a folder for each scenario, named by the scenario and the
    /// time.
    #[track_caller]
    pub(crate) fn read(folder: &Path) -> Self {
        let mut checks: BTreeMap<(String, String), CheckResult> = BTreeMap::new();
        for entry in fs::read_dir(folder)
            .expect("read the folder of the results")
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            for check in read_checks(&entry.path()) {
                let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
                let key = (
                    scenario_name(&name).to_owned(),
                    format!("{}/{}", text("id"), text("name")),
                );
                let entry = checks.entry(key).or_default();
                entry.statuses.push(text("status"));
                entry
                    .messages
                    .extend(Some(text("errorMessage")).filter(|message| !message.is_empty()));
            }
        }
        Self(checks)
    }

    pub(crate) fn count_passed(&self) -> usize {
        self.0
            .values()
            .flat_map(|found| &found.statuses)
            .filter(|status| *status == "SUCCESS")
            .count()
    }

    /// Returns the failures and warnings.
    pub(crate) fn problems(&self) -> Vec<String> {
        let bad = |found: &CheckResult| {
            found
                .statuses
                .iter()
                .any(|status| status == "FAILURE" || status == "WARNING")
        };
        let bad = self.0.iter().filter(|(_, found)| bad(found));
        bad.map(|((scenario, check), found)| format!("{scenario} {check}: {:?}", found.messages))
            .collect()
    }
}

/// Returns the checks of a scenario. If the scenario wrote none because it broke off, returns a
/// failed check.
#[track_caller]
fn read_checks(folder: &Path) -> Vec<Value> {
    let file = folder.join("checks.json");
    match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{} is no JSON: {e}", file.display())),
        Err(_) => vec![json!({"id": "scenario", "name": "BrokeOff", "status": "FAILURE"})],
    }
}

/// `server-SCENARIO-2026-01-01T00-00-00-000Z` → `SCENARIO`
fn scenario_name(folder: &str) -> &str {
    let timed = folder
        .len()
        .saturating_sub("-2026-01-01T00-00-00-000Z".len());
    let name = folder.get(..timed).unwrap_or(folder);
    name.strip_prefix("server-").unwrap_or(name)
}

/// Returns whether the outcome is only informational, which is not a check.
fn is_informational(outcome: &str) -> bool {
    matches!(outcome, "" | "INFO")
}

/// Returns the differences between `direct` and `through` that are not `known`, and the `known`
/// differences that no longer occur.
pub(crate) fn find_differences(
    direct: &Report,
    through: &Report,
    known: &[&Difference],
) -> Vec<String> {
    let none = CheckResult::default();
    let mut wrong = vec![];
    let keys: BTreeSet<_> = direct.0.keys().chain(through.0.keys()).collect();
    let mut seen = BTreeSet::new();
    for key in keys {
        let (scenario, check) = key;
        let (before, after) = (
            direct.0.get(key).unwrap_or(&none),
            through.0.get(key).unwrap_or(&none),
        );
        let (before, outcome) = (before.outcome(), after.outcome());
        if before == outcome
            || [&before, &outcome]
                .into_iter()
                .all(|outcome| is_informational(outcome))
        {
            continue;
        }
        let is_known = known
            .iter()
            .enumerate()
            .find(|(_, known)| known.matches(scenario, check, &outcome));
        if let Some((place, _)) = is_known {
            seen.insert(place);
            continue;
        }
        let messages: Vec<&str> = after.messages.iter().map(String::as_str).collect();
        wrong.push(format!(
            "  {scenario} {check}: “{before}” became “{outcome}” {}",
            messages.join("; ")
        ));
    }
    let stale = known
        .iter()
        .enumerate()
        .filter(|(place, _)| !seen.contains(place));
    wrong.extend(stale.map(|(_, known)| {
        let Difference {
            scenario,
            check,
            through,
            ..
        } = known;
        format!("  {scenario} {check}: is no longer “{through}”: take it out of differences.rs")
    }));
    wrong
}
