//! The audit: what happened, kept so that nothing of it can be changed unseen.

use serde::{Deserialize, Serialize};

use super::{call::Call, ids::Timestamp};

/// What an entry of the audit says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// The chain begins here.
    Began,
    /// A hub found at its start that the chain was not as the hub before had left it.
    Broken,
    /// A call was decided.
    Decided,
    /// What came of a call.
    Ended,
    PolicyChanged,
    ServerAccepted,
    /// A server offers another definition of a tool than was accepted, or a new tool: it is held back.
    DefinitionChanged,
    DefinitionAccepted,
    /// All calls were stopped.
    Raised,
    Lowered,
    /// A client's token was brought where only an administrator may go.
    TokenRefused,
    /// Older entries were taken away, as the user set; what the chain begins with now.
    Pruned,
}

impl AuditKind {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Began => "began",
            Self::Broken => "broken",
            Self::Decided => "decided",
            Self::Ended => "ended",
            Self::PolicyChanged => "policy_changed",
            Self::ServerAccepted => "server_accepted",
            Self::DefinitionChanged => "definition_changed",
            Self::DefinitionAccepted => "definition_accepted",
            Self::Raised => "raised",
            Self::Lowered => "lowered",
            Self::TokenRefused => "token_refused",
            Self::Pruned => "pruned",
        }
    }
}

/// Whether the audit holds together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditReport {
    /// The entries that are there.
    pub entries: u32,
    /// When the first and the last of them were written; none where there are none.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// The first place where it does not hold; none where all of it does.
    pub broken: Option<AuditBreak>,
}

/// Where the audit does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditBreak {
    /// The first entry that was changed or is missing.
    pub seq: u32,
    /// In words, also of the call that it is about.
    pub why: String,
}

/// A call with what the audit has of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditedCall {
    #[serde(flatten)]
    pub call: Call,
    /// SHA-256 of the tool's definition and of the arguments as they were sent, hex.
    pub definition_digest: String,
    pub arguments_digest: String,
    /// The entry with its decision, and that one's hash, hex; none for calls from before there was an audit.
    pub seq: Option<u32>,
    pub hash: Option<String>,
}
