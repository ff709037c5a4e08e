//! A call that waits for a person, and what the person may say.

use serde::{Deserialize, Serialize};

use super::{
    ids::{CallId, ClientName, ServerId, SessionId, Timestamp},
    tool::Annotations,
};

/// A call that waits for a person.
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
    /// The client session that the call came in.
    pub session: SessionId,
    /// What the server would start or connect to, as a digest.
    pub identity: String,
    /// The digest of the tool's definition.
    pub definition: String,
    /// What a decision is bound to: SHA-256 over client, server identity, definition and arguments, hex.
    pub digest: String,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    /// The whole time to decide, in milliseconds.
    pub timeout_ms: u32,
    /// What was left of it when this view was made, in milliseconds.
    pub left_ms: u32,
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// Let this call through.
    ApproveOnce,
    /// Let it through, and this client's calls of this tool for that long.
    ApproveFor { seconds: u32 },
    /// Let it through, and this client's calls of this tool until its session ends.
    ApproveSession,
    /// Let it through, and this client's calls of this tool from now on.
    ApproveAlways,
    /// Refuse it. The reason reaches the model; empty for none.
    Deny {
        #[serde(default)]
        reason: String,
    },
}
