//! The policy: its effects, defaults and rules, and the requests that a rule covers.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

use super::ids::{ClientName, RuleId, ServerId, SessionId, Timestamp, UserName};

/// The effect of the policy on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Allow,
    Deny,
    Ask,
}

/// The effect of the policy on the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ResultEffect {
    /// Secrets in the result are masked.
    Mask,
    /// A person sees the result before the client does.
    Hold,
}

/// The kind of a guarded request. Each kind has its own default, and a rule may cover one kind
/// only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Calls of tools, and requests about the tasks that calls have started.
    Tools,
    /// Prompts, and completions of their arguments.
    Prompts,
    /// Reads of resources, subscriptions to them, and completions of their templates.
    Resources,
    /// Requests of servers for a message from the client's model.
    Sampling,
    /// Requests of servers for input of the user.
    Elicitation,
    /// Requests of servers for the client's folders.
    Roots,
}

/// The effect on requests that no rule matches, for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct DefaultEffects {
    pub tools: Effect,
    pub prompts: Effect,
    pub resources: Effect,
    pub sampling: Effect,
    pub elicitation: Effect,
    pub roots: Effect,
}

impl Default for DefaultEffects {
    fn default() -> Self {
        Self {
            tools: Effect::Ask,
            prompts: Effect::Allow,
            resources: Effect::Allow,
            sampling: Effect::Allow,
            elicitation: Effect::Allow,
            roots: Effect::Allow,
        }
    }
}

impl DefaultEffects {
    pub fn get(&self, kind: RequestKind) -> Effect {
        match kind {
            RequestKind::Tools => self.tools,
            RequestKind::Prompts => self.prompts,
            RequestKind::Resources => self.resources,
            RequestKind::Sampling => self.sampling,
            RequestKind::Elicitation => self.elicitation,
            RequestKind::Roots => self.roots,
        }
    }
}

/// The requests that a rule covers. A field that is `None` matches every request, except for
/// `kind`; see [`RuleSpec::covers`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct Scope {
    #[serde(default)]
    pub server: Option<ServerId>,
    /// The server's own name of the tool; only together with `server`.
    #[serde(default)]
    pub tool: Option<String>,
    #[serde(default)]
    pub client: Option<ClientName>,
    /// The user to whom the client belongs.
    #[serde(default)]
    pub user: Option<UserName>,
    /// The kind of requests; not together with `tool`.
    #[serde(default)]
    pub kind: Option<RequestKind>,
}

/// JSON text as it was written, so that a number keeps its digits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS), ts(type = "unknown"))]
pub struct Literal(pub String);

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.clone())
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.get().to_owned()))
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The predicate of a condition on one value of the arguments. If the value is a list, all
/// predicates but `equals` test its entries: for an allow, every entry has to match; for a deny or
/// an ask, one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Predicate {
    /// The same JSON value. Numbers are compared by their exact value.
    Equals(Literal),
    /// Any of these JSON values.
    OneOf(Vec<Literal>),
    /// A path that is this folder or is inside it, after `..` and links are resolved.
    PathWithin(String),
    /// A URL with this host; `*.example.com` matches every host below `example.com`.
    Host(String),
    /// A number from `min` to `max`, both included.
    Between {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<Literal>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<Literal>,
    },
    /// A string that this regular expression matches from beginning to end; `.` also matches a line
    /// break.
    Matches(String),
}

/// A condition of a rule on the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct Condition {
    /// A JSON pointer (RFC 6901) into the arguments, such as `/path`.
    pub pointer: String,
    pub is: Predicate,
}

/// The lifetime of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Lifetime {
    // Earlier versions stored `until_revoked`.
    #[default]
    #[serde(alias = "until_revoked")]
    UntilDeleted,
    Until {
        at: Timestamp,
    },
    /// Until this client session ends.
    Session {
        session: SessionId,
    },
    /// Until the rule has decided this many calls.
    Calls {
        count: u32,
    },
}

/// A rule as a person writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct RuleSpec {
    #[serde(flatten)]
    pub scope: Scope,
    /// Whether the rule covers only tools that their server marks read-only.
    #[serde(default)]
    pub read_only: bool,
    /// The conditions, all of which have to hold.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The effect on the call; `None` leaves it to other rules.
    #[serde(default)]
    pub effect: Option<Effect>,
    /// The effect on the result; `None` leaves it to other rules.
    #[serde(default)]
    pub result: Option<ResultEffect>,
    #[serde(default)]
    pub lifetime: Lifetime,
    /// The user's note.
    #[serde(default)]
    pub note: String,
    /// Whether a person switched the rule off. The rule then matches nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "bindings", ts(optional, as = "Option<bool>"))]
    pub disabled: bool,
}

/// A rule with its bindings and its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub id: RuleId,
    pub spec: RuleSpec,
    /// The server's identity when the rule was made. An allow applies to this identity only; `None`
    /// stands for any identity.
    pub identity: Option<String>,
    /// The digest of the tool's definition when the rule was made. An allow applies to this
    /// definition only; `None` stands for any definition.
    pub definition_digest: Option<String>,
    pub created_at: Timestamp,
    /// The number of calls that the rule has decided, if its lifetime is a number of calls.
    pub used: u32,
}

impl Rule {
    /// Returns whether this is an allow that was given for another identity or definition. If
    /// `definition_digest` is `None`, only the identity is compared. Other effects are never
    /// suspended.
    pub fn is_suspended(&self, identity: &str, definition_digest: Option<&str>) -> bool {
        self.spec.effect == Some(Effect::Allow)
            && (self
                .identity
                .as_deref()
                .is_some_and(|accepted| accepted != identity)
                || self.definition_digest.as_deref().is_some_and(|accepted| {
                    definition_digest.is_some_and(|current| current != accepted)
                }))
    }

