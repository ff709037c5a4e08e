//! The results of a run of a suite, and the comparison of two runs.

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

    fn has_problem(&self) -> bool {
        self.statuses
            .iter()
            .any(|status| status == "FAILURE" || status == "WARNING")
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
            let folder_name = entry.file_name().to_string_lossy().into_owned();
            for check in read_checks(&entry.path()) {
                let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
                let key = (
                    scenario_name(&folder_name).to_owned(),
                    format!("{}/{}", text("id"), text("name")),
                );
                let result = checks.entry(key).or_default();
                result.statuses.push(text("status"));
                result
                    .messages
                    .extend(Some(text("errorMessage")).filter(|message| !message.is_empty()));
            }
        }
        Self(checks)
    }

    pub(crate) fn count_passed(&self) -> usize {
        self.0
            .values()
            .flat_map(|result| &result.statuses)
            .filter(|status| *status == "SUCCESS")
            .count()
    }

    /// Returns the failures and warnings.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.0
            .iter()
            .filter(|(_, result)| result.has_problem())
            .map(|((scenario, check), result)| format!("{scenario} {check}: {:?}", result.messages))
            .collect()
    }
}

/// Returns the checks of a scenario. If the scenario was aborted before it wrote any check, returns
/// one failed check.
#[track_caller]
fn read_checks(folder: &Path) -> Vec<Value> {
    let file = folder.join("checks.json");
    match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{} is not valid JSON: {e}", file.display())),
        Err(_) => vec![json!({"id": "scenario", "name": "Aborted", "status": "FAILURE"})],
    }
}

/// `server-SCENARIO-2026-01-01T00-00-00-000Z` → `SCENARIO`
fn scenario_name(folder: &str) -> &str {
    let length = folder
        .len()
        .saturating_sub("-2026-01-01T00-00-00-000Z".len());
    let name = folder.get(..length).unwrap_or(folder);
    name.strip_prefix("server-").unwrap_or(name)
}

/// Returns whether no check passed or failed: the outcome is empty or only informational.
fn is_informational(outcome: &str) -> bool {
    matches!(outcome, "" | "INFO")
}

/// Returns the differences between two reports that are not `listed`, and the `listed` differences
/// that do not occur.
pub(crate) fn find_differences(
    direct_report: &Report,
    drawbridge_report: &Report,
    listed: &[&Difference],
) -> Vec<String> {
    let no_result = CheckResult::default();
    let mut problems = vec![];
    let keys: BTreeSet<_> = direct_report
        .0
        .keys()
        .chain(drawbridge_report.0.keys())
        .collect();
    let mut matched = BTreeSet::new();
    for key in keys {
        let (scenario, check) = key;
        let result = drawbridge_report.0.get(key).unwrap_or(&no_result);
        let direct_outcome = direct_report.0.get(key).unwrap_or(&no_result).outcome();
        let outcome = result.outcome();
        if direct_outcome == outcome
            || (is_informational(&direct_outcome) && is_informational(&outcome))
        {
            continue;
        }
        let matching_index = listed
            .iter()
            .position(|difference| difference.matches(scenario, check, &outcome));
        if let Some(index) = matching_index {
            matched.insert(index);
            continue;
        }
        let messages: Vec<&str> = result.messages.iter().map(String::as_str).collect();
        problems.push(format!(
            "  {scenario} {check}: “{direct_outcome}” became “{outcome}”: {}",
            messages.join("; ")
        ));
    }
    let unmatched = listed
        .iter()
        .enumerate()
        .filter(|(index, _)| !matched.contains(index));
    problems.extend(unmatched.map(|(_, difference)| {
        let Difference {
            scenario,
            check,
            outcome,
            ..
        } = difference;
        format!(
            "  {scenario} {check}: the outcome is no longer “{outcome}”: remove the row from differences.rs"
        )
    }));
    problems
}
