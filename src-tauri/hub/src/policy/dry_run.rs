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
    /// How many calls cannot be matched, because their arguments were not stored or their server
    /// was removed.
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
                (true, ..) => true,
                (false, Some(arguments), Some(server)) => {
                    // The record of a call does not have its project.
                    conditions.matches(spec.effect, &arguments, &server, None)
                }
                (false, ..) => {
                    past.unknown += 1;
                    continue;
                }
            };
            if holds {
                past.matched += 1;
                if past.newest.len() < MAX_NEWEST {
                    past.newest.push(call);
                }
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
