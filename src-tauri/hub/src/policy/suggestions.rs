//! How often a person is asked, and the rules that would save questions to which the answer was
//! always an approval.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use drawbridge_model::{
    call::{Call, DecidedBy, Decision},
    clock,
    ids::{ClientName, ServerId, Timestamp},
    policy::{Condition, Effect, Literal, Predicate, RequestKind, RuleSpec, Scope},
    protocol::guarded::GuardedMethod,
};
use drawbridge_store::table::call::PastCallFilter;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::{
    editor::{PolicyEditor, PolicyError},
    rules::MatchInput,
};

const DAY_MS: i64 = 24 * 3600 * 1_000;
/// The most calls that are examined; the newest are preferred.
const MAX_CALLS: u32 = 5_000;
/// The fewest approvals that suggest a rule, if no call was denied or edited.
const MIN_APPROVALS: usize = 4;
const MAX_SUGGESTIONS: usize = 10;
const MAX_DAYS: u32 = 90;

/// Stats about the questions to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PolicyStats {
    /// One entry for each day, oldest first, including days on which nobody was asked.
    pub days: Vec<DayStats>,
    pub suggestions: Vec<Suggestion>,
    /// Whether there were too many requests to examine all. Older requests are then missing.
    pub is_partial: bool,
}

/// The stats of one day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DayStats {
    /// The first moment of the day.
    pub at: Timestamp,
    pub approved: u32,
    pub denied: u32,
    /// Calls that timed out, or for which no screen was open.
    pub missed: u32,
}

/// A rule that would have given the same answers as the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Suggestion {
    pub rule: RuleSpec,
    /// The rule in words.
    pub text: String,
    /// How many of the person's approvals the rule would have saved.
    pub approved: u32,
    /// How many past calls the rule would have matched: of the newest 1,000 of its scope.
    pub matched: u32,
}

impl PolicyEditor {
    /// Returns stats about the requests that a person had to decide in the last `days` days (90 at
    /// most), and the rules that these requests suggest.
    ///
    /// # Errors
    /// Returns an error if the calls cannot be read.
    pub async fn stats(&self, days: u32) -> Result<PolicyStats, PolicyError> {
        let count = days.clamp(1, MAX_DAYS);
        let today = clock::now().0.div_euclid(DAY_MS);
        let first = today - i64::from(count) + 1;
        let filter = PastCallFilter {
            needed_approval: true,
            since: Some(Timestamp(first * DAY_MS)),
            limit: MAX_CALLS,
            ..Default::default()
        };
        self.store.journal().flush().await;
        let calls = self.store.past_calls(&filter).await?;
        let mut days: Vec<DayStats> = (first..=today)
            .map(|day| DayStats {
                at: Timestamp(day * DAY_MS),
                approved: 0,
                denied: 0,
                missed: 0,
            })
            .collect();
        for call in &calls {
            let index = usize::try_from(call.at.0.div_euclid(DAY_MS) - first).ok();
            let Some(day) = index.and_then(|index| days.get_mut(index)) else {
                continue;
            };
            match (call.decision, call.decided_by) {
                (Decision::Allowed, DecidedBy::Person) => day.approved += 1,
                (Decision::Denied, DecidedBy::Person) => day.denied += 1,
                (Decision::TimedOut | Decision::NoScreen, _) => day.missed += 1,
                _ => {}
            }
        }
        Ok(PolicyStats {
            days,
            suggestions: self.suggestions(&calls).await?,
            is_partial: u32::try_from(calls.len()).is_ok_and(|count| count >= MAX_CALLS),
        })
    }

    async fn suggestions(&self, calls: &[Call]) -> Result<Vec<Suggestion>, PolicyError> {
        type Key<'a> = (&'a ClientName, &'a ServerId, &'a str);
        let mut groups: BTreeMap<Key<'_>, Vec<&Call>> = BTreeMap::new();
        for call in calls
            .iter()
            .filter(|call| call.method == GuardedMethod::CallTool)
            .filter(|call| call.decided_by == DecidedBy::Person)
        {
            groups
                .entry((&call.client, &call.server, &call.tool))
                .or_default()
                .push(call);
        }
        let mut suggestions = Vec::new();
        for ((client, server, tool), group) in groups {
            let is_always_approved = group
                .iter()
                .all(|call| call.decision == Decision::Allowed && !call.is_edited);
            if group.len() < MIN_APPROVALS
                || !is_always_approved
                || !self.is_still_asked(client, server, tool)
            {
                continue;
            }
            let arguments: Option<Vec<Value>> = group
                .iter()
                .map(|call| serde_json::from_str(call.arguments.as_deref()?).ok())
                .collect();
            let conditions = arguments
                .map(|all| common_conditions(&all))
                .unwrap_or_default();
            // A rule for a tool that is not marked read-only needs a condition on the arguments.
            if conditions.is_empty() && !self.is_read_only(client, server, tool) {
                continue;
            }
            let scope = Scope {
                server: Some(server.clone()),
                tool: Some(tool.to_owned()),
                client: Some(client.clone()),
                user: None,
                kind: None,
            };
            let rule = RuleSpec {
                scope,
                conditions,
                effect: Some(Effect::Allow),
                ..RuleSpec::default()
            };
            let past = self.dry_run(&rule).await?;
            let approved = u32::try_from(group.len()).unwrap_or(u32::MAX);
            suggestions.push(Suggestion {
                text: rule.to_string(),
                rule,
                approved,
                matched: past.matched,
            });
        }
        suggestions.sort_by_key(|suggestion| std::cmp::Reverse(suggestion.approved));
        suggestions.truncate(MAX_SUGGESTIONS);
        Ok(suggestions)
    }

    fn is_still_asked(&self, client: &ClientName, server: &ServerId, tool: &str) -> bool {
        let Ok(registered) = self.registry.get(server) else {
            return false;
        };
        let versions = self.catalog.tool_versions(server, tool, Some(client));
        let Some(definition) = versions.first() else {
            return false;
        };
        let has_rule = self.rules.list().iter().any(|rule| {
            let scope = &rule.spec.scope;
            scope.client.as_ref() == Some(client)
                && scope.server.as_ref() == Some(server)
                && scope.tool.as_deref() == Some(tool)
                && rule.spec.effect == Some(Effect::Allow)
        });
        let input = MatchInput {
            kind: RequestKind::Tools,
            client: Some(client),
            session: None,
            project: None,
            server: &registered,
            tool,
            definition_digest: &definition.digest,
            annotations: &definition.annotations,
            arguments: None,
        };
        !has_rule && self.rules.evaluate(&input).effect == Effect::Ask
    }
}

