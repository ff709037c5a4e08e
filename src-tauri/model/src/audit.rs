//! The audit log: a record of events, protected by a hash chain, so that any change to the record
//! can be detected.

use serde::{Deserialize, Serialize};

use super::{
    call::Call,
    ids::{CallId, Timestamp},
};

/// Declares each kind once, with its text in the store, the API and the command line.
macro_rules! audit_kinds {
    ($($(#[$comment:meta])* $kind:ident = $name:literal,)+) => {
        /// The kind of an entry of the audit log.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
        pub enum AuditKind {
            $($(#[$comment])* #[serde(rename = $name)] $kind,)+
        }

        impl AuditKind {
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// Returns the text that the store holds for this kind.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

audit_kinds! {
    /// The chain begins here.
    Began = "began",
    /// The chain was found damaged when a hub started, or at the first commit after a failed
    /// commit. Also the kind of an entry that cannot be read.
    Broken = "broken",
    /// A call, or another guarded request, was decided.
    Decided = "decided",
    /// A call, or another guarded request, ended after it was allowed.
    Ended = "ended",
    PolicyChanged = "policy_changed",
    /// A person or another program added a server's spec file.
    ServerAdded = "server_added",
    /// A person or another program changed a server's spec file.
    ServerChanged = "server_changed",
    /// A person or another program removed a server's spec file.
    ServerRemoved = "server_removed",
    ServerAccepted = "server_accepted",
    /// A server offers a new definition, or a definition that differs from the accepted definition.
    /// The definition is hidden until it is accepted, unless the spec says otherwise.
    DefinitionChanged = "definition_changed",
    DefinitionAccepted = "definition_accepted",
    /// A spec that is not saved was started once, to verify it or to test a client's entry.
    SpecVerified = "spec_verified",
    /// A person allowed a retry of a request that had timed out.
    RetryAllowed = "retry_allowed",
    /// All calls were paused.
    Paused = "paused",
    Resumed = "resumed",
    ClientAdded = "client_added",
    ClientRevoked = "client_revoked",
    /// The user, the limit or the token of a client was changed, the token was removed, or the
    /// client was unmuted.
    ClientChanged = "client_changed",
    /// An unknown client asked to be paired.
    PairingRequested = "pairing_requested",
    PairingApproved = "pairing_approved",
    PairingDenied = "pairing_denied",
    /// Drawbridge changed configuration files of clients, or a person chose whether Drawbridge
    /// restores its entry in a file.
    ClientFilesChanged = "client_files_changed",
    /// A profile was saved or removed, or a client got another profile or none.
    ProfileChanged = "profile_changed",
    /// A hook was added, changed, moved, removed or tried.
    HookChanged = "hook_changed",
    /// Settings were changed. Changes of the policy's defaults and of the pause have kinds of their
    /// own.
    SettingsChanged = "settings_changed",
    /// A secret was stored in the secret store. The entry has only the secret's name.
    SecretSet = "secret_set",
    /// A secret was removed from the secret store. The entry has only the secret's name.
    SecretRemoved = "secret_removed",
    /// The secrets were moved to another secret store, or encrypted with another key. The entry
    /// contains no secret.
    SecretStoreChanged = "secret_store_changed",
    /// A person signed in to a remote server.
    SignedIn = "signed_in",
    /// The tokens for a remote server were deleted.
    SignedOut = "signed_out",
    /// A browser exchanged a one-time code for a token that gives access to the screens.
    BrowserSignedIn = "browser_signed_in",
    /// A browser was signed out: by a person, because its sign-in expired, or because too many
    /// browsers were signed in.
    BrowserSignedOut = "browser_signed_out",
    /// A browser sent a code that was used, expired or never issued, or sent too many codes.
    BrowserRefused = "browser_refused",
    /// A token was refused: it is unknown, was revoked, has expired, or is a client's token that
    /// was used at an address for administrators.
    TokenRefused = "token_refused",
    /// A person prepared a restore or a reset of the data folder, or cancelled it.
    ReplacementPrepared = "replacement_prepared",
    /// The database was restored from a backup. The entries after the backup are not in this chain.
    BackupRestored = "backup_restored",
    /// Older entries were removed, as the settings demand. This entry states the new beginning of
    /// the chain.
    Pruned = "pruned",
}

/// The result of verifying the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AuditReport {
    /// The number of entries.
    pub entries: u32,
    /// The time of the first entry; `None` if there are no entries.
    pub from: Option<Timestamp>,
    /// The time of the last entry; `None` if there are no entries.
    pub to: Option<Timestamp>,
    /// The first break of the chain; `None` if the chain is intact.
    pub broken: Option<AuditBreak>,
}

/// A break of the audit log's chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AuditBreak {
    /// The number of the entry at which the chain breaks, or the number after the last entry if the
    /// break is at the end or a call was added.
    pub seq: u32,
    /// The reason in plain words, with the call of the entry, if that is known.
    pub reason: String,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AuditEntryView {
    /// The number of the entry in the chain.
    pub seq: u32,
    pub at: Timestamp,
    pub kind: AuditKind,
    /// The call, if the entry concerns one.
    pub call: Option<CallId>,
    /// The details, an object whose members depend on the kind; null if the entry concerns a call.
    #[cfg_attr(feature = "bindings", ts(type = "unknown"))]
    pub body: serde_json::Value,
}

/// An entry of the audit log about a call, and whether it is intact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct CallAuditEntry {
    /// The number of the entry in the chain.
    pub seq: u32,
    pub at: Timestamp,
    pub kind: AuditKind,
    /// The hash of the entry, in hex.
    pub hash: String,
    /// Why the entry, the record of the call or the entry before it is not as it was written.
    /// `None` if the hash matches all three. The rest of the chain is not checked.
    pub fault: Option<String>,
}

/// A call with its part of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AuditedCall {
    #[serde(flatten)]
    pub call: Call,
    /// The SHA-256 of the tool's definition, in hex.
    pub definition_digest: String,
    /// The SHA-256 of the arguments as they were sent, in hex.
    pub arguments_digest: String,
    /// The number of the entry with the call's decision; `None` if the call is older than the audit
    /// log.
    pub seq: Option<u32>,
    /// The hash of that entry, in hex.
    pub hash: Option<String>,
}
