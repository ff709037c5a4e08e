//! Changes that a person makes to the policy. Each rule is checked, and bound to its server and its
//! tool as they are now.

use std::sync::Arc;

use drawbridge_model::{
    clock,
    ids::{RuleId, ServerId},
    policy::{DefaultEffects, Effect, Lifetime, RequestKind, Rule, RuleSpec, Scope},
    random,
};
use drawbridge_store::{Store, StoreError, table::rule::RuleNote};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    presets::{PolicyPreset, is_preset_rule},
    rule_check::{InvalidRule, check_rule, check_scope},
    rules::{RuleError, Rules},
};
use crate::{
    catalog::{Catalog, Definition},
    registry::{Registry, RegistryError},
};

/// Checks, previews and makes changes to the policy. Cheap to clone.
#[derive(Clone)]
pub struct PolicyEditor {
    pub(super) rules: Rules,
    pub(super) registry: Registry,
    pub(super) catalog: Catalog,
    pub(super) store: Store,
}

/// The reason why the policy was not changed.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error(transparent)]
    Invalid(#[from] InvalidRule),
    #[error("this is not a valid policy file: {0}. See `drawbridge policy export` for the format.")]
    File(#[source] serde_json::Error),
    #[error("rule {number}: {reason}")]
    InvalidInFile {
        /// The position of the rule in the file, from 1.
        number: usize,
        reason: InvalidRule,
    },
    #[error("there is no rule '{0}'")]
    NoSuchRule(RuleId),
    #[error("there is no rule with exactly this scope")]
    NoRuleInScope,
    #[error(transparent)]
    Server(#[from] RegistryError),
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The content of a policy file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with defaults and rules")]
struct PolicyDocument {
    #[serde(default)]
    defaults: Option<DefaultEffects>,
    rules: Vec<RuleSpec>,
}

/// The body of the audit log's entry about imported rules.
#[derive(Serialize)]
struct ImportNote<'a> {
    imported: Vec<RuleNote<'a>>,
    replace: bool,
}

impl PolicyEditor {
    pub fn new(rules: Rules, registry: Registry, catalog: Catalog, store: Store) -> Self {
        Self {
            rules,
            registry,
            catalog,
            store,
        }
    }

    /// Adds a rule, or replaces the rule with this id. A plain rule ([`RuleSpec::is_plain`]) also
    /// replaces the plain rule of the same scope. Returns the rule.
    ///
    /// # Errors
    /// Returns an error if the rule is invalid, no rule has this id, or the store fails.
    pub async fn save(&self, id: Option<RuleId>, spec: RuleSpec) -> Result<Rule, PolicyError> {
        check_rule(&spec)?;
        if let Some(id) = &id {
            self.find_rule(id)?;
        }
        let rule = self.bind(id, spec);
        self.rules.save_rule(rule.clone()).await?;
        Ok(rule)
    }

    /// Enables or disables a rule.
    ///
    /// # Errors
    /// Returns an error if there is no such rule, or if the store fails.
    pub async fn set_enabled(&self, id: &RuleId, enabled: bool) -> Result<Rule, PolicyError> {
        self.find_rule(id)?;
        self.rules.set_enabled(id, enabled).await?;
        self.find_rule(id)
    }

    fn find_rule(&self, id: &RuleId) -> Result<Rule, PolicyError> {
        let rules = self.rules.list();
        let rule = rules.iter().find(|rule| rule.id == *id);
        rule.map(|rule| (**rule).clone())
            .ok_or_else(|| PolicyError::NoSuchRule(id.clone()))
    }

    /// Deletes a rule.
    ///
    /// # Errors
    /// Returns an error if there is no such rule, or if the store fails.
    pub async fn delete(&self, id: &RuleId) -> Result<(), PolicyError> {
        match self.rules.delete(id).await? {
            true => Ok(()),
            false => Err(PolicyError::NoSuchRule(id.clone())),
        }
    }

    /// Deletes all rules with exactly this scope.
    ///
    /// # Errors
    /// Returns an error if the scope is invalid, there is no such rule, or the store fails.
    pub async fn delete_in_scope(&self, scope: &Scope) -> Result<(), PolicyError> {
        check_scope(scope)?;
        match self.rules.delete_in_scope(scope).await? {
            true => Ok(()),
            false => Err(PolicyError::NoRuleInScope),
        }
    }

    /// Returns the policy as a readable file in JSON.
    pub fn export(&self) -> String {
        // A rule for one session means nothing in another hub or at another time.
        let rules = self
            .rules
            .list()
            .iter()
            .map(|rule| rule.spec.clone())
            .filter(|spec| !is_session_rule(spec))
            .collect();
        let document = PolicyDocument {
            defaults: Some(self.rules.default_effects()),
            rules,
        };
        serde_json::to_string_pretty(&document).expect("a policy is plain data")
    }

    /// Adds the rules of a policy file. If `replace` is set, these rules replace all present rules,
    /// and the file's defaults, if it has any, replace the present defaults. Returns the number of
    /// rules in the file.
    ///
    /// # Errors
    /// Returns an error if the file or one of its rules is invalid, or the store fails. The
    /// previous policy then stays in force until the rules are read again.
    pub async fn import(&self, text: &str, replace: bool) -> Result<u32, PolicyError> {
        let document: PolicyDocument = serde_json::from_str(text).map_err(PolicyError::File)?;
        for (index, spec) in document.rules.iter().enumerate() {
            let number = index + 1;
            check_imported(spec).map_err(|reason| PolicyError::InvalidInFile { number, reason })?;
        }
        let count = u32::try_from(document.rules.len()).unwrap_or(u32::MAX);
        let new = self.bind_all(document.rules);
        // A scope has at most one plain rule, so a plain rule in the file replaces the present
        // rule.
        let is_retained = |old: &Rule| {
            !replace
                && !new
                    .iter()
                    .any(|new| new.spec == old.spec || replaces_plain(new, old))
        };
        let all = self.retained_and_new(is_retained, &new);
        let note = ImportNote {
            imported: new.iter().map(RuleNote::new).collect(),
            replace,
        };
        let defaults = document.defaults.filter(|_| replace);
        self.rules.replace_all(all, defaults, &note).await?;
        Ok(count)
    }

    /// Sets the default for calls of tools, and adds the rules of the preset. Removes the other
    /// rules of the kind that presets make (`is_preset_rule`), and a plain deny of a server about
    /// which the preset asks. All other rules stay.
    ///
    /// # Errors
    /// Returns an error if a server does not exist, or the store fails. The previous policy then
    /// stays in force until the rules are read again.
    pub async fn apply_preset(&self, preset: PolicyPreset) -> Result<(), PolicyError> {
        let note = json!({ "preset": preset });
        let (tools, specs) = preset.into_rules();
        let defaults = DefaultEffects {
            tools,
            ..self.rules.default_effects()
        };
        for id in specs.iter().filter_map(|spec| spec.scope.server.as_ref()) {
            self.registry.get(id)?;
        }
        let new = self.bind_all(specs);
        let is_retained = |old: &Rule| {
            !is_preset_rule(&old.spec) && !new.iter().any(|new| replaces_plain(new, old))
        };
        let all = self.retained_and_new(is_retained, &new);
        Ok(self.rules.replace_all(all, Some(defaults), &note).await?)
    }

    /// Sets the effect on requests of a kind that no rule matches.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn set_default(&self, kind: RequestKind, effect: Effect) -> Result<(), PolicyError> {
        Ok(self.rules.set_default(kind, effect).await?)
    }

    /// Returns whether the rule is an allow whose server or tool has changed since the rule was
    /// bound to them.
    pub fn is_suspended(&self, rule: &Rule) -> bool {
        let scope = &rule.spec.scope;
        let server = scope.server.as_ref();
        let server = server.and_then(|id| self.registry.get(id).ok());
        server.is_some_and(|server| {
            let is_suspended = |tool: Option<&Arc<Definition>>| {
                rule.is_suspended(&server.identity, tool.map(|tool| tool.digest.as_str()))
            };
            let tools = self.tool_versions(scope);
            is_suspended(None)
                || (!tools.is_empty() && tools.iter().all(|tool| is_suspended(Some(tool))))
        })
    }

    /// Binds rules to the definitions of tools that a person has accepted, given by name and
    /// digest. Allow rules that were suspended because the definition had changed match again. A
    /// rule stays as it is if its client still gets the definition to which the rule is bound, or
    /// does not get the accepted definition.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn bind_to_definitions(
        &self,
        server: &ServerId,
        tools: &[(String, String)],
    ) -> Result<(), PolicyError> {
        let mut bound = Vec::new();
        for rule in self.rules.list() {
            let (scope, Some(old)) = (&rule.spec.scope, &rule.definition_digest) else {
                continue;
            };
            if scope.server.as_ref() != Some(server) {
                continue;
            }
            let versions = self.tool_versions(scope);
            let is_current = |digest: &String| versions.iter().any(|tool| tool.digest == *digest);
            let accepted = tools
                .iter()
                .find(|(name, digest)| scope.tool.as_ref() == Some(name) && is_current(digest));
            if let Some((_, digest)) = accepted
                && !is_current(old)
            {
                bound.push((rule.id.clone(), digest.clone()));
            }
        }
        Ok(self.rules.bind_to_definitions(bound).await?)
    }

    fn retained_and_new(&self, is_retained: impl Fn(&Rule) -> bool, new: &[Rule]) -> Vec<Rule> {
        let old = self.rules.list();
        let retained = old.iter().filter(|old| is_retained(old));
        retained
            .map(|rule| (**rule).clone())
            .chain(new.iter().cloned())
            .collect()
    }

    fn bind_all(&self, specs: Vec<RuleSpec>) -> Vec<Rule> {
        specs
            .into_iter()
            .map(|spec| self.bind(None, spec))
            .collect()
    }

    /// Returns a rule that is bound to the server and the tool as they are now. The rule is not
    /// bound to a server or a tool that is unknown.
    fn bind(&self, id: Option<RuleId>, spec: RuleSpec) -> Rule {
        let server = spec.scope.server.as_ref();
        let server = server.and_then(|id| self.registry.get(id).ok());
        Rule {
            id: id.unwrap_or_else(|| RuleId::new(random::id())),
            identity: server.map(|server| server.identity.clone()),
            definition_digest: self
                .tool_versions(&spec.scope)
                .first()
                .map(|tool| tool.digest.clone()),
            created_at: clock::now(),
            used: 0,
            spec,
        }
    }

    /// Returns the versions of the scope's tool that the clients in the scope get from the server.
    fn tool_versions(&self, scope: &Scope) -> Vec<Arc<Definition>> {
        let (Some(server), Some(name)) = (&scope.server, &scope.tool) else {
            return Vec::new();
        };
        self.catalog
            .tool_versions(server, name, scope.client.as_ref())
    }
}

fn check_imported(spec: &RuleSpec) -> Result<(), InvalidRule> {
    check_rule(spec)?;
    if is_session_rule(spec) {
        return Err(InvalidRule::SessionRule);
    }
    Ok(())
}

fn is_session_rule(spec: &RuleSpec) -> bool {
    matches!(spec.lifetime, Lifetime::Session { .. })
}

fn replaces_plain(new: &Rule, old: &Rule) -> bool {
    new.spec.is_plain() && old.spec.is_plain() && new.spec.scope == old.spec.scope
}
