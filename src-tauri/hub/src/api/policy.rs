//! Policy: the default and the rules, which allow, deny or ask.

mod presets;
mod suggestions;

use std::collections::BTreeMap;

use drawbridge_model::{
    audit::AuditKind,
    call::Call,
    clock,
    event::Event,
    ids::{ClientName, RuleId, ServerId, Timestamp},
    policy::{Condition, Effect, Lifetime, ResultEffect, Rule, RuleSpec, Scope},
    random,
};
use drawbridge_store::{
    settings::SettingsChange,
    table::{call::PastCallFilter, rule::RuleNote},
};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

pub use presets::{ApplyPreset, PolicyPreset};
pub use suggestions::{DayStats, PolicyStats, ShowPolicyStats, Suggestion};

use super::{ApiError, Done, Verb};
use crate::{hub::Hub, policy::Conditions};

/// A rule and its present state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuleView {
    pub id: RuleId,
    #[serde(flatten)]
    pub scope: Scope,
    pub read_only: bool,
    pub conditions: Vec<Condition>,
    pub effect: Option<Effect>,
    pub result: Option<ResultEffect>,
    pub lifetime: Lifetime,
    pub note: String,
    /// The rule in one line of words.
    pub words: String,
    pub created_at: Timestamp,
    /// How many more calls the rule can decide, if it holds for a limited number of calls.
    pub remaining: Option<u32>,
    /// Whether the rule is an allow whose tool or server has changed since. The calls are then
    /// asked about until a person accepts the change.
    pub suspended: bool,
}

/// The rules, and the default if none matches. Deny takes precedence over allow, and allow over
/// ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PolicyView {
    pub default: Effect,
    pub rules: Vec<RuleView>,
}

/// `policy.list`: all rules that have not expired, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListPolicy {}

/// `policy.set`: sets the plain rule of a scope, replacing the previous one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetPolicy {
    #[serde(flatten)]
    pub scope: Scope,
    pub effect: Effect,
}

/// `policy.remove`: removes the rules with exactly this scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RemovePolicy {
    #[serde(flatten)]
    pub scope: Scope,
}

/// `policy.save`: adds a rule, or replaces the rule with this id. The rule is bound to the server
/// and the tool as they are now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SaveRule {
    #[serde(default)]
    pub id: Option<RuleId>,
    pub rule: RuleSpec,
}

/// `policy.delete_rule`: removes one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DeleteRule {
    pub id: RuleId,
}

/// `policy.preview`: a dry run of a rule on past calls. Nothing is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PreviewRule {
    pub rule: RuleSpec,
}

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

/// `policy.export`: the policy as a readable file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ExportPolicy {}

/// A policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PolicyFile {
    /// The content of the file, in JSON.
    pub text: String,
}

/// `policy.import`: adds the rules of a policy file, or replaces all present rules with them. If
/// any rule is invalid, none is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ImportPolicy {
    pub text: String,
    #[serde(default)]
    pub replace: bool,
}

/// How many rules were imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ImportResult {
    pub rules: u32,
}

/// `policy.set_default`: sets the effect on calls that no rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetDefaultPolicy {
    pub effect: Effect,
}

impl Verb for ListPolicy {
    type Answer = PolicyView;

    async fn run(self, hub: &Hub) -> Result<PolicyView, ApiError> {
        let rules = hub
            .rules
            .list()
            .iter()
            .map(|rule| rule_view(hub, rule))
            .collect();
        Ok(PolicyView {
            default: hub.settings.get().default_policy,
            rules,
        })
    }
}

impl Verb for SetPolicy {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let spec = RuleSpec {
            scope: self.scope,
            effect: Some(self.effect),
            ..RuleSpec::default()
        };
        check_rule(&spec)?;
        hub.rules.save_rule(bind_rule(hub, None, spec)).await?;
        Ok(Done {})
    }
}

impl Verb for RemovePolicy {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        check_scope(&self.scope)?;
        if hub.rules.delete_in_scope(&self.scope).await? {
            hub.store.append_audit(
                AuditKind::PolicyChanged,
                &json!({ "scope": self.scope, "removed": true }),
            );
            return Ok(Done {});
        }
        Err(ApiError::not_found(
            "there is no rule with exactly this scope",
        ))
    }
}

impl Verb for SaveRule {
    type Answer = RuleView;

    async fn run(self, hub: &Hub) -> Result<RuleView, ApiError> {
        check_rule(&self.rule)?;
        if let Some(id) = &self.id
            && !hub.rules.list().iter().any(|rule| rule.id == *id)
        {
            return Err(no_such_rule(id));
        }
        let rule = bind_rule(hub, self.id, self.rule);
        hub.rules.save_rule(rule.clone()).await?;
        Ok(rule_view(hub, &rule))
    }
}