    /// Returns how many more calls the rule may decide, or `None` if there is no bound.
    pub fn remaining(&self) -> Option<u32> {
        match self.spec.lifetime {
            Lifetime::Calls { count } => Some(count.saturating_sub(self.used)),
            Lifetime::UntilDeleted | Lifetime::Until { .. } | Lifetime::Session { .. } => None,
        }
    }

    /// Returns whether the rule has expired or its calls are used up. Does not check whether a
    /// session has ended.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        match self.spec.lifetime {
            // Setting the clock back must not prolong a rule.
            Lifetime::Until { at } => now < self.created_at || at <= now,
            Lifetime::Calls { .. } => self.remaining() == Some(0),
            Lifetime::UntilDeleted | Lifetime::Session { .. } => false,
        }
    }
}

impl RuleSpec {
    /// Returns whether the rule covers requests of this kind. A rule that names no kind covers
    /// calls of tools. If the rule denies, names no tool, has no conditions and is not for
    /// read-only tools only, it covers every kind.
    pub fn covers(&self, kind: RequestKind) -> bool {
        match self.scope.kind {
            Some(only) => only == kind,
            None => kind == RequestKind::Tools || self.denies_all_kinds(),
        }
    }

    fn denies_all_kinds(&self) -> bool {
        self.effect == Some(Effect::Deny)
            && self.scope.kind.is_none()
            && self.scope.tool.is_none()
            && self.conditions.is_empty()
            && !self.read_only
    }

    /// Returns whether the rule consists only of a scope and an effect on calls: it has no
    /// conditions and no effect on results, is not for read-only tools only, and applies until it
    /// is deleted.
    pub fn is_plain(&self) -> bool {
        self.conditions.is_empty()
            && !self.read_only
            && self.result.is_none()
            && self.lifetime == Lifetime::UntilDeleted
    }
}

/// Writes the rule in words, on one line.
impl fmt::Display for RuleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match (self.effect, self.result) {
            (Some(Effect::Allow), None) => "allow",
            (Some(Effect::Deny), _) => "deny",
            (Some(Effect::Ask), None) => "ask about",
            (Some(Effect::Allow), Some(ResultEffect::Mask)) => {
                "allow, and mask secrets in results of,"
            }
            (Some(Effect::Allow), Some(ResultEffect::Hold)) => "allow, and hold results of,",
            (Some(Effect::Ask), Some(ResultEffect::Mask)) => {
                "ask about, and mask secrets in results of,"
            }
            (Some(Effect::Ask), Some(ResultEffect::Hold)) => "ask about, and hold results of,",
            (None, Some(ResultEffect::Mask)) => "mask secrets in results of",
            (None, Some(ResultEffect::Hold)) => "hold results of",
            (None, None) => "no effect on",
        };
        let kind = match self.scope.kind {
            _ if self.read_only => "read-only tools",
            _ if self.denies_all_kinds() => "everything",
            Some(RequestKind::Tools) | None => "all tools",
            Some(RequestKind::Prompts) => "prompts",
            Some(RequestKind::Resources) => "resources",
            Some(RequestKind::Sampling) => "sampling",
            Some(RequestKind::Elicitation) => "elicitation",
            Some(RequestKind::Roots) => "roots",
        };
        match (&self.scope.server, &self.scope.tool) {
            (Some(server), Some(tool)) => write!(f, "{effect} {tool} of {server}")?,
            (Some(server), None) => write!(f, "{effect} {kind} of {server}")?,
            (None, _) => write!(f, "{effect} {kind}")?,
        }
        if let Some(client) = &self.scope.client {
            write!(f, " for {client}")?;
        }
        if let Some(user) = &self.scope.user {
            write!(f, " for clients of {user}")?;
        }
        for (index, condition) in self.conditions.iter().enumerate() {
            write!(f, " {} {condition}", if index == 0 { "if" } else { "and" })?;
        }
        match &self.lifetime {
            Lifetime::UntilDeleted => Ok(()),
            Lifetime::Until { .. } => f.write_str(" for a while"),
            Lifetime::Session { .. } => f.write_str(" in this session"),
            Lifetime::Calls { count: 1 } => f.write_str(" once"),
            Lifetime::Calls { count } => write!(f, " for {count} calls"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() {
            "the arguments"
        } else {
            &self.pointer
        };
        match &self.is {
            Predicate::Equals(value) => write!(f, "{pointer} is {value}"),
            Predicate::OneOf(values) => {
                write!(f, "{pointer} is one of ")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Predicate::PathWithin(folder) => write!(f, "{pointer} is in {folder}"),
            Predicate::Host(host) => write!(f, "{pointer} is a URL of {host}"),
            Predicate::Between {
                min: Some(min),
                max: Some(max),
            } => write!(f, "{pointer} is from {min} to {max}"),
            Predicate::Between {
                min: Some(min),
                max: None,
            } => write!(f, "{pointer} is at least {min}"),
            Predicate::Between {
                min: None,
                max: Some(max),
            } => write!(f, "{pointer} is at most {max}"),
            Predicate::Between {
                min: None,
                max: None,
            } => write!(f, "{pointer} is a number"),
            Predicate::Matches(regex) => write!(f, "{pointer} matches /{regex}/"),
        }
    }
}
