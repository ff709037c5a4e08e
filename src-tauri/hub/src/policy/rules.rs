//! Rules: what is decided without asking. Deny beats allow beats ask; where no rule matches, the default holds.
//! They are compiled once, and found by their server.

mod compiled;

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::value::RawValue;

use super::conditions::ConditionError;
use crate::{
    clock,
    events::Events,
    model::{
        call::DecidedBy,
        event::Event,
        ids::{ClientName, RuleId, ServerId, SessionId, Timestamp},
        policy::{Effect, ResultEffect, Rule, Scope},
        spec::Registered,
        tool::Annotations,
    },
    settings::Settings,
    store::{Store, StoreError},
};

use compiled::{Compiled, RuleSet};

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
    pub annotations: &'a Annotations,
    /// None to see what holds whatever they are: then rules with conditions say nothing.
    pub arguments: Option<&'a RawValue>,
}

/// What the rules say of a call, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub effect: Effect,
    pub by: DecidedBy,
    /// The rule that decided.
    pub rule: Option<RuleId>,
    /// The rule in words.
    pub reason: String,
    /// The rule holds for a number of calls, of which this is one.
    pub is_counted: bool,
}

/// The rules. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    store: Store,
    settings: Settings,
    events: Events,
    rules: Arc<ArcSwap<RuleSet>>,
    /// Held from writing to publishing, so that an older list is never published over a newer one.
    changing: Arc<tokio::sync::Mutex<()>>,
}