impl Verb for DeleteRule {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        if !hub.rules.delete(&self.id).await? {
            return Err(no_such_rule(&self.id));
        }
        hub.store.append_audit(
            AuditKind::PolicyChanged,
            &json!({ "id": self.id, "removed": true }),
        );
        Ok(Done {})
    }
}

impl Verb for PreviewRule {
    type Answer = DryRun;

    async fn run(self, hub: &Hub) -> Result<DryRun, ApiError> {
        check_rule(&self.rule)?;
        dry_run(hub, &self.rule).await
    }
}

impl Verb for ExportPolicy {
    type Answer = PolicyFile;

    async fn run(self, hub: &Hub) -> Result<PolicyFile, ApiError> {
        // A rule for one session means nothing in another hub or at another time.
        let rules = hub
            .rules
            .list()
            .iter()
            .map(|rule| rule.spec.clone())
            .filter(|spec| !is_session_rule(spec))
            .collect();
        let file = PolicyDocument {
            default: Some(hub.settings.get().default_policy),
            rules,
        };
        let text = serde_json::to_string_pretty(&file);
        Ok(PolicyFile {
            text: text.map_err(|e| {
                ApiError::unavailable(format!("cannot write the rules as JSON: {e}"))
            })?,
        })
    }
}

impl Verb for ImportPolicy {
    type Answer = ImportResult;

    async fn run(self, hub: &Hub) -> Result<ImportResult, ApiError> {
        let file: PolicyDocument = serde_json::from_str(&self.text).map_err(|e| {
            ApiError::invalid(format!(
                "this is not a valid policy file: {e}. See `drawbridge policy export` for the format."
            ))
        })?;
        for (index, spec) in file.rules.iter().enumerate() {
            let invalid = |why: &str| ApiError::invalid(format!("rule {}: {why}", index + 1));
            check_rule(spec).map_err(|error| invalid(&error.message))?;
            if is_session_rule(spec) {
                return Err(invalid("a rule for one session cannot be imported"));
            }
        }
        let count = u32::try_from(file.rules.len()).unwrap_or(u32::MAX);
        let new = file
            .rules
            .into_iter()
            .map(|spec| bind_rule(hub, None, spec));
        let old = hub
            .rules
            .list()
            .iter()
            .map(|rule| (**rule).clone())
            .filter(|_| !self.replace)
            .collect::<Vec<_>>();
        // A scope has at most one plain rule, so that the file's plain rule replaces the present
        // one.
        let new: Vec<Rule> = new.collect();
        let replaces = |old: &Rule| {
            new.iter()
                .any(|new| new.spec == old.spec || replaces_plain(new, old))
        };
        let all = old
            .into_iter()
            .filter(|old| !replaces(old))
            .chain(new.iter().cloned())
            .collect();
        let note = ImportNote {
            imported: new.iter().map(RuleNote::new).collect(),
            replace: self.replace,
        };
        hub.rules.replace_all(all, &note).await?;
        if let Some(default) = file.default.filter(|_| self.replace) {
            hub.settings
                .change(SettingsChange::default_policy(default))
                .await?;
            hub.events.publish(Event::PolicyChanged);
        }
        Ok(ImportResult { rules: count })
    }
}

impl Verb for SetDefaultPolicy {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.settings
            .change(SettingsChange::default_policy(self.effect))
            .await?;
        hub.store
            .append_audit(AuditKind::PolicyChanged, &json!({ "default": self.effect }));
        hub.events.publish(Event::PolicyChanged);
        Ok(Done {})
    }
}

/// The content of a policy file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with default and rules")]
struct PolicyDocument {
    #[serde(default)]
    default: Option<Effect>,
    rules: Vec<RuleSpec>,
}

/// The body of the audit's entry about imported rules.
#[derive(Serialize)]
struct ImportNote<'a> {
    imported: Vec<RuleNote<'a>>,
    replace: bool,
}

fn is_session_rule(spec: &RuleSpec) -> bool {
    matches!(spec.lifetime, Lifetime::Session { .. })
}

fn replaces_plain(new: &Rule, old: &Rule) -> bool {
    new.spec.is_plain() && old.spec.is_plain() && new.spec.scope == old.spec.scope
}

fn no_such_rule(id: &RuleId) -> ApiError {
    ApiError::not_found(format!("there is no rule '{id}'"))
}

/// The longest note that a person may write about a rule, in bytes.
const MAX_NOTE: usize = 1_000;

