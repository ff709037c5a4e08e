//! The states of a server: of its session, and of its copy in the catalog.

use serde::{Deserialize, Serialize};

use super::ids::{ClientName, Timestamp};

/// The state of a server session, or the reason why there can be no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Not running; the next call starts it.
    Idle,
    Initializing,
    Active,
    /// Failed. Drawbridge starts the server again after a delay, or has given up after the last
    /// attempt.
    Error,
    /// Ended without a failure. A restart or the next call starts the server again.
    Closed,
    /// Disabled by the user.
    Disabled,
    /// The user has not accepted the server as it is now.
    NeedsAcceptance,
    /// A secret to which the spec refers cannot be read from the secret store.
    NeedsSecret,
    /// The server refuses requests until a person signs in.
    NeedsSignIn,
}

/// A state transition of a server session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct Transition {
    pub at: Timestamp,
    /// The client to which the session belongs; `None` if clients share the session.
    pub client: Option<ClientName>,
    /// The new state: `idle`, `initializing`, `active`, `error` or `closed`.
    pub state: ServerState,
    /// The reason in plain words.
    pub reason: String,
}

/// The state of the catalog's copy of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SyncStatus {
    NeverSynced,
    Syncing,
    Synced,
    Failed,
}
