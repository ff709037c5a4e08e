//! Rules: each rule allows requests, denies them or asks a person about them, or it masks or holds
//! results. Deny beats allow beats ask; if no rule matches, the default applies. Rules are compiled
//! once and indexed by server.

mod compiled;

use std::{path::Path, sync::Arc};

use arc_swap::ArcSwap;
use drawbridge_model::{
    audit::AuditKind,
    call::DecidedBy,
    clock,
    event::{Event, Events},
    ids::{ClientName, RuleId, ServerId, SessionId, Timestamp},
    policy::{DefaultEffects, Effect, RequestKind, ResultEffect, Rule, Scope},
    spec::RegisteredServer,
    tool::Annotations,
};
use drawbridge_store::{
    JournalError, Store, StoreError,
    settings::{Settings, SettingsChange},
    table::rule::{NewRule, RuleChange, RuleNote},
};
use serde::Serialize;
use serde_json::{json, value::RawValue};

use super::conditions::ConditionError;
use crate::access::Access;
use compiled::{CompiledRule, MatchContext, RuleSet};

/// The properties of a request against which rules are matched.
#[derive(Clone, Copy)]
pub struct MatchInput<'a> {
    pub kind: RequestKind,
    /// If `None`, rules for a particular client or user do not match.
    pub client: Option<&'a ClientName>,
    pub session: Option<&'a SessionId>,
    /// The project folder in which the client works, if it works in one.
    pub project: Option<&'a Path>,
    pub server: &'a RegisteredServer,
    /// The server's own name of the tool; empty if the request is of another kind.
    pub tool: &'a str,
    /// The digest of the definition of the tool, prompt, resource or template; empty if there is
    /// none.
    pub definition_digest: &'a str,
    pub annotations: &'a Annotations,
    /// The arguments of a call, or the params of another request. If `None`, rules with conditions
    /// do not match.
    pub arguments: Option<&'a RawValue>,
}

impl<'a> MatchInput<'a> {
    /// Returns an input for a tool call that Drawbridge itself makes for a client. Rules that
    /// depend on the session, the project or a read-only tool do not match this input, nor do allow
    /// rules that are bound to a definition.
    pub fn of_tool(
        client: &'a ClientName,
        server: &'a RegisteredServer,
        tool: &'a str,
        arguments: &'a RawValue,
    ) -> Self {
        Self {
            tool,
            arguments: Some(arguments),
            ..Self::of_kind(RequestKind::Tools, client, server)
        }
    }

    /// Returns an input for any request of this kind between this client and this server. Rules
    /// that depend on the tool, its annotations, the session or the arguments do not match the
    /// input.
    fn of_kind(kind: RequestKind, client: &'a ClientName, server: &'a RegisteredServer) -> Self {
        Self {
            kind,
            client: Some(client),
            session: None,
            project: None,
            server,
            tool: "",
            definition_digest: "",
            annotations: &Annotations::NONE,
            arguments: None,
        }
    }
}

/// The effect of the rules or the default on a request, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub effect: Effect,
    pub decided_by: DecidedBy,
    /// The rule that decided, if a rule did.
    pub rule: Option<RuleId>,
    /// The rule in words, or the statement that no rule matches.
    pub reason: String,
    /// Whether the rule is limited to a number of calls, and this call counts towards the limit.
    pub is_counted: bool,
}

/// The rules. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    store: Store,
    settings: Settings,
    events: Events,
    /// Finds the user to whom a client belongs.
    access: Arc<Access>,
    rules: Arc<ArcSwap<RuleSet>>,
    /// Held from writing a change to publishing the new rules, so that older rules never replace
    /// newer rules.
    write_lock: Arc<tokio::sync::Mutex<()>>,
}

