//! The audit: a record of events, protected by a hash chain, so that any change to the record can be
//! detected.

use serde::{Deserialize, Serialize};

use super::{call::Call, ids::Timestamp};

/// The kind of an entry of the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// The chain begins here.
    Began,
    /// When a hub started, it found that the chain was not as the previous hub had left it.
    Broken,
    /// A call was decided.
    Decided,
    /// A call ended.
    Ended,
    PolicyChanged,
    ServerAccepted,
    /// A server offers a new definition, or another one than the accepted one. The definition is
    /// hidden until it is accepted, unless the spec says otherwise.
    DefinitionChanged,
    DefinitionAccepted,
    /// All calls were paused.
    Paused,
    Resumed,
    /// A client's token was refused at a path that requires the administrator's token.
    TokenRefused,
    /// Older entries were removed, as the settings demand. This entry states where the chain begins
    /// now.
    Pruned,
}

impl AuditKind {
    /// Returns the text that the store holds for this kind.
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
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::TokenRefused => "token_refused",
            Self::Pruned => "pruned",
        }
    }
}

/// The result of verifying the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AuditReport {
    /// The number of entries.
    pub entries: u32,
    /// The times of the first and the last entry; `None` if there are no entries.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// The first break of the chain; `None` if the chain is intact.
    pub broken: Option<AuditBreak>,
}

/// A break of the audit chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AuditBreak {
    /// The number of the entry at which the chain breaks. If the break is at the end, or a call was
    /// added, it is the number after the last entry.
    pub seq: u32,
    /// The reason in plain words, with the call that the entry is about, if it is known.
    pub why: String,
}

/// A call with its part of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AuditedCall {
    #[serde(flatten)]
    pub call: Call,
    /// SHA-256 of the tool's definition, and of the arguments as they were sent, in hex.
    pub definition_digest: String,
    pub arguments_digest: String,
    /// The number of the entry with the call's decision, and the hash of that entry in hex; `None`
    /// if the call is older than the audit.
    pub seq: Option<u32>,
    pub hash: Option<String>,
}
