//! A call that waits for a person, and what the person may say.

use serde::{Deserialize, Serialize};

use super::{
    ids::{CallId, ClientName, RuleId, ServerId, SessionId, Timestamp},
    policy::Condition,
    tool::Annotations,
};

/// A call that waits for a person, or one whose result does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ApprovalRequest {
    pub id: CallId,
    pub client: ClientName,
    pub server: ServerId,
    pub server_name: String,
    /// The server's own name of the tool.
    pub tool: String,
    pub tool_title: Option<String>,
    pub exposed_name: String,
    /// The server's words about the tool; untrusted text.
    pub description: String,
    pub annotations: Annotations,
    /// The exact JSON text of the arguments, as it will be sent.
    pub arguments: String,
    /// What is sent along beside name and arguments, as JSON text.
    pub extra: Option<String>,
    /// The call has run, and this is its result, as JSON text: it waits to be passed on. None where the call waits.
    pub result: Option<String>,
    /// The client has never called this tool.
    pub is_first: bool,
    /// The allow that would hold, had the tool or its server not changed since.
    pub suspended: Option<SuspendedAllow>,
    /// The tool's definition that was accepted, which clients go on seeing, and the one of now, as JSON text. It can be
    /// approved once only.
    pub changed: Option<[String; 2]>,
    /// The client session that the call came in.
    pub session: SessionId,
    /// What the server would start or connect to, as a digest.
    pub identity: String,
    /// The digest of the tool's definition.
    pub definition: String,
    /// What a decision is bound to: SHA-256 over client, server identity, definition, params and result, hex.
    pub digest: String,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    /// The whole time to decide, in milliseconds.
    pub timeout_ms: u32,
    /// What was left of it when this view was made, in milliseconds.
    pub left_ms: u32,
}

/// An allow that was given for the tool or the server as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SuspendedAllow {
    pub rule: RuleId,
    /// The rule in words.
    pub words: String,
    /// What the server starts or connects to is another.
    pub is_server_changed: bool,
    /// The tool's definition that the allow was given for and the one of now, as JSON text; none where it is the same,
    /// or is not kept any more.
    pub definitions: Option<[String; 2]>,
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case", try_from = "Read")]
pub enum Verdict {
    /// Let this call through, or this result.
    ApproveOnce {
        /// The arguments to be sent in place of the client's, as JSON text.
        arguments: Option<String>,
    },
    /// Let it through, and this client's calls of this tool for that long.
    ApproveFor { seconds: u32, when: Vec<Condition> },
    /// Let it through, and so many more of this client's calls of this tool.
    ApproveCalls { count: u32, when: Vec<Condition> },
    /// Let it through, and this client's calls of this tool until its session ends.
    ApproveSession { when: Vec<Condition> },
    /// Let it through, and this client's calls of this tool from now on.
    ApproveAlways { when: Vec<Condition> },
    /// Refuse it. The reason reaches the model; empty for none.
    Deny { reason: String },
}

/// The same as it comes. A tagged enum is read into a buffer first, which keeps no literal of a condition as written.
#[derive(Deserialize)]
struct Read {
    kind: Kind,
    #[serde(default)]
    arguments: Option<String>,
    seconds: Option<u32>,
    count: Option<u32>,
    #[serde(default)]
    when: Vec<Condition>,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    ApproveOnce,
    ApproveFor,
    ApproveCalls,
    ApproveSession,
    ApproveAlways,
    Deny,
}

impl TryFrom<Read> for Verdict {
    type Error = &'static str;

    fn try_from(read: Read) -> Result<Self, Self::Error> {
        let Read {
            kind,
            arguments,
            seconds,
            count,
            when,
            reason,
        } = read;
        Ok(match kind {
            Kind::ApproveOnce => Self::ApproveOnce { arguments },
            Kind::ApproveFor => Self::ApproveFor {
                seconds: seconds.ok_or("missing field `seconds`")?,
                when,
            },
            Kind::ApproveCalls => Self::ApproveCalls {
                count: count.ok_or("missing field `count`")?,
                when,
            },
            Kind::ApproveSession => Self::ApproveSession { when },
            Kind::ApproveAlways => Self::ApproveAlways { when },
            Kind::Deny => Self::Deny { reason },
        })
    }
}

impl Verdict {
    /// The plain approval of one call, or one result.
    pub fn once() -> Self {
        Self::ApproveOnce { arguments: None }
    }
}

#[cfg(test)]
mod tests;
