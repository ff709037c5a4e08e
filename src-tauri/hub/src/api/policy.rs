//! Policy: the defaults and the rules, which allow, deny or ask.

use drawbridge_model::{
    ids::{RuleId, Timestamp},
    policy::{
        Condition, DefaultEffects, Effect, Lifetime, RequestKind, ResultEffect, Rule, RuleSpec,
        Scope,
    },
};
use serde::{Deserialize, Serialize};

pub use crate::policy::{DayStats, DryRun, PolicyPreset, PolicyStats, RuleWarning, Suggestion};

use super::{ApiError, Done, Verb};
use crate::hub::Hub;

/// A rule and its present state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuleView {
    pub id: RuleId,
    #[serde(flatten)]
    pub scope: Scope,
    /// Whether the rule covers only tools that their server marks read-only.
    pub read_only: bool,
    pub conditions: Vec<Condition>,
    /// The effect on requests; null if the rule leaves it to other rules.
    pub effect: Option<Effect>,
    /// The effect on results; null if the rule leaves it to other rules.
    pub result: Option<ResultEffect>,
    pub lifetime: Lifetime,
    pub note: String,
    /// The rule in words, on one line.
    pub text: String,
    pub created_at: Timestamp,
    /// How many more calls the rule can decide; null if their number is not limited.
    pub remaining: Option<u32>,
    /// Whether the rule allows calls, but its tool or server has changed since the rule was made.
    /// The rule then allows nothing until a person accepts the change.
    pub suspended: bool,
    /// Whether a person switched the rule off.
    pub disabled: bool,
}

/// The rules, and the defaults for requests that no rule matches. Deny takes precedence over allow,
/// and allow over ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PolicyView {
    pub defaults: DefaultEffects,
    pub rules: Vec<RuleView>,
}

/// `policy.list`: the defaults, and all rules that have not expired, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListPolicy {}

/// `policy.set`: sets the plain rule of a scope, replacing the previous plain rule. A plain rule
/// has an effect on requests and nothing else: no conditions, no limit to read-only tools, no
/// effect on results, and no end.
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

/// `policy.save`: adds a rule, or replaces a rule. The rule is bound to its server and its tool as
/// they are now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SaveRule {
    /// The rule to replace; a new rule if absent.
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

/// `policy.enable_rule`: enables one rule. The rule stays bound to its server and its tool as they
/// were when the rule was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EnableRule {
    pub id: RuleId,
}

/// `policy.disable_rule`: disables one rule. The rule matches nothing until it is enabled again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DisableRule {
    pub id: RuleId,
}

/// `policy.check_rule`: the reasons to let a person confirm a rule before it is saved. Nothing is
/// saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckRule {
    pub rule: RuleSpec,
}

/// `policy.preview`: a dry run of a rule on past calls. Nothing is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PreviewRule {
    pub rule: RuleSpec,
}

/// `policy.export`: the policy as a readable file, without the rules that hold for one session.
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

/// `policy.import`: adds the rules of a policy file. If `replace` is set, these rules replace all
/// present rules, and the file's defaults, if it has any, replace the present defaults. Otherwise,
/// a plain rule in the file replaces only the present plain rule of the same scope. If any rule is
/// invalid, no rule is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ImportPolicy {
    /// The content of the file, in JSON.
    pub text: String,
    /// Whether to replace the present rules and, if the file has defaults, the present defaults.
    #[serde(default)]
    pub replace: bool,
}

/// The result of importing a policy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ImportResult {
    /// The number of rules in the file.
    pub rules: u32,
}

/// `policy.set_default`: sets the effect on requests of a kind that no rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetDefaultPolicy {
    pub effect: Effect,
    /// The kind of request; calls of tools if absent.
    #[serde(default)]
    pub kind: Option<RequestKind>,
}

