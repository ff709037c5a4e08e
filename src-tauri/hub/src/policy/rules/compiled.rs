//! Compiled rules, in the form in which they are matched against calls.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{Facts, Timestamp};
use crate::{
    model::{
        ids::{RuleId, ServerId},
        policy::{Effect, Lifetime, Rule},
    },
    policy::conditions::{ConditionError, Conditions, Sure, folder_of},
};

/// A rule with its compiled conditions.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) rule: Arc<Rule>,
    pub(super) words: String,
    conditions: Conditions,
    /// The number of calls that the rule has decided. The count survives a
    /// reload of the rules.
    used: Arc<AtomicU32>,
}

impl Compiled {
    /// # Errors
    /// Returns an error if a condition is invalid.
    pub(super) fn new(rule: Arc<Rule>) -> Result<Self, ConditionError> {
        let conditions = Conditions::compile(&rule.spec.conditions)?;
        let used = Arc::new(AtomicU32::new(rule.used));
        Ok(Self {
            words: format!("rule: {}", rule.spec),
            conditions,
            used,
            rule,
        })
    }

    /// Returns whether the rule decides the call, with this effect.
    pub(super) fn decides(&self, effect: Effect, facts: &Facts<'_>, now: Timestamp) -> bool {
        self.rule.spec.effect == Some(effect)
            && !self.is_suspended(facts)
            && self.fits(facts, now, Sure::of(Some(effect)))
    }

    pub(super) fn is_about_the_result_of(&self, facts: &Facts<'_>, now: Timestamp) -> bool {
        self.rule.spec.result.is_some() && self.fits(facts, now, Sure::of(None))
    }

    /// Returns whether the rule would allow the call if nothing had changed since the rule was
    /// made.
    pub(super) fn would_allow(&self, facts: &Facts<'_>, now: Timestamp) -> bool {
        self.rule.spec.effect == Some(Effect::Allow)
            && self.is_suspended(facts)
            && self.fits(facts, now, Sure::Surely)
            && self.left() != Some(0)
    }

    fn is_suspended(&self, facts: &Facts<'_>) -> bool {
        self.rule
            .is_suspended(&facts.server.identity, Some(facts.definition))
    }

    fn fits(&self, facts: &Facts<'_>, now: Timestamp, sure: Sure) -> bool {
        let text = &self.rule.spec;
        let scope = &text.scope;
        scope
            .server
            .as_ref()
            .is_none_or(|server| *server == facts.server.id)
            && scope.tool.as_ref().is_none_or(|tool| tool == facts.tool)
            && scope
                .client
                .as_ref()
                .is_none_or(|client| Some(client) == facts.client)
            && (!text.read_only || facts.annotations.read_only == Some(true))
            && match &text.lifetime {
                Lifetime::Session { session } => Some(session) == facts.session,
                Lifetime::UntilRevoked | Lifetime::Until { .. } | Lifetime::Calls { .. } => {
                    !self.rule.has_ended(now)
                }
            }
            && (self.conditions.is_empty()
                || facts.arguments.is_some_and(|arguments| {
                    self.conditions
                        .hold(arguments, folder_of(facts.server).as_deref(), sure)
                }))
    }

    pub(super) fn is_counted(&self) -> bool {
        matches!(self.rule.spec.lifetime, Lifetime::Calls { .. })
    }

    pub(super) fn left(&self) -> Option<u32> {
        match self.rule.spec.lifetime {
            Lifetime::Calls { count } => {
                Some(count.saturating_sub(self.used.load(Ordering::Relaxed)))
            }
            Lifetime::UntilRevoked | Lifetime::Until { .. } | Lifetime::Session { .. } => None,
        }
    }

    /// Counts a call. Returns `false` if the rule has no calls left.
    pub(super) fn take(&self) -> bool {
        let Lifetime::Calls { count } = self.rule.spec.lifetime else {
            return true;
        };
        let one_more = |used: u32| (used < count).then_some(used + 1);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok()
    }

    /// Returns the rule with its current count.
    pub(super) fn current(&self) -> Arc<Rule> {
        match self.used.load(Ordering::Relaxed) {
            used if used == self.rule.used => self.rule.clone(),
            used => Arc::new(Rule {
                used,
                ..(*self.rule).clone()
            }),
        }
    }
}

/// All rules, indexed by server.
#[derive(Debug, Default)]
pub(super) struct RuleSet {
    all: Vec<Compiled>,
    /// Indices into `all` of the rules about one server, in order.
    by_server: HashMap<ServerId, Vec<usize>>,
    of_all_servers: Vec<usize>,
}

impl RuleSet {
    /// Compiles the rules and takes over the counts of `before`. If a rule cannot be compiled any
    /// more, it denies everything in its scope.
    pub(super) fn new(rules: Vec<Rule>, before: Option<&Self>) -> Self {
        let counted: HashMap<&RuleId, &Arc<AtomicU32>> = before
            .iter()
            .flat_map(|before| &before.all)
            .map(|rule| (&rule.rule.id, &rule.used))
            .collect();
        let mut set = Self::default();
        for rule in rules {
            let compiled = Compiled::new(Arc::new(rule.clone())).unwrap_or_else(|why| {
                tracing::error!(
                    "the rule {} is broken and denies all that it is about: {why}",
                    rule.id
                );
                Compiled::broken(rule)
            });
            let used = counted
                .get(&compiled.rule.id)
                .map_or_else(|| compiled.used.clone(), |used| (*used).clone());
            let at = set.all.len();
            match &compiled.rule.spec.scope.server {
                Some(server) => set.by_server.entry(server.clone()).or_default().push(at),
                None => set.of_all_servers.push(at),
            }
            set.all.push(Compiled { used, ..compiled });
        }
        set
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Compiled> {
        self.all.iter()
    }

    /// Returns the rule that decides a call, if there is one: deny beats allow beats ask. A rule
    /// without a limit is preferred, so that no limited rule is used up needlessly.
    pub(super) fn ruling(
        &self,
        facts: &Facts<'_>,
        now: Timestamp,
        take: impl Fn(&Compiled) -> bool,
    ) -> Option<(Effect, &Compiled)> {
        [Effect::Deny, Effect::Allow, Effect::Ask]
            .into_iter()
            .find_map(|effect| {
                let matching = || {
                    self.of(&facts.server.id)
                        .filter(|rule| rule.decides(effect, facts, now))
                };
                let lasting = matching().find(|rule| !rule.is_counted());
                lasting
                    .or_else(|| matching().find(|rule| take(rule)))
                    .map(|rule| (effect, rule))
            })
    }

    /// Returns the rules that may apply to a server.
    pub(super) fn of(&self, server: &ServerId) -> impl Iterator<Item = &Compiled> {
        let own = self.by_server.get(server).into_iter().flatten();
        own.chain(&self.of_all_servers).map(|at| &self.all[*at])
    }
}

impl Compiled {
    fn broken(mut rule: Rule) -> Self {
        rule.spec.conditions.clear();
        rule.spec.effect = Some(Effect::Deny);
        let words = format!("a broken rule denies: {}", rule.spec);
        Self {
            words,
            conditions: Conditions::default(),
            used: Arc::default(),
            rule: Arc::new(rule),
        }
    }
}
