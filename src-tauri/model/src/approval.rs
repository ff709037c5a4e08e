//! Approval requests, and the verdicts of people on them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    content::ContentFlag,
    ids::{CallId, ClientName, RuleId, ServerId, SessionId, Timestamp},
    policy::{Condition, RequestKind},
    protocol::guarded::GuardedMethod,
    tool::Annotations,
};

/// A request or a result that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ApprovalRequest {
    pub id: CallId,
    pub method: GuardedMethod,
    pub kind: RequestKind,
    /// The client that sent the request. For a request of a server, the client that receives it.
    pub client: ClientName,
    pub server: ServerId,
    pub server_name: String,
    /// The project folder in which the client works, if it works in one.
    pub project: Option<String>,
    /// The server's own name of the tool or prompt, the URI of the resource, or empty if the
    /// request names nothing.
    pub tool: String,
    pub tool_title: Option<String>,
    /// The name or URI as the client knows it.
    pub exposed_name: String,
    /// The server's description of the tool, prompt or resource; untrusted text.
    pub description: String,
    pub annotations: Annotations,
    /// The exact JSON text of the arguments, or of the params if this is no call, as it will be
    /// sent.
    pub arguments: String,
    /// The hooks that changed the arguments that the client sent, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "bindings", ts(as = "Option<Vec<String>>", optional))]
    pub request_hooks: Vec<String>,
    /// The params besides the name and the arguments, as JSON text. They are sent too.
    pub extra: Option<String>,
    /// The result as JSON text, if the call has run and its result waits for release. `None` if the
    /// call itself waits.
    pub result: Option<String>,
    /// The flags of suspicious content in the result or, if the call itself waits, in the tool's
    /// definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "bindings", ts(as = "Option<Vec<ContentFlag>>", optional))]
    pub flags: Vec<ContentFlag>,
    /// The model and the provider that answer a server's sampling request, because the client
    /// cannot: "gpt-5-mini at api.openai.com". `None` if the client answers.
    pub sampling_provider: Option<String>,
    /// Whether the person fills in a server's request for input in Drawbridge, because the client
    /// cannot ask the person. The arguments then contain the message, and either the schema of the
    /// form or the URL.
    pub is_filled_in_by_person: bool,
    /// Whether this is the client's first call of the tool. `false` if the history cannot be read.
    pub is_first: bool,
    /// The earlier allow that would apply if the tool and its server had not changed.
    pub suspended: Option<SuspendedAllow>,
    /// The accepted definition of the tool, which clients still see, and the offered definition,
    /// as JSON text. Set if they differ; the call can then only be approved once.
    pub changed: Option<[String; 2]>,
    /// The client session of the call.
    pub session: SessionId,
    /// The server's identity: the digest of what its spec starts or connects to.
    pub identity: String,
    /// The digest of the definition of the tool or prompt; empty if there is none.
    pub definition_digest: String,
    /// The digest to which a decision is bound, in hex: SHA-256 over the method, the client, the
    /// server's identity, the definition, the params and, if there are any, `sampling_provider` and
    /// the result.
    pub digest: String,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    /// The timeout of the decision, in milliseconds.
    pub timeout_ms: u32,
    /// The time that remained when this value was made, in milliseconds.
    pub remaining_ms: u32,
}

/// A mute of a client: its requests that need a decision are refused, because nobody decided its
/// last requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ClientMute {
    /// When the mute ends by itself.
    pub until: Timestamp,
    /// The time that remained when this value was made, in milliseconds, at least 1.
    pub remaining_ms: u32,
}

/// An allow that no longer applies because the tool or its server has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct SuspendedAllow {
    pub rule: RuleId,
    /// The rule in words.
    pub rule_text: String,
    /// Whether the server would now start or connect to something else.
    pub is_server_changed: bool,
    /// The tool's definition for which the allow was given, and the current definition, as JSON
    /// text. `None` if they are the same, or if the earlier definition is not stored.
    pub definitions: Option<[String; 2]>,
}

/// A person's decision about an approval request. `conditions` limit the further calls that a
/// verdict approves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case", try_from = "WireVerdict")]
pub enum Verdict {
    /// Approves this call, or this result.
    ApproveOnce {
        /// The arguments to send instead of the client's, as JSON text.
        arguments: Option<String>,
    },
    /// Approves this call, and this client's calls of this tool for this many seconds.
    ApproveFor {
        seconds: u32,
        conditions: Vec<Condition>,
    },
    /// Approves this call, and up to `count` more of this client's calls of this tool.
    ApproveCalls {
        count: u32,
        conditions: Vec<Condition>,
    },
    /// Approves this call, and this client's calls of this tool until the client session ends.
    ApproveSession { conditions: Vec<Condition> },
    /// Approves this call, and this client's calls of this tool from now on.
    ApproveAlways { conditions: Vec<Condition> },
    /// Denies the request. The model receives the reason; an empty reason means none.
    Deny { reason: String },
    /// Answers a request for input. `None` means that the person opens the URL of the request.
    FillIn { content: Option<FormContent> },
    /// Closes a request for input without an answer.
    Dismiss,
}

/// The values that a person has entered for a server, as the JSON text of an object. They are never
/// stored, and `Debug` does not show them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(transparent)]
pub struct FormContent(String);

impl FormContent {
    pub fn new(json: String) -> Self {
        Self(json)
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for FormContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FormContent(•••)")
    }
}

/// A verdict in its wire format. Serde reads a tagged enum into a buffer first, which would lose
/// the exact text of the literals in a condition.
#[derive(Deserialize)]
struct WireVerdict {
    kind: VerdictKind,
    #[serde(default)]
    arguments: Option<String>,
    seconds: Option<u32>,
    count: Option<u32>,
    #[serde(default)]
    conditions: Vec<Condition>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    content: Option<FormContent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum VerdictKind {
    ApproveOnce,
    ApproveFor,
    ApproveCalls,
    ApproveSession,
    ApproveAlways,
    Deny,
    FillIn,
    Dismiss,
}

impl TryFrom<WireVerdict> for Verdict {
    type Error = &'static str;

    fn try_from(wire: WireVerdict) -> Result<Self, Self::Error> {
        let WireVerdict {
            kind,
            arguments,
            seconds,
            count,
            conditions,
            reason,
            content,
        } = wire;
        Ok(match kind {
            VerdictKind::ApproveOnce => Self::ApproveOnce { arguments },
            VerdictKind::ApproveFor => Self::ApproveFor {
                seconds: seconds.ok_or("missing field `seconds`")?,
                conditions,
            },
            VerdictKind::ApproveCalls => Self::ApproveCalls {
                count: count.ok_or("missing field `count`")?,
                conditions,
            },
            VerdictKind::ApproveSession => Self::ApproveSession { conditions },
            VerdictKind::ApproveAlways => Self::ApproveAlways { conditions },
            VerdictKind::Deny => Self::Deny { reason },
            VerdictKind::FillIn => Self::FillIn { content },
            VerdictKind::Dismiss => Self::Dismiss,
        })
    }
}

impl Verdict {
    /// Returns the plain approval of one call or one result.
    pub fn approve_once() -> Self {
        Self::ApproveOnce { arguments: None }
    }
}

#[cfg(test)]
mod tests;