/// `policy.apply_preset`: sets the default for calls of tools, and adds the preset's rules for
/// whole servers. Removes every other allow or ask rule for all tools of one server or of all
/// servers, unless the rule is limited to a client, a user or a kind, has conditions, or concerns
/// results. All other rules stay, except that the preset's rule for a server replaces a plain deny
/// rule of this server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ApplyPreset {
    pub preset: PolicyPreset,
}

/// `policy.stats`: stats of the latest calls that a person had to decide, and the rules that
/// these calls suggest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowPolicyStats {
    /// The number of days, including today: 14 by default, and 90 at most.
    #[serde(default)]
    pub days: Option<u32>,
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
            defaults: hub.rules.default_effects(),
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
        hub.policy_editor.save(None, spec).await?;
        Ok(Done {})
    }
}

impl Verb for RemovePolicy {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.policy_editor.delete_in_scope(&self.scope).await?;
        Ok(Done {})
    }
}

impl Verb for SaveRule {
    type Answer = RuleView;

    async fn run(self, hub: &Hub) -> Result<RuleView, ApiError> {
        let rule = hub.policy_editor.save(self.id, self.rule).await?;
        Ok(rule_view(hub, &rule))
    }
}

impl Verb for DeleteRule {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.policy_editor.delete(&self.id).await?;
        Ok(Done {})
    }
}

impl Verb for EnableRule {
    type Answer = RuleView;

    async fn run(self, hub: &Hub) -> Result<RuleView, ApiError> {
        let rule = hub.policy_editor.set_enabled(&self.id, true).await?;
        Ok(rule_view(hub, &rule))
    }
}

impl Verb for DisableRule {
    type Answer = RuleView;

    async fn run(self, hub: &Hub) -> Result<RuleView, ApiError> {
        let rule = hub.policy_editor.set_enabled(&self.id, false).await?;
        Ok(rule_view(hub, &rule))
    }
}

impl Verb for CheckRule {
    type Answer = Vec<RuleWarning>;

    async fn run(self, hub: &Hub) -> Result<Vec<RuleWarning>, ApiError> {
        Ok(hub.policy_editor.warnings(&self.rule))
    }
}

impl Verb for PreviewRule {
    type Answer = DryRun;

    async fn run(self, hub: &Hub) -> Result<DryRun, ApiError> {
        Ok(hub.policy_editor.dry_run(&self.rule).await?)
    }
}

impl Verb for ExportPolicy {
    type Answer = PolicyFile;

    async fn run(self, hub: &Hub) -> Result<PolicyFile, ApiError> {
        Ok(PolicyFile {
            text: hub.policy_editor.export(),
        })
    }
}

impl Verb for ImportPolicy {
    type Answer = ImportResult;

    async fn run(self, hub: &Hub) -> Result<ImportResult, ApiError> {
        let rules = hub.policy_editor.import(&self.text, self.replace).await?;
        Ok(ImportResult { rules })
    }
}

impl Verb for ApplyPreset {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.policy_editor.apply_preset(self.preset).await?;
        Ok(Done {})
    }
}

impl Verb for SetDefaultPolicy {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let kind = self.kind.unwrap_or(RequestKind::Tools);
        hub.policy_editor.set_default(kind, self.effect).await?;
        Ok(Done {})
    }
}

impl Verb for ShowPolicyStats {
    type Answer = PolicyStats;

    async fn run(self, hub: &Hub) -> Result<PolicyStats, ApiError> {
        Ok(hub.policy_editor.stats(self.days.unwrap_or(14)).await?)
    }
}

fn rule_view(hub: &Hub, rule: &Rule) -> RuleView {
    RuleView {
        id: rule.id.clone(),
        text: rule.spec.to_string(),
        scope: rule.spec.scope.clone(),
        read_only: rule.spec.read_only,
        conditions: rule.spec.conditions.clone(),
        effect: rule.spec.effect,
        result: rule.spec.result,
        lifetime: rule.spec.lifetime.clone(),
        note: rule.spec.note.clone(),
        created_at: rule.created_at,
        remaining: rule.remaining(),
        suspended: hub.policy_editor.is_suspended(rule),
        disabled: rule.spec.disabled,
    }
}
