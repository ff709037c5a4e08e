//! What may happen to a call, and which calls a rule is about.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::ids::{ClientName, RuleId, ServerId, SessionId, Timestamp};

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Allow,
    Deny,
    Ask,
}

/// What happens to the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ResultEffect {
    /// Secrets in it are masked.
    Mask,
    /// A person sees it before the client does.
    Hold,
}

/// Which calls a rule is about. What is not given holds for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Scope {
    #[serde(default)]
    pub server: Option<ServerId>,
    /// The server's own name of the tool; only together with `server`.
    #[serde(default)]
    pub tool: Option<String>,
    #[serde(default)]
    pub client: Option<ClientName>,
}

/// JSON as it was written: a number keeps its digits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(type = "unknown"))]
pub struct Literal(pub String);

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::json::raw(self.0.clone()).serialize(serializer)
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

/// What a value among the arguments must be. All but `equals` look into a list: an allow wants each entry to fit, a
/// deny one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The same JSON value; numbers by their value, as written.
    Equals(Literal),
    /// One of these JSON values.
    OneOf(Vec<Literal>),
    /// A path that is this folder or in it, once `..` and links are resolved.
    PathWithin(String),
    /// A URL of this host; `*.example.com` is each host under it.
    Host(String),
    /// A number from `min` to `max`, both included.
    Between {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<Literal>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<Literal>,
    },
    /// A text that fits this regular expression from its beginning to its end; `.` is a line break too.
    Matches(String),
}

/// What a rule asks of the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Condition {
    /// JSON pointer (RFC 6901) into the arguments, such as `/path`.
    pub pointer: String,
    pub is: Test,
}

/// How long a rule holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Life {
    #[default]
    UntilRevoked,
    Until {
        at: Timestamp,
    },
    /// Until this client session ends.
    Session {
        session: SessionId,
    },
    /// For so many calls.
    Calls {
        count: u32,
    },
}

/// A rule as a person writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuleText {
    #[serde(flatten)]
    pub scope: Scope,
    /// Only tools of which their server says that they change nothing.
    #[serde(default)]
    pub read_only: bool,
    /// All must hold.
    #[serde(default)]
    pub when: Vec<Condition>,
    /// What happens to the call; none leaves that to other rules.
    #[serde(default)]
    pub effect: Option<Effect>,
    /// What happens to its result; none leaves that to other rules.
    #[serde(default)]
    pub result: Option<ResultEffect>,
    #[serde(default)]
    pub life: Life,
    /// The user's words about it.
    #[serde(default)]
    pub note: String,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub id: RuleId,
    pub text: RuleText,
    /// The server's identity when the rule was made; an allow holds for that one only.
    pub identity: Option<String>,
    /// The digest of the tool's definition when the rule was made; an allow holds for that one only.
    pub definition: Option<String>,
    pub created_at: Timestamp,
    /// How many calls it decided, where it holds for a number of calls.
    pub used: u32,
}

impl Rule {
    /// Whether an allow no longer fits what it was given for. A deny always fits.
    pub fn is_suspended(&self, identity: &str, definition: Option<&str>) -> bool {
        self.text.effect == Some(Effect::Allow)
            && (self
                .identity
                .as_deref()
                .is_some_and(|accepted| accepted != identity)
                || self
                    .definition
                    .as_deref()
                    .is_some_and(|accepted| definition.is_some_and(|now| now != accepted)))
    }

    /// How many calls it may still decide; none for no bound.
    pub fn left(&self) -> Option<u32> {
        match self.text.life {
            Life::Calls { count } => Some(count.saturating_sub(self.used)),
            Life::UntilRevoked | Life::Until { .. } | Life::Session { .. } => None,
        }
    }

    /// Whether its time is over, or its calls are used up.
    pub fn is_over(&self, now: Timestamp) -> bool {
        match self.text.life {
            // A clock that was set back must not make a rule live longer.
            Life::Until { at } => now < self.created_at || at <= now,
            Life::Calls { .. } => self.left() == Some(0),
            Life::UntilRevoked | Life::Session { .. } => false,
        }
    }
}

impl RuleText {
    /// Whether a policy in the plain sense: it asks nothing of the arguments and holds until revoked.
    pub fn is_plain(&self) -> bool {
        self.when.is_empty()
            && !self.read_only
            && self.result.is_none()
            && self.life == Life::UntilRevoked
    }
}

/// The rule in words, in one line.
impl fmt::Display for RuleText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match (self.effect, self.result) {
            (Some(Effect::Allow), None) => "allow",
            (Some(Effect::Deny), _) => "deny",
            (Some(Effect::Ask), None) => "ask for",
            (Some(Effect::Allow), Some(ResultEffect::Mask)) => {
                "allow, and mask secrets in the results of,"
            }
            (Some(Effect::Allow), Some(ResultEffect::Hold)) => "allow, and show me the results of,",
            (Some(Effect::Ask), Some(ResultEffect::Mask)) => {
                "ask for, and mask secrets in the results of,"
            }
            (Some(Effect::Ask), Some(ResultEffect::Hold)) => "ask for, and show me the results of,",
            (None, Some(ResultEffect::Mask)) => "mask secrets in the results of",
            (None, Some(ResultEffect::Hold)) => "show me the results of",
            (None, None) => "do nothing about",
        };
        let kind = if self.read_only {
            "read-only tools"
        } else {
            "all tools"
        };
        match (&self.scope.server, &self.scope.tool) {
            (Some(server), Some(tool)) => write!(f, "{effect} {tool} of {server}")?,
            (Some(server), None) => write!(f, "{effect} {kind} of {server}")?,
            (None, _) => write!(f, "{effect} {kind}")?,
        }
        if let Some(client) = &self.scope.client {
            write!(f, " for {client}")?;
        }
        for (at, condition) in self.when.iter().enumerate() {
            write!(f, " {} {condition}", if at == 0 { "where" } else { "and" })?;
        }
        match &self.life {
            Life::UntilRevoked => Ok(()),
            Life::Until { .. } => f.write_str(" for a while"),
            Life::Session { .. } => f.write_str(" in this session"),
            Life::Calls { count: 1 } => f.write_str(" once"),
            Life::Calls { count } => write!(f, " for {count} calls"),
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
            Test::Equals(value) => write!(f, "{pointer} is {value}"),
            Test::OneOf(values) => {
                write!(f, "{pointer} is one of ")?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if at == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Test::PathWithin(folder) => write!(f, "{pointer} is in {folder}"),
            Test::Host(host) => write!(f, "{pointer} is a URL of {host}"),
            Test::Between {
                min: Some(min),
                max: Some(max),
            } => write!(f, "{pointer} is from {min} to {max}"),
            Test::Between {
                min: Some(min),
                max: None,
            } => write!(f, "{pointer} is at least {min}"),
            Test::Between {
                min: None,
                max: Some(max),
            } => write!(f, "{pointer} is at most {max}"),
            Test::Between {
                min: None,
                max: None,
            } => write!(f, "{pointer} is a number"),
            Test::Matches(regex) => write!(f, "{pointer} fits /{regex}/"),
        }
    }
}