/// The reason why the rules could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error(transparent)]
    Condition(#[from] ConditionError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Rules {
    /// Reads the rules. Rules that have expired, whose calls are used up, or that were limited to a
    /// session are deleted first.
    ///
    /// # Errors
    /// Returns an error if the store cannot be used.
    pub async fn load(
        store: Store,
        settings: Settings,
        events: Events,
        access: Arc<Access>,
    ) -> Result<Self, RuleError> {
        let ended = RuleChange::DeleteEnded(clock::now());
        store.journal().change_rules(ended, None).await?;
        let rules = store.rules().await?;
        let rules = RuleSet::new(rules, settings.get().default_effects(), None);
        Ok(Self {
            store,
            settings,
            events,
            access,
            rules: Arc::new(ArcSwap::from_pointee(rules)),
            write_lock: Arc::default(),
        })
    }

    /// Returns the ruling for a call. If the rule is limited to a number of calls, this call is
    /// counted.
    pub fn decide(&self, input: &MatchInput<'_>) -> Ruling {
        self.ruling(input, CompiledRule::count_call)
    }

    /// Returns the ruling for a call without counting it.
    pub fn evaluate(&self, input: &MatchInput<'_>) -> Ruling {
        self.ruling(input, |rule| rule.remaining_calls() != Some(0))
    }

    fn ruling(&self, input: &MatchInput<'_>, count_call: impl Fn(&CompiledRule) -> bool) -> Ruling {
        let rules = self.rules.load();
        match rules.ruling(&self.context(&rules, input), count_call) {
            Some((effect, rule)) => rule.ruling(effect),
            None => Ruling {
                effect: rules.defaults.get(input.kind),
                decided_by: DecidedBy::Default,
                rule: None,
                reason: "default policy, because no rule matches".into(),
                is_counted: false,
            },
        }
    }

    /// Returns whether a rule or the default denies every request of this kind between this client
    /// and this server, whatever the request's arguments are.
    pub fn denies_all(
        &self,
        kind: RequestKind,
        client: &ClientName,
        server: &RegisteredServer,
    ) -> bool {
        self.evaluate(&MatchInput::of_kind(kind, client, server))
            .effect
            == Effect::Deny
    }

    /// Returns whether rules deny requests of every kind between this client and this server.
    pub fn denies_everything(&self, client: &ClientName, server: &RegisteredServer) -> bool {
        RequestKind::ALL.iter().all(|kind| {
            let input = MatchInput::of_kind(*kind, client, server);
            self.find_denial(&input).is_some()
        })
    }

    /// Returns the ruling if a rule denies the request. The request is not counted.
    pub fn find_denial(&self, input: &MatchInput<'_>) -> Option<Ruling> {
        let has_calls = |rule: &CompiledRule| rule.remaining_calls() != Some(0);
        let rules = self.rules.load();
        let context = self.context(&rules, input);
        let rule = rules.find_rule(Effect::Deny, &context, has_calls)?;
        Some(rule.ruling(Effect::Deny))
    }

    /// Returns the strictest effect that a rule has on the result of the call, and the rule in
    /// words. Returns `None` if no rule has an effect on the result.
    pub fn result_effect(&self, input: &MatchInput<'_>) -> Option<(ResultEffect, String)> {
        let rules = self.rules.load();
        let context = self.context(&rules, input);
        let matching = rules
            .for_server(&input.server.id)
            .filter(|rule| rule.matches_result(&context));
        let effects = matching.filter_map(|rule| Some((rule.rule.spec.result?, rule)));
        effects
            .max_by_key(|(effect, _)| *effect)
            .map(|(effect, rule)| (effect, rule.reason.clone()))
    }

    /// Returns the allow rule that would match if its server and its tool had not changed since the
    /// rule was made.
    pub fn find_suspended_allow(&self, input: &MatchInput<'_>) -> Option<Arc<Rule>> {
        let rules = self.rules.load();
        let context = self.context(&rules, input);
        rules
            .for_server(&input.server.id)
            .find(|rule| rule.would_allow(&context))
            .map(|rule| rule.current())
    }

    /// Adds the client's user and the time to an input. Looks the user up only if a rule needs the
    /// user.
    fn context<'a>(&self, rules: &RuleSet, input: &'a MatchInput<'a>) -> MatchContext<'a> {
        let client = input.client.filter(|_| rules.needs_user);
        MatchContext {
            input,
            user: client.and_then(|client| self.access.find_user(client)),
            now: clock::now(),
        }
    }

    /// Returns all rules that have not ended, oldest first, with their current counts. Disabled
    /// rules are among them.
    pub fn list(&self) -> Vec<Arc<Rule>> {
        let now = clock::now();
        self.rules
            .load()
            .all()
            .map(CompiledRule::current)
            .filter(|rule| !rule.has_ended(now))
            .collect()
    }

    /// Returns the effect of the plain rule whose scope is exactly this tool, for all clients and
    /// users. Returns `None` if there is no such rule, or if the rule is disabled.
    pub fn plain_tool_effect(&self, server: &ServerId, tool: &str) -> Option<Effect> {
        let rules = self.rules.load();
        let is_plain_tool_rule = |rule: &&CompiledRule| {
            let scope = &rule.rule.spec.scope;
            scope.tool.as_deref() == Some(tool)
                && !rule.rule.spec.disabled
                && scope.client.is_none()
                && scope.user.is_none()
                && rule.rule.spec.is_plain()
        };
        rules
            .for_server(server)
            .find(is_plain_tool_rule)
            .and_then(|rule| rule.rule.spec.effect)
    }

    /// Adds a rule, or replaces the rule that has the same id. A plain rule (`RuleSpec::is_plain`)
    /// also replaces the plain rule of the same scope.
    ///
    /// # Errors
    /// Returns an error if a condition is invalid or the store fails. The previous rules then stay
    /// in force until the rules are read again.
    pub async fn save_rule(&self, rule: Rule) -> Result<(), RuleError> {
        let writer = self.writer().await;
        Self::check_conditions(&rule)?;
        let new_rule = writer.prepare(&rule);
        self.store.journal().save_rule(new_rule).await?;
        Ok(writer.reload().await?)
    }

    /// Returns a writer for the rules. Waits until no other task changes them.
    pub(super) async fn writer(&self) -> RuleWriter<'_> {
        RuleWriter {
            rules: self,
            _lock: self.write_lock.lock().await,
        }
    }

    /// Checks that the conditions of a rule are valid.
    ///
    /// # Errors
    /// Returns an error if a condition is invalid.
    pub(super) fn check_conditions(rule: &Rule) -> Result<(), ConditionError> {
        CompiledRule::new(Arc::new(rule.clone())).map(drop)
    }

    /// Replaces all rules, and sets the defaults if they are given. Both are in force from the same
    /// moment. `note` serializes to a JSON object, the body of the audit log's entry, to which the
    /// removed rules are added.
    ///
    /// # Errors
    /// Returns an error if a condition is invalid or the store fails. The previous policy then
    /// stays in force until the rules are read again.
    pub async fn replace_all(
        &self,
        rules: Vec<Rule>,
        defaults: Option<DefaultEffects>,
        note: &impl Serialize,
    ) -> Result<(), RuleError> {
        let _guard = self.write_lock.lock().await;
        for rule in &rules {
            Self::check_conditions(rule)?;
        }
        let change = defaults.map_or_else(SettingsChange::default, SettingsChange::default_effects);
        let current = self.rules.load();
        let is_removed = |old: &&CompiledRule| !rules.iter().any(|rule| rule.id == old.rule.id);
        let removed = current.all().filter(is_removed);
        let note = to_note(&ReplacementNote {
            note,
            removed: removed.map(|old| RuleNote::new(&old.rule)).collect(),
        });
        let journal = self.store.journal();
        let write = |settings| async move { journal.replace_rules(rules, settings, note).await };
        self.settings.change_with(change, write).await?;
        Ok(self.reload().await?)
    }

    /// Sets the effect on requests of a kind that no rule matches.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn set_default(&self, kind: RequestKind, effect: Effect) -> Result<(), RuleError> {
        let _guard = self.write_lock.lock().await;
        let before = self.default_effects().get(kind);
        self.settings
            .change(SettingsChange::default_effect(kind, effect))
            .await?;
        let note = json!({ "kind": kind, "default": effect, "before": before });
        self.store.append_audit(AuditKind::PolicyChanged, &note);
        Ok(self.reload().await?)
    }

    /// Returns the effect on requests that no rule matches, for each kind.
    pub fn default_effects(&self) -> DefaultEffects {
        self.rules.load().defaults
    }

    /// Deletes a rule. Returns whether the rule existed.
    ///
    /// # Errors
    /// Returns an error if the store fails. The rule then stays in force until the rules are read
    /// again.
    pub async fn delete(&self, id: &RuleId) -> Result<bool, RuleError> {
        self.delete_matching(RuleChange::Delete(id.clone()), |rule| rule.id == *id)
            .await
    }

    /// Deletes all rules of exactly this scope, with or without conditions. Returns whether there
    /// was at least one rule.
    ///
    /// # Errors
    /// Returns an error if the store fails. The rules then stay in force until they are read again.
    pub async fn delete_in_scope(&self, scope: &Scope) -> Result<bool, RuleError> {
        let change = RuleChange::DeleteInScope(scope.clone());
        self.delete_matching(change, |rule| rule.spec.scope == *scope)
            .await
    }

    /// Makes a change that deletes the rules for which `is_deleted` holds. The audit log's entry
    /// lists these rules. Returns whether there was at least one rule.
    async fn delete_matching(
        &self,
        change: RuleChange,
        is_deleted: impl Fn(&Rule) -> bool,
    ) -> Result<bool, RuleError> {
        let _guard = self.write_lock.lock().await;
        let current = self.rules.load();
        let deleted: Vec<_> = current
            .all()
            .filter(|rule| is_deleted(&rule.rule))
            .map(|rule| RuleNote::new(&rule.rule))
            .collect();
        let has_rules = !deleted.is_empty();
        let note = has_rules.then(|| to_note(&RemovalNote::new(&change, deleted)));
        self.store.journal().change_rules(change, note).await?;
        self.reload().await?;
        Ok(has_rules)
    }

    /// Enables or disables a rule. Its bindings to its server and its tool stay as they are.
    ///
    /// # Errors
    /// Returns an error if the store fails. The rule then stays as it is until the rules are read
    /// again.
    pub async fn set_enabled(&self, id: &RuleId, enabled: bool) -> Result<(), RuleError> {
        let _guard = self.write_lock.lock().await;
        let (change, note) = if enabled {
            (RuleChange::Enable(id.clone()), json!({ "enabled": id }))
        } else {
            (RuleChange::Disable(id.clone()), json!({ "disabled": id }))
        };
        let note = Some(to_note(&note));
        self.store.journal().change_rules(change, note).await?;
        Ok(self.reload().await?)
    }

    /// Binds rules to definitions, given by their digests.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(super) async fn bind_to_definitions(
        &self,
        rules: Vec<(RuleId, String)>,
    ) -> Result<(), RuleError> {
        self.apply_change(RuleChange::BindToDefinitions(rules))
            .await
    }

    /// Binds the rules of a server to the identity that a person has accepted. Allow rules that
    /// were suspended because the identity had changed match again.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn bind_to_identity(
        &self,
        server: &ServerId,
        identity: &str,
    ) -> Result<(), RuleError> {
        let (server, identity) = (server.clone(), identity.to_owned());
        self.apply_change(RuleChange::BindToIdentity { server, identity })
            .await
    }

    /// Deletes every rule about a server.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn delete_for_server(&self, server: &ServerId) -> Result<(), RuleError> {
        let is_deleted = |rule: &Rule| rule.spec.scope.server.as_ref() == Some(server);
        self.delete_matching(RuleChange::DeleteForServer(server.clone()), is_deleted)
            .await
            .map(drop)
    }

    /// Deletes every rule about a client.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn delete_for_client(&self, client: &ClientName) -> Result<(), RuleError> {
        let is_deleted = |rule: &Rule| rule.spec.scope.client.as_ref() == Some(client);
        self.delete_matching(RuleChange::DeleteForClient(client.clone()), is_deleted)
            .await
            .map(drop)
    }

    /// Makes a change that follows from another change. Only the other change has an entry in the
    /// audit log.
    async fn apply_change(&self, change: RuleChange) -> Result<(), RuleError> {
        let _guard = self.write_lock.lock().await;
        self.store.journal().change_rules(change, None).await?;
        Ok(self.reload().await?)
    }

    async fn reload(&self) -> Result<(), StoreError> {
        let rules = self.store.rules().await?;
        let defaults = self.settings.get().default_effects();
        let new = RuleSet::new(rules, defaults, Some(&self.rules.load()));
        self.rules.store(Arc::new(new));
        self.events.publish(Event::PolicyChanged);
        Ok(())
    }
}