/// Returns conditions that hold for the arguments of all calls: the same value, folder or host.
fn common_conditions(all: &[Value]) -> Vec<Condition> {
    let objects: Option<Vec<_>> = all.iter().map(Value::as_object).collect();
    let Some(objects) = objects else {
        return Vec::new();
    };
    let keys: BTreeSet<&String> = objects.iter().flat_map(|object| object.keys()).collect();
    let mut conditions = Vec::new();
    for key in keys {
        let values: Option<Vec<&Value>> = objects.iter().map(|object| object.get(key)).collect();
        // There is no value in common if a call lacks this argument.
        let Some(values) = values else { continue };
        if let Some(is) = common_predicate(&values) {
            conditions.push(Condition {
                pointer: format!("/{}", key.replace('~', "~0").replace('/', "~1")),
                is,
            });
        }
    }
    conditions
}

fn common_predicate(values: &[&Value]) -> Option<Predicate> {
    let first = values.first()?;
    if !first.is_object() && !first.is_array() && values.iter().all(|value| value == first) {
        // A masked value differs from the value that was sent.
        let text = first.to_string();
        return (!text.contains('•')).then_some(Predicate::Equals(Literal(text)));
    }
    let texts: Option<Vec<&str>> = values.iter().map(|value| value.as_str()).collect();
    let texts = texts?;
    common_folder(&texts)
        .map(Predicate::PathWithin)
        .or_else(|| common_host(&texts).map(Predicate::Host))
}

/// Returns the deepest folder that contains all these paths, or `None` if that folder is too broad.
fn common_folder(texts: &[&str]) -> Option<String> {
    let paths: Vec<&Path> = texts.iter().map(Path::new).collect();
    if !paths.iter().all(|path| path.is_absolute()) {
        return None;
    }
    let mut common: PathBuf = paths.first()?.parent()?.to_owned();
    while !paths.iter().all(|path| path.starts_with(&common)) {
        common = common.parent()?.to_owned();
    }
    // The root, or a folder directly below it such as `/home`, is too broad.
    (common.components().count() > 2).then(|| common.display().to_string())
}

fn common_host(texts: &[&str]) -> Option<String> {
    let hosts: Option<BTreeSet<String>> = texts
        .iter()
        .map(|text| Url::parse(text).ok()?.host_str().map(str::to_owned))
        .collect();
    let hosts = hosts?;
    (hosts.len() == 1)
        .then(|| hosts.into_iter().next())
        .flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conditions(all: &[Value]) -> Vec<String> {
        common_conditions(all)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn common_values_folders_and_hosts_become_conditions() {
        let all = [
            json!({"path": "/home/me/notes/a.md", "mode": "r", "url": "https://example.com/a", "n": 1, "rare": 1}),
            json!({"path": "/home/me/notes/b/c.md", "mode": "r", "url": "https://example.com/b?x", "n": 2}),
        ];
        assert_eq!(
            conditions(&all),
            [
                "/mode is \"r\"",
                "/path is in /home/me/notes",
                "/url is a URL of example.com"
            ]
        );
    }

    #[test]
    fn unspecific_arguments_suggest_nothing() {
        assert!(
            conditions(&[json!({"path": "/a"}), json!({"path": "/b"})]).is_empty(),
            "the root folder is too broad"
        );
        assert!(
            conditions(&[json!({"path": "a"}), json!({"path": "b"})]).is_empty(),
            "a relative path has no known folder"
        );
        assert!(
            conditions(&[json!({"key": "•••"}), json!({"key": "•••"})]).is_empty(),
            "a masked value suggests no condition"
        );
        assert!(
            conditions(&[
                json!({"u": "https://a.com/"}),
                json!({"u": "https://b.com/"})
            ])
            .is_empty()
        );
    }
}
