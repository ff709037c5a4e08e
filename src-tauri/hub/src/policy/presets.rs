//! Presets: policies for calls of tools that a person sets with one choice.

use drawbridge_model::{
    ids::ServerId,
    policy::{Effect, RuleSpec, Scope},
};
use serde::{Deserialize, Serialize};

/// A policy for calls of tools: their default, and rules for all tools of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PolicyPreset {
    /// Ask about every call.
    AskAll,
    /// Ask about every call, except calls of tools that these trusted servers mark as read-only.
    AskWrites { trusted: Vec<ServerId> },
    /// Ask only about the tools of these servers, and allow all other tools.
    AskListed { listed: Vec<ServerId> },
}

impl PolicyPreset {
    /// Returns the default for calls of tools and the rules of the preset.
    pub(super) fn into_rules(self) -> (Effect, Vec<RuleSpec>) {
        let scope_of = |server: ServerId| Scope {
            server: Some(server),
            ..Scope::default()
        };
        match self {
            Self::AskAll => (Effect::Ask, Vec::new()),
            Self::AskWrites { trusted } => {
                let rule = |server| RuleSpec {
                    scope: scope_of(server),
                    read_only: true,
                    effect: Some(Effect::Allow),
                    ..RuleSpec::default()
                };
                (Effect::Ask, trusted.into_iter().map(rule).collect())
            }
            Self::AskListed { listed } => {
                let rule = |server| RuleSpec {
                    scope: scope_of(server),
                    effect: Some(Effect::Ask),
                    ..RuleSpec::default()
                };
                (Effect::Allow, listed.into_iter().map(rule).collect())
            }
        }
    }
}

/// Returns whether a rule is of the kind that presets make and remove: it allows calls or asks
/// about them, for all tools or all read-only tools. It may be limited to a server, but not to a
/// client, a user or a kind, and has neither conditions nor an effect on results.
pub(super) fn is_preset_rule(spec: &RuleSpec) -> bool {
    spec.scope.tool.is_none()
        && spec.scope.kind.is_none()
        && spec.scope.client.is_none()
        && spec.scope.user.is_none()
        && spec.conditions.is_empty()
        && spec.result.is_none()
        && matches!(spec.effect, Some(Effect::Allow | Effect::Ask))
}