/// The body of the audit log's entry about removed rules, with the scope, server or client that
/// they had in common.
#[derive(Serialize)]
struct RemovalNote<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a ServerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a ClientName>,
    removed: Vec<RuleNote<'a>>,
}

impl<'a> RemovalNote<'a> {
    fn new(change: &'a RuleChange, removed: Vec<RuleNote<'a>>) -> Self {
        let mut note = Self {
            scope: None,
            server: None,
            client: None,
            removed,
        };
        match change {
            RuleChange::DeleteInScope(scope) => note.scope = Some(scope),
            RuleChange::DeleteForServer(server) => note.server = Some(server),
            RuleChange::DeleteForClient(client) => note.client = Some(client),
            RuleChange::Delete(_)
            | RuleChange::Enable(_)
            | RuleChange::Disable(_)
            | RuleChange::DeleteEnded(_)
            | RuleChange::BindToIdentity { .. }
            | RuleChange::BindToDefinitions(_) => {}
        }
        note
    }
}

/// The body of the audit log's entry about rules that replace all other rules.
#[derive(Serialize)]
struct ReplacementNote<'a, N> {
    #[serde(flatten)]
    note: &'a N,
    removed: Vec<RuleNote<'a>>,
}

fn to_note(note: &impl Serialize) -> String {
    serde_json::to_string(note).expect("notes are plain data")
}

