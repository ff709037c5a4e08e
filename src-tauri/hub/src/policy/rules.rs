//! Rules: what is decided without asking. Deny beats allow beats ask; where no rule matches, the default holds.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::{
    clock,
    events::Events,
    model::{
        call::DecidedBy,
        event::Event,
        ids::{ClientName, ServerId, SessionId, Timestamp},
        policy::{Effect, Scope},
        spec::Registered,
    },
    settings::Settings,
    store::{Store, StoreError, table::policy::RuleRow},
};

/// What a rule can look at.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// None to see what holds for a client without rules of its own.
    pub client: Option<&'a ClientName>,
    pub session: Option<&'a SessionId>,
    pub server: &'a Registered,
    /// The server's own name of the tool.
    pub tool: &'a str,
    /// The digest of the tool's definition.
    pub definition: &'a str,
}

/// What the rules say of a call, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub effect: Effect,
    pub by: DecidedBy,
    /// The rule in words.
    pub reason: String,
}

/// The rules. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    store: Store,
    settings: Settings,
    events: Events,
    rules: Arc<ArcSwap<Vec<RuleRow>>>,
    /// Held from writing to publishing, so that an older list is never published over a newer one.
    changing: Arc<tokio::sync::Mutex<()>>,
}

/// Why an allow that a person gave with an approval is not kept.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    #[error("the call was let through, but no rule was made: a rule to deny such calls was made meanwhile")]
    Denied,
    #[error("the call was let through, but no rule was made: {0}")]
    Store(#[from] StoreError),
}

impl Rules {
    /// Reads the rules; those that ended with their time or with the last run's sessions are removed.
    ///
    /// # Errors
    /// Where the store cannot be used.
    pub async fn load(store: Store, settings: Settings, events: Events) -> Result<Self, StoreError> {
        store.remove_ended_rules(clock::now()).await?;
        let rules = store.rules().await?;
        Ok(Self { store, settings, events, rules: Arc::new(ArcSwap::from_pointee(rules)), changing: Arc::default() })
    }

    /// What happens to such a call.
    pub fn decide(&self, facts: &Facts<'_>) -> Ruling {
        let rules = self.rules.load();
        let now = clock::now();
        let strongest = rules.iter().filter(|rule| matches(rule, facts, now)).min_by_key(|rule| strength(rule.effect));
        match strongest {
            Some(rule) => Ruling { effect: rule.effect, by: DecidedBy::Rule, reason: in_words(rule) },
            None => Ruling {
                effect: self.settings.get().default_policy,
                by: DecidedBy::Default,
                reason: "no rule matches: the default policy".into(),
            },
        }
    }

    pub fn list(&self) -> Arc<Vec<RuleRow>> {
        self.rules.load_full()
    }

    /// The rule of exactly that tool, for all clients.
    pub fn own(&self, server: &ServerId, tool: &str) -> Option<Effect> {
        let scope = Scope { server: Some(server.clone()), tool: Some(tool.to_owned()), client: None };
        self.rules.load().iter().find(|rule| rule.scope == scope && rule.session.is_none()).map(|rule| rule.effect)
    }

    /// Adds a rule, or replaces the one of its scope.
    ///
    /// # Errors
    /// Where it cannot be written; then it does not hold.
    pub async fn put(&self, rule: RuleRow) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        self.store.put_rule(&rule).await?;
        self.reload().await
    }

    /// Adds an allow that came with an approval. A deny of its scope stays.
    ///
    /// # Errors
    /// Where there is such a deny, or it cannot be written.
    pub async fn grant(&self, rule: RuleRow) -> Result<(), GrantError> {
        let _one_at_a_time = self.changing.lock().await;
        if self.rules.load().iter().any(|known| known.scope == rule.scope && known.effect == Effect::Deny) {
            return Err(GrantError::Denied);
        }
        self.store.put_rule(&rule).await?;
        Ok(self.reload().await?)
    }

    /// Removes the rules of exactly that scope; whether there were any.
    ///
    /// # Errors
    /// Where they cannot be removed; then they still hold.
    pub async fn remove(&self, scope: &Scope) -> Result<bool, StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        let removed = self.store.remove_rules(scope).await?;
        self.reload().await?;
        Ok(removed > 0)
    }

    /// Removes every rule about a server.
    ///
    /// # Errors
    /// Where they cannot be removed.
    pub async fn remove_server(&self, server: &ServerId) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        self.store.remove_rules_of(server).await?;
        self.reload().await
    }

    /// Removes every rule about a client.
    ///
    /// # Errors
    /// Where they cannot be removed.
    pub async fn remove_client(&self, client: &ClientName) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        self.store.remove_rules_for(client).await?;
        self.reload().await
    }

    async fn reload(&self) -> Result<(), StoreError> {
        self.rules.store(Arc::new(self.store.rules().await?));
        self.events.tell(Event::PolicyChanged);
        Ok(())
    }
}

/// Whether an allow no longer fits what it was given for. A deny always fits.
pub fn is_suspended(rule: &RuleRow, identity: &str, definition: Option<&str>) -> bool {
    rule.effect == Effect::Allow
        && (rule.identity.as_deref().is_some_and(|accepted| accepted != identity)
            || rule.definition.as_deref().is_some_and(|accepted| definition.is_some_and(|now| now != accepted)))
}

fn matches(rule: &RuleRow, facts: &Facts<'_>, now: Timestamp) -> bool {
    let scope = &rule.scope;
    scope.server.as_ref().is_none_or(|server| *server == facts.server.id)
        && scope.tool.as_ref().is_none_or(|tool| tool == facts.tool)
        && scope.client.as_ref().is_none_or(|client| Some(client) == facts.client)
        && rule.session.as_ref().is_none_or(|session| Some(session) == facts.session)
        // A clock that was set back must not make a rule live longer.
        && rule.expires_at.is_none_or(|end| rule.created_at <= now && now < end)
        && !is_suspended(rule, &facts.server.identity, Some(facts.definition))
}

fn strength(effect: Effect) -> u8 {
    match effect {
        Effect::Deny => 0,
        Effect::Allow => 1,
        Effect::Ask => 2,
    }
}

fn in_words(rule: &RuleRow) -> String {
    let effect = match rule.effect {
        Effect::Allow => "allow",
        Effect::Deny => "deny",
        Effect::Ask => "ask for",
    };
    let what = match (&rule.scope.server, &rule.scope.tool) {
        (Some(server), Some(tool)) => format!("{tool} of {server}"),
        (Some(server), None) => format!("all tools of {server}"),
        (None, _) => "all tools".to_owned(),
    };
    let client = rule.scope.client.as_ref().map(|client| format!(" for {client}")).unwrap_or_default();
    let life = match (&rule.session, rule.expires_at) {
        (Some(_), _) => " in this session",
        (None, Some(_)) => " for a while",
        (None, None) => "",
    };
    format!("rule: {effect} {what}{client}{life}")
}

#[cfg(test)]
mod tests;
