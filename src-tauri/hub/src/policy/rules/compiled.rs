//! Compiled rules, which are matched against requests.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use drawbridge_model::{
    ids::{RuleId, ServerId, UserName},
    policy::{DefaultEffects, Effect, Lifetime, Rule},
};

use super::{DecidedBy, MatchInput, Ruling, Timestamp};
use crate::policy::conditions::{ConditionError, Conditions, Folders, MatchMode, working_dir};

/// A request, and the other facts on which rules depend.
pub(super) struct MatchContext<'a> {
    pub(super) input: &'a MatchInput<'a>,
    /// The user to whom the client belongs. `None` if there is no such client, or if no rule needs
    /// the user.
    pub(super) user: Option<UserName>,
    pub(super) now: Timestamp,
}

/// A rule with its compiled conditions.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Arc<Rule>,
    pub(super) reason: String,
    conditions: Conditions,
    /// The number of calls that the rule has decided, if it is limited to a number. The count
    /// survives a reload of the rules.
    used: Arc<AtomicU32>,
}

impl CompiledRule {
    /// Compiles a rule.
    ///
    /// # Errors
    /// Returns an error if a condition is invalid.
    pub(super) fn new(rule: Arc<Rule>) -> Result<Self, ConditionError> {
        let conditions = Conditions::compile(&rule.spec.conditions)?;
        let used = Arc::new(AtomicU32::new(rule.used));
        Ok(Self {
            reason: format!("rule: {}", rule.spec),
            conditions,
            used,
            rule,
        })
    }

    /// Returns whether the rule decides the request with this effect. Does not check whether the
    /// rule has calls left.
    pub(super) fn decides(&self, effect: Effect, context: &MatchContext<'_>) -> bool {
        self.rule.spec.effect == Some(effect)
            && !self.is_suspended(context.input)
            && self.matches(context, MatchMode::for_effect(Some(effect)))
    }

    pub(super) fn matches_result(&self, context: &MatchContext<'_>) -> bool {
        self.rule.spec.result.is_some() && self.matches(context, MatchMode::for_effect(None))
    }

    /// Returns whether the rule would allow the call if nothing had changed since the rule was
    /// made.
    pub(super) fn would_allow(&self, context: &MatchContext<'_>) -> bool {
        self.rule.spec.effect == Some(Effect::Allow)
            && self.is_suspended(context.input)
            && self.matches(context, MatchMode::Must)
            && self.remaining_calls() != Some(0)
    }

    fn is_suspended(&self, input: &MatchInput<'_>) -> bool {
        self.rule
            .is_suspended(&input.server.identity, Some(input.definition_digest))
    }

    fn matches(&self, context: &MatchContext<'_>, mode: MatchMode) -> bool {
        let input = context.input;
        let spec = &self.rule.spec;
        let scope = &spec.scope;
        !spec.disabled
            && spec.covers(input.kind)
            && scope
                .server
                .as_ref()
                .is_none_or(|server| *server == input.server.id)
            && scope.tool.as_ref().is_none_or(|tool| tool == input.tool)
            && scope
                .client
                .as_ref()
                .is_none_or(|client| Some(client) == input.client)
            && (scope.user.is_none() || scope.user == context.user)
            && (!spec.read_only || input.annotations.read_only == Some(true))
            && match &spec.lifetime {
                Lifetime::Session { session } => Some(session) == input.session,
                Lifetime::UntilDeleted | Lifetime::Until { .. } | Lifetime::Calls { .. } => {
                    !self.rule.has_ended(context.now)
                }
            }
            && (self.conditions.is_empty()
                || input.arguments.is_some_and(|arguments| {
                    let cwd = working_dir(input.server);
                    let folders = Folders {
                        cwd: cwd.as_deref(),
                        project: input.project,
                    };
                    self.conditions.all_hold(arguments, folders, mode)
                }))
    }

    pub(super) fn is_counted(&self) -> bool {
        matches!(self.rule.spec.lifetime, Lifetime::Calls { .. })
    }

    pub(super) fn remaining_calls(&self) -> Option<u32> {
        match self.rule.spec.lifetime {
            Lifetime::Calls { count } => {
                Some(count.saturating_sub(self.used.load(Ordering::Relaxed)))
            }
            Lifetime::UntilDeleted | Lifetime::Until { .. } | Lifetime::Session { .. } => None,
        }
    }

    /// Returns the ruling that the rule gives.
    pub(super) fn ruling(&self, effect: Effect) -> Ruling {
        Ruling {
            effect,
            decided_by: DecidedBy::Rule,
            rule: Some(self.rule.id.clone()),
            reason: self.reason.clone(),
            is_counted: self.is_counted(),
        }
    }