/// Why a rule is not kept.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error("a rule to deny such calls was made meanwhile; remove it first")]
    Denied,
    #[error(transparent)]
    Condition(#[from] ConditionError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Rules {
    /// Reads the rules; those that ended with their time or with the last run's sessions are removed.
    ///
    /// # Errors
    /// Where the store cannot be used.
    pub async fn load(
        store: Store,
        settings: Settings,
        events: Events,
    ) -> Result<Self, StoreError> {
        store.remove_ended_rules(clock::now()).await?;
        let rules = RuleSet::new(store.rules().await?, None);
        Ok(Self {
            store,
            settings,
            events,
            rules: Arc::new(ArcSwap::from_pointee(rules)),
            changing: Arc::default(),
        })
    }

    /// What happens to such a call. A rule that holds for a number of calls counts it.
    pub fn decide(&self, facts: &Facts<'_>) -> Ruling {
        self.ruling(facts, Compiled::take)
    }

    /// What would happen to such a call; nothing is counted.
    pub fn peek(&self, facts: &Facts<'_>) -> Ruling {
        self.ruling(facts, |rule| rule.left() != Some(0))
    }

    fn ruling(&self, facts: &Facts<'_>, take: impl Fn(&Compiled) -> bool) -> Ruling {
        match self.rules.load().ruling(facts, clock::now(), take) {
            Some((effect, rule)) => Ruling {
                effect,
                by: DecidedBy::Rule,
                rule: Some(rule.rule.id.clone()),
                reason: rule.words.clone(),
                is_counted: rule.is_counted(),
            },
            None => Ruling {
                effect: self.settings.get().default_policy,
                by: DecidedBy::Default,
                rule: None,
                reason: "no rule matches: the default policy".into(),
                is_counted: false,
            },
        }
    }

    /// The rule that denies such a call; nothing is counted.
    pub fn denies(&self, facts: &Facts<'_>) -> Option<Ruling> {
        Some(self.peek(facts))
            .filter(|ruling| ruling.effect == Effect::Deny && ruling.by == DecidedBy::Rule)
    }

    /// What happens to the result of such a call: the strictest that any rule says, and the rule in words.
    pub fn result(&self, facts: &Facts<'_>) -> Option<(ResultEffect, String)> {
        let rules = self.rules.load();
        let now = clock::now();
        let matching = rules
            .of(&facts.server.id)
            .filter(|rule| rule.is_about_the_result_of(facts, now));
        let effects = matching.filter_map(|rule| Some((rule.rule.text.result?, rule)));
        effects
            .max_by_key(|(effect, _)| *effect)
            .map(|(effect, rule)| (effect, rule.words.clone()))
    }

    /// The allow that would hold, had its server or the tool not changed since.
    pub fn suspended(&self, facts: &Facts<'_>) -> Option<Arc<Rule>> {
        let rules = self.rules.load();
        let now = clock::now();
        rules
            .of(&facts.server.id)
            .find(|rule| rule.would_allow(facts, now))
            .map(|rule| rule.current())
    }

    /// All rules that still hold, as they are now, oldest first.
    pub fn list(&self) -> Vec<Arc<Rule>> {
        let now = clock::now();
        self.rules
            .load()
            .all()
            .map(Compiled::current)
            .filter(|rule| !rule.is_over(now))
            .collect()
    }

    /// The plain rule of exactly that tool, for all clients.
    pub fn own(&self, server: &ServerId, tool: &str) -> Option<Effect> {
        let rules = self.rules.load();
        let is_own = |rule: &&Compiled| {
            let scope = &rule.rule.text.scope;
            scope.tool.as_deref() == Some(tool)
                && scope.client.is_none()
                && rule.rule.text.is_plain()
        };
        rules
            .of(server)
            .find(is_own)
            .and_then(|rule| rule.rule.text.effect)
    }

    /// Adds a rule, or replaces the one of its id. A plain one replaces the plain one of its scope.
    ///
    /// # Errors
    /// Where a condition cannot be, or it cannot be written; then it does not hold.
    pub async fn put(&self, rule: Rule) -> Result<(), RuleError> {
        let _one_at_a_time = self.changing.lock().await;
        self.write(rule).await
    }

    /// Adds an allow that came with an approval. A deny of its scope stays.
    ///
    /// # Errors
    /// Where there is such a deny, or it cannot be written.
    pub async fn grant(&self, rule: Rule) -> Result<(), RuleError> {
        let _one_at_a_time = self.changing.lock().await;
        let is_denied = self.rules.load().all().any(|known| {
            known.rule.text.scope == rule.text.scope
                && known.rule.text.effect == Some(Effect::Deny)
                && known.rule.text.is_plain()
        });
        if is_denied {
            return Err(RuleError::Denied);
        }
        self.write(rule).await
    }

    async fn write(&self, rule: Rule) -> Result<(), RuleError> {
        Compiled::new(Arc::new(rule.clone()))?;
        let now = clock::now();
        let is_replaced = |known: &Rule| {
            known.is_over(now)
                || (rule.text.is_plain()
                    && known.text.is_plain()
                    && known.text.scope == rule.text.scope)
        };
        let known = self.rules.load();
        let replaced = known
            .all()
            .map(Compiled::current)
            .filter(|known| is_replaced(known) && known.id != rule.id);
        let replaced: Vec<RuleId> = replaced.map(|rule| rule.id.clone()).collect();
        self.store.put_rule(&rule, &replaced).await?;
        Ok(self.reload().await?)
    }

    /// Puts rules in the place of all there are.
    ///
    /// # Errors
    /// Where a condition cannot be, or they cannot be written; then nothing has changed.
    pub async fn replace_all(&self, rules: Vec<Rule>) -> Result<(), RuleError> {
        let _one_at_a_time = self.changing.lock().await;
        for rule in &rules {
            Compiled::new(Arc::new(rule.clone()))?;
        }
        self.store.replace_rules(&rules).await?;
        Ok(self.reload().await?)
    }

    /// Removes a rule; whether there was one.
    ///
    /// # Errors
    /// Where it cannot be removed; then it still holds.
    pub async fn forget(&self, id: &RuleId) -> Result<bool, StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        let removed = self.store.remove_rule(id).await?;
        self.reload().await?;
        Ok(removed > 0)
    }

    /// Removes the rules of exactly that scope, whatever else they ask; whether there were any.
    ///
    /// # Errors
    /// Where they cannot be removed; then they still hold.
    pub async fn remove(&self, scope: &Scope) -> Result<bool, StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        let removed = self.store.remove_rules(scope).await?;
        self.reload().await?;
        Ok(removed > 0)
    }

    /// A person has accepted tools as they are now, by name and digest: what was allowed for them as they were is
    /// allowed again.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub async fn tools_accepted(
        &self,
        server: &ServerId,
        tools: &[(String, String)],
    ) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        for (tool, definition) in tools {
            self.store
                .bind_rules_of_tool(server, tool, definition)
                .await?;
        }
        self.reload().await
    }

    /// The same of what a server starts.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub async fn server_accepted(
        &self,
        server: &ServerId,
        identity: &str,
    ) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        self.store.bind_rules_of_server(server, identity).await?;
        self.reload().await
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
        let rules = self.store.rules().await?;
        let new = RuleSet::new(rules, Some(&self.rules.load()));
        self.rules.store(Arc::new(new));
        self.events.tell(Event::PolicyChanged);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
