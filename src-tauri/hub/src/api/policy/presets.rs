//! Presets: complete policies that a person sets with one choice.

use drawbridge_model::{
    event::Event,
    ids::ServerId,
    policy::{Effect, Rule, RuleSpec, Scope},
};
use drawbridge_store::settings::SettingsChange;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{bind_rule, replaces_plain};
use crate::{
    api::{ApiError, Done, Verb},
    hub::Hub,
};

/// A complete policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PolicyPreset {
    /// Ask about every call.
    AskAll,
    /// Ask about every call except for tools that these trusted servers mark as read-only.
    AskWrites { trusted: Vec<ServerId> },
    /// Ask only about the tools of these servers, and allow all others.
    AskListed { listed: Vec<ServerId> },
}

/// `policy.apply_preset`: sets the default and the plain rules of whole servers. Denies stay, and
/// so do rules about single tools or clients. Other allows and asks for whole servers are removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ApplyPreset {
    pub preset: PolicyPreset,
}

impl Verb for ApplyPreset {
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        let note = json!({ "preset": self.preset });
        let (default, specs) = self.preset.into_rules();
        for id in specs.iter().filter_map(|spec| spec.scope.server.as_ref()) {
            hub.registry.get(id)?;
        }
        let new: Vec<Rule> = specs
            .into_iter()
            .map(|spec| bind_rule(hub, None, spec))
            .collect();
        let old = hub.rules.list();
        let is_retained = |old: &&std::sync::Arc<Rule>| {
            !is_preset_rule(&old.spec) && !new.iter().any(|new| replaces_plain(new, old))
        };
        let retained: Vec<Rule> = old
            .iter()
            .filter(is_retained)
            .map(|rule| (**rule).clone())
            .collect();
        // The default is set to ask first, so that no call is allowed in between that neither
        // policy allows.
        if default != Effect::Ask || hub.settings.get().default_policy == Effect::Allow {
            hub.settings
                .change(SettingsChange::default_policy(Effect::Ask))
                .await?;
        }
        hub.rules
            .replace_all(retained.into_iter().chain(new).collect(), &note)
            .await?;
        hub.settings
            .change(SettingsChange::default_policy(default))
            .await?;
        hub.events.publish(Event::PolicyChanged);
        Ok(Done {})
    }
}

impl PolicyPreset {
    fn into_rules(self) -> (Effect, Vec<RuleSpec>) {
        let of = |server: ServerId| Scope {
            server: Some(server),
            ..Scope::default()
        };
        match self {
            Self::AskAll => (Effect::Ask, Vec::new()),
            Self::AskWrites { trusted } => {
                let rule = |server| RuleSpec {
                    scope: of(server),
                    read_only: true,
                    effect: Some(Effect::Allow),
                    ..RuleSpec::default()
                };
                (Effect::Ask, trusted.into_iter().map(rule).collect())
            }
            Self::AskListed { listed } => {
                let rule = |server| RuleSpec {
                    scope: of(server),
                    effect: Some(Effect::Ask),
                    ..RuleSpec::default()
                };
                (Effect::Allow, listed.into_iter().map(rule).collect())
            }
        }
    }
}

/// Returns whether a rule is of the kind that presets make: an allow or an ask for whole servers
/// and all clients, without conditions.
fn is_preset_rule(text: &RuleSpec) -> bool {
    text.scope.tool.is_none()
        && text.scope.client.is_none()
        && text.conditions.is_empty()
        && text.result.is_none()
        && matches!(text.effect, Some(Effect::Allow | Effect::Ask))
}