fn check_rule(spec: &RuleSpec) -> Result<(), ApiError> {
    check_scope(&spec.scope)?;
    if spec.effect.is_none() && spec.result.is_none() {
        return Err(ApiError::invalid(
            "a rule needs 'effect' (allow, deny, ask) or 'result' (mask, hold)",
        ));
    }
    if spec.effect == Some(Effect::Deny) && spec.result.is_some() {
        return Err(ApiError::invalid(
            "a rule that denies calls cannot have a 'result'",
        ));
    }
    if spec.note.len() > MAX_NOTE {
        return Err(ApiError::invalid(format!(
            "'note' can have at most {MAX_NOTE} bytes"
        )));
    }
    match spec.lifetime {
        Lifetime::Until { at } if at <= clock::now() => {
            Err(ApiError::invalid("'lifetime.at' is in the past"))
        }
        Lifetime::Calls { count: 0 } => {
            Err(ApiError::invalid("'lifetime.count' must be at least 1"))
        }
        Lifetime::UntilDeleted
        | Lifetime::Until { .. }
        | Lifetime::Session { .. }
        | Lifetime::Calls { .. } => Ok(()),
    }
}

fn check_scope(scope: &Scope) -> Result<(), ApiError> {
    let parts = [
        ("server", scope.server.as_ref().map(ServerId::as_str)),
        ("tool", scope.tool.as_deref()),
        ("client", scope.client.as_ref().map(ClientName::as_str)),
    ];
    if let Some((part, _)) = parts.iter().find(|(_, value)| *value == Some("")) {
        return Err(ApiError::invalid(format!(
            "'{part}' is empty; omit it to match all"
        )));
    }
    if scope.tool.is_some() && scope.server.is_none() {
        return Err(ApiError::invalid(
            "'tool' requires 'server', because tools of different servers can have the same name",
        ));
    }
    Ok(())
}

/// Returns a rule that is bound to the server and the tool as they are now. If either is unknown,
/// the rule is not bound to it.
fn bind_rule(hub: &Hub, id: Option<RuleId>, spec: RuleSpec) -> Rule {
    let server = spec
        .scope
        .server
        .as_ref()
        .and_then(|id| hub.registry.get(id).ok());
    Rule {
        id: id.unwrap_or_else(|| RuleId::new(random::id())),
        identity: server.map(|server| server.identity.clone()),
        definition: definition_digest(hub, &spec.scope),
        created_at: clock::now(),
        used: 0,
        spec,
    }
}

fn definition_digest(hub: &Hub, scope: &Scope) -> Option<String> {
    let copy = hub.catalog.copy(scope.server.as_ref()?);
    let name = scope.tool.as_ref()?;
    copy.tools()
        .iter()
        .find(|tool| tool.name == *name)
        .map(|tool| tool.digest.clone())
}

fn rule_view(hub: &Hub, rule: &Rule) -> RuleView {
    let server = rule
        .spec
        .scope
        .server
        .as_ref()
        .and_then(|id| hub.registry.get(id).ok());
    let suspended = server.is_some_and(|server| {
        rule.is_suspended(
            &server.identity,
            definition_digest(hub, &rule.spec.scope).as_deref(),
        )
    });
    RuleView {
        id: rule.id.clone(),
        words: rule.spec.to_string(),
        scope: rule.spec.scope.clone(),
        read_only: rule.spec.read_only,
        conditions: rule.spec.conditions.clone(),
        effect: rule.spec.effect,
        result: rule.spec.result,
        lifetime: rule.spec.lifetime.clone(),
        note: rule.spec.note.clone(),
        created_at: rule.created_at,
        remaining: rule.remaining(),
        suspended,
    }
}

/// The most past calls that a dry run examines.
const MAX_EXAMINED: u32 = 1_000;
const MAX_NEWEST: usize = 10;

/// Returns the past calls that a rule would have matched, as if the rule had existed then. The
/// stored arguments have their secrets masked.
///
/// # Errors
/// Returns an error if a condition is invalid, or if the calls cannot be read.
pub(super) async fn dry_run(hub: &Hub, spec: &RuleSpec) -> Result<DryRun, ApiError> {
    // The conditions are compiled first, so that an invalid rule is rejected even if there are no
    // past calls.
    let conditions = Conditions::compile(&spec.conditions)?;
    let scope = &spec.scope;
    let filter = PastCallFilter {
        client: scope.client.clone(),
        server: scope.server.clone(),
        tool: scope.tool.clone(),
        limit: MAX_EXAMINED,
        ..PastCallFilter::default()
    };
    hub.journal.flush().await;
    let mut past = DryRun::default();
    let mut hints = BTreeMap::new();
    for call in hub.store.past_calls(&filter).await? {
        past.examined += 1;
        let server = hub.registry.get(&call.server).ok();
        if spec.read_only {
            let key = (call.server.clone(), call.tool.clone());
            let is_read_only = *hints.entry(key).or_insert_with(|| is_read_only(hub, &call));
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
                conditions.matches(spec.effect, &arguments, &server)
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

fn is_read_only(hub: &Hub, call: &Call) -> bool {
    let copy = hub.catalog.copy(&call.server);
    copy.tools()
        .iter()
        .any(|tool| tool.name == call.tool && tool.annotations.read_only == Some(true))
}
