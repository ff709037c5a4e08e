//! Dry runs: which past calls a rule would have matched.

use std::collections::BTreeMap;

use drawbridge_model::{
    call::Call,
    ids::{ClientName, ServerId},
    policy::RuleSpec,
};
use drawbridge_store::table::call::PastCallFilter;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    RuleError,
    conditions::Conditions,
    editor::{PolicyEditor, PolicyError},
    rule_check::check_rule,
};

/// The maximum number of past calls that a dry run examines.
const MAX_EXAMINED: u32 = 1_000;
const MAX_NEWEST: usize = 10;

/// The past calls that a rule would have matched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DryRun {
    /// How many past calls of the rule's scope were examined: the newest, 1,000 at most.
    pub examined: u32,
    pub matched: u32,
    /// How many calls cannot be matched, because their arguments were not stored, their server was
    /// removed, or the rule refers to the project folder, which is not stored.
    pub unknown: u32,
    /// The newest of the calls that matched.
    pub newest: Vec<Call>,
}

impl PolicyEditor {
    /// Returns the past calls that a rule would have matched, as if the rule had existed then. The
    /// stored arguments have their secrets masked.
    ///
    /// # Errors
    /// Returns an error if the rule is invalid, or if the calls cannot be read.
    pub async fn dry_run(&self, spec: &RuleSpec) -> Result<DryRun, PolicyError> {
        check_rule(spec)?;
        // The conditions are compiled first, so that an invalid rule is rejected even if there are
        // no past calls.
        let conditions = Conditions::compile(&spec.conditions).map_err(RuleError::from)?;
        let scope = &spec.scope;
        let filter = PastCallFilter {
            client: scope.client.clone(),
            user: scope.user.clone(),
            server: scope.server.clone(),
            tool: scope.tool.clone(),
            limit: MAX_EXAMINED,
            ..PastCallFilter::default()
        };
        self.store.journal().flush().await;
        let mut past = DryRun::default();
        let mut read_only_tools = BTreeMap::new();
        for call in self.store.past_calls(&filter).await? {
            if !spec.covers(call.method.kind()) {
                continue;
            }
            past.examined += 1;
            let server = self.registry.get(&call.server).ok();
            if spec.read_only {
                let key = (call.client.clone(), call.server.clone(), call.tool.clone());
                let is_read_only = *read_only_tools
                    .entry(key)
                    .or_insert_with(|| self.is_read_only(&call.client, &call.server, &call.tool));
                if !is_read_only {
                    continue;
                }
            }
            let arguments = call
                .arguments
                .clone()
                .and_then(|text| RawValue::from_string(text).ok());
            let holds = match (spec.conditions.is_empty(), arguments, server) {
                (true, ..) => Some(true),
                // The record of a call does not have its project.
                (false, Some(arguments), Some(server)) => {
                    conditions.matches_in_unknown_project(spec.effect, &arguments, &server)
                }
                (false, ..) => None,
            };
            match holds {
                Some(true) => {
                    past.matched += 1;
                    if past.newest.len() < MAX_NEWEST {
                        past.newest.push(call);
                    }
                }
                Some(false) => {}
                None => past.unknown += 1,
            }
        }
        Ok(past)
    }

    /// Returns whether the server marks the tool read-only for a client.
    pub(super) fn is_read_only(&self, client: &ClientName, server: &ServerId, tool: &str) -> bool {
        self.catalog
            .tool_versions(server, tool, Some(client))
            .iter()
            .any(|tool| tool.annotations.read_only == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use drawbridge_model::{
        capability::CapabilityKind,
        policy::{Condition, Effect, Predicate, RequestKind},
    };

    use super::*;
    use crate::{
        api::{
            Verb as _,
            servers::{AddServer, SecretValues},
        },
        catalog::{CatalogEntry, Definition},
        hub::tests::open_hub,
        policy::GuardedRequest,
    };

    #[tokio::test]
    async fn a_call_whose_match_depends_on_the_project_counts_as_unknown() {
        let folder = tempfile::tempdir().expect("a folder");
        let hub = open_hub(folder.path()).await;
        let add = AddServer {
            spec: serde_json::from_str(r#"{"name":"files","command":"x"}"#).expect("a spec"),
            secrets: SecretValues::default(),
            pending: true,
            grant_secrets: Vec::new(),
        };
        add.run(&hub).await.expect("added");
        let allowed = hub
            .rules
            .set_default(RequestKind::Tools, Effect::Allow)
            .await;
        allowed.expect("set the default");
        let tool = Arc::new(CatalogEntry {
            exposed_name: "files__read".into(),
            server: hub.registry.get(&ServerId::new("files")).expect("a server"),
            definition: Arc::new(
                Definition::parse(CapabilityKind::Tools, r#"{"name":"read"}"#.into())
                    .expect("a definition"),
            ),
        });
        for arguments in [r#"{"path":"/work/a"}"#, r#"{"other":"/work/a"}"#] {
            let call = GuardedRequest::call_for_test("c", tool.clone(), arguments);
            drop(hub.gate.admit(call, None).await);
        }
        let dry_run = async |folder: &str| {
            let rule = RuleSpec {
                effect: Some(Effect::Allow),
                conditions: vec![Condition {
                    pointer: "/path".into(),
                    is: Predicate::PathWithin(folder.into()),
                }],
                ..RuleSpec::default()
            };
            let past = hub.policy_editor.dry_run(&rule).await.expect("a dry run");
            (past.examined, past.matched, past.unknown)
        };
        assert_eq!(dry_run("/work").await, (2, 1, 0));
        assert_eq!(dry_run("$project").await, (2, 0, 1));
    }
}