/// The exclusive right to change the rules: no other task changes them while this value exists.
pub(super) struct RuleWriter<'a> {
    rules: &'a Rules,
    _lock: tokio::sync::MutexGuard<'a, ()>,
}

impl RuleWriter<'_> {
    /// Returns a rule for the store, with the rules that it replaces: rules that have ended, and
    /// for a plain rule the plain rule of the same scope.
    pub(super) fn prepare(&self, rule: &Rule) -> NewRule {
        let now = clock::now();
        let is_replaced = |known: &Rule| {
            known.has_ended(now)
                || (rule.spec.is_plain()
                    && known.spec.is_plain()
                    && known.spec.scope == rule.spec.scope)
        };
        let current = self.rules.rules.load();
        let replaced = current
            .all()
            .map(CompiledRule::current)
            .filter(|known| is_replaced(known) && known.id != rule.id);
        NewRule {
            rule: rule.clone(),
            replaced: replaced.map(|rule| rule.id.clone()).collect(),
        }
    }

    /// Reads the stored rules, which are in force from then on.
    ///
    /// # Errors
    /// Returns an error if the store fails. The previous rules then stay in force.
    pub(super) async fn reload(&self) -> Result<(), StoreError> {
        self.rules.reload().await
    }
}

#[cfg(test)]
mod tests;