    /// Counts a call. Returns `false` if the rule has no calls left.
    pub(super) fn count_call(&self) -> bool {
        let Lifetime::Calls { count } = self.rule.spec.lifetime else {
            return true;
        };
        let increment = |used: u32| (used < count).then_some(used + 1);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, increment)
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

/// All rules, indexed by server, and the defaults.
#[derive(Debug)]
pub(super) struct RuleSet {
    /// The effect on requests that no rule matches, for each kind.
    pub(super) defaults: DefaultEffects,
    /// Whether a rule is limited to a user.
    pub(super) needs_user: bool,
    all: Vec<CompiledRule>,
    /// Indices into `all` of the rules about one server, in order.
    by_server: HashMap<ServerId, Vec<usize>>,
    for_all_servers: Vec<usize>,
}

impl RuleSet {
    /// Compiles the rules and takes over the counts of `previous`. If a rule can no longer be
    /// compiled, it denies everything in its scope.
    pub(super) fn new(rules: Vec<Rule>, defaults: DefaultEffects, previous: Option<&Self>) -> Self {
        let previous: HashMap<&RuleId, &CompiledRule> = previous
            .iter()
            .flat_map(|previous| &previous.all)
            .map(|rule| (&rule.rule.id, rule))
            .collect();
        let mut set = Self {
            defaults,
            needs_user: rules.iter().any(|rule| rule.spec.scope.user.is_some()),
            all: Vec::new(),
            by_server: HashMap::new(),
            for_all_servers: Vec::new(),
        };
        for rule in rules {
            let compiled = CompiledRule::new(Arc::new(rule.clone())).unwrap_or_else(|error| {
                tracing::error!(
                    "rule {} is invalid and denies everything in its scope: {error}",
                    rule.id
                );
                CompiledRule::invalid(rule)
            });
            // The count of an edited rule starts again.
            let used = previous
                .get(&compiled.rule.id)
                .filter(|before| before.rule.spec == compiled.rule.spec)
                .map_or_else(|| compiled.used.clone(), |before| before.used.clone());
            let index = set.all.len();
            match &compiled.rule.spec.scope.server {
                Some(server) => set.by_server.entry(server.clone()).or_default().push(index),
                None => set.for_all_servers.push(index),
            }
            set.all.push(CompiledRule { used, ..compiled });
        }
        set
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &CompiledRule> {
        self.all.iter()
    }

    /// Returns the rule that decides a call, if there is one: deny beats allow beats ask. A rule
    /// without a limit is preferred, so that no limited rule is used up needlessly. `count_call`
    /// returns whether a limited rule has a call left, and may count the call.
    pub(super) fn ruling(
        &self,
        context: &MatchContext<'_>,
        count_call: impl Fn(&CompiledRule) -> bool,
    ) -> Option<(Effect, &CompiledRule)> {
        [Effect::Deny, Effect::Allow, Effect::Ask]
            .into_iter()
            .find_map(|effect| Some((effect, self.find_rule(effect, context, &count_call)?)))
    }

    /// Returns the rule that gives a call this effect, if there is one.
    pub(super) fn find_rule(
        &self,
        effect: Effect,
        context: &MatchContext<'_>,
        count_call: impl Fn(&CompiledRule) -> bool,
    ) -> Option<&CompiledRule> {
        let matching = || {
            self.for_server(&context.input.server.id)
                .filter(|rule| rule.decides(effect, context))
        };
        let unlimited = matching().find(|rule| !rule.is_counted());
        unlimited.or_else(|| matching().find(|rule| count_call(rule)))
    }

    /// Returns the rules that may apply to a server.
    pub(super) fn for_server(&self, server: &ServerId) -> impl Iterator<Item = &CompiledRule> {
        let for_server = self.by_server.get(server).into_iter().flatten();
        for_server
            .chain(&self.for_all_servers)
            .map(|index| &self.all[*index])
    }
}

impl CompiledRule {
    /// Returns a rule that denies everything in the scope of a rule that cannot be compiled.
    fn invalid(mut rule: Rule) -> Self {
        rule.spec.conditions.clear();
        rule.spec.read_only = false;
        rule.spec.effect = Some(Effect::Deny);
        // A limit on the number of calls would end the denial.
        if matches!(rule.spec.lifetime, Lifetime::Calls { .. }) {
            rule.spec.lifetime = Lifetime::UntilDeleted;
        }
        let reason = format!("invalid rule: {}", rule.spec);
        Self {
            reason,
            conditions: Conditions::default(),
            used: Arc::default(),
            rule: Arc::new(rule),
        }
    }
}
