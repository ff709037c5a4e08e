//! Policy: what may cross without asking, what never may.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Done, Verb};
use crate::{
    clock,
    hub::Hub,
    model::{
        audit::AuditKind,
        event::Event,
        ids::{ClientName, ServerId, SessionId, Timestamp},
        policy::{Effect, Scope},
    },
    policy::is_suspended,
    settings::Values,
    store::table::policy::RuleRow,
};

/// A policy with its scope and life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuleView {
    #[serde(flatten)]
    pub scope: Scope,
    pub effect: Effect,
    pub created_at: Timestamp,
    /// Ends by itself then.
    pub expires_at: Option<Timestamp>,
    /// Ends with this client session.
    pub session: Option<SessionId>,
    /// An allow whose tool or server has changed since: it asks until that was accepted.
    pub suspended: bool,
}

/// The rules, and what happens where none matches. Deny beats allow beats ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PolicyView {
    pub default: Effect,
    pub rules: Vec<RuleView>,
}

/// `policy.list`: all rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListPolicy {}

/// `policy.set`: sets the policy of a scope, replacing the one it had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetPolicy {
    #[serde(flatten)]
    pub scope: Scope,
    pub effect: Effect,
}

/// `policy.remove`: removes the rules of exactly that scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RemovePolicy {
    #[serde(flatten)]
    pub scope: Scope,
}

/// `policy.set_default`: what happens where no rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SetDefaultPolicy {
    pub effect: Effect,
}

impl Verb for ListPolicy {
    const NAME: &'static str = "policy.list";
    type Answer = PolicyView;

    async fn run(self, hub: &Hub) -> Result<PolicyView, ApiError> {
        let rules = hub.rules.list().iter().map(|rule| view(hub, rule)).collect();
        Ok(PolicyView { default: hub.settings.get().default_policy, rules })
    }
}

impl Verb for SetPolicy {
    const NAME: &'static str = "policy.set";
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        check(&self.scope)?;
        let (identity, definition) = bound_to(hub, &self.scope);
        let rule = RuleRow {
            scope: self.scope,
            session: None,
            effect: self.effect,
            identity,
            definition,
            created_at: clock::now(),
            expires_at: None,
        };
        let note = note(&rule);
        hub.rules.put(rule).await?;
        hub.store.note(AuditKind::PolicyChanged, &note);
        Ok(Done {})
    }
}

impl Verb for RemovePolicy {
    const NAME: &'static str = "policy.remove";
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        check(&self.scope)?;
        if hub.rules.remove(&self.scope).await? {
            hub.store.note(AuditKind::PolicyChanged, &json!({ "scope": self.scope, "removed": true }));
            return Ok(Done {});
        }
        Err(ApiError::not_found("there is no rule of exactly that scope"))
    }
}

impl Verb for SetDefaultPolicy {
    const NAME: &'static str = "policy.set_default";
    type Answer = Done;

    async fn run(self, hub: &Hub) -> Result<Done, ApiError> {
        hub.settings.change(|values| Values { default_policy: self.effect, ..values }).await?;
        hub.store.note(AuditKind::PolicyChanged, &json!({ "default": self.effect }));
        hub.events.tell(Event::PolicyChanged);
        Ok(Done {})
    }
}

/// What the audit has of a rule that is set.
pub(super) fn note(rule: &RuleRow) -> serde_json::Value {
    json!({ "scope": rule.scope, "effect": rule.effect, "session": rule.session, "expires_at": rule.expires_at })
}

fn check(scope: &Scope) -> Result<(), ApiError> {
    let parts = [
        ("server", scope.server.as_ref().map(ServerId::as_str)),
        ("tool", scope.tool.as_deref()),
        ("client", scope.client.as_ref().map(ClientName::as_str)),
    ];
    if let Some((part, _)) = parts.iter().find(|(_, value)| *value == Some("")) {
        return Err(ApiError::invalid(format!("'{part}' is empty; leave it out to mean all")));
    }
    if scope.tool.is_some() && scope.server.is_none() {
        return Err(ApiError::invalid("'tool' needs 'server': the tools of different servers are different tools"));
    }
    Ok(())
}

/// What a rule is bound to: the server and the tool's definition as they are now. A rule made before either is
/// known is bound to nothing.
fn bound_to(hub: &Hub, scope: &Scope) -> (Option<String>, Option<String>) {
    let server = scope.server.as_ref().and_then(|id| hub.registry.get(id).ok());
    (server.map(|server| server.identity.clone()), definition(hub, scope))
}

fn definition(hub: &Hub, scope: &Scope) -> Option<String> {
    let copy = hub.catalog.copy(scope.server.as_ref()?);
    let name = scope.tool.as_ref()?;
    copy.tools().iter().find(|tool| tool.name == *name).map(|tool| tool.digest.clone())
}

fn view(hub: &Hub, rule: &RuleRow) -> RuleView {
    let server = rule.scope.server.as_ref().and_then(|id| hub.registry.get(id).ok());
    let suspended =
        server.is_some_and(|server| is_suspended(rule, &server.identity, definition(hub, &rule.scope).as_deref()));
    RuleView {
        scope: rule.scope.clone(),
        effect: rule.effect,
        created_at: rule.created_at,
        expires_at: rule.expires_at,
        session: rule.session.clone(),
        suspended,
    }
}
