//! How a server stands: accepted or not, running or not, in the catalog or not.

use serde::{Deserialize, Serialize};

use super::ids::{ClientName, Timestamp};

/// Whether the user accepted what the server would start or connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    Accepted,
    /// Never accepted; nothing is started.
    Pending,
    /// Its command, arguments, environment, folder, URL or headers differ from what was accepted; nothing is started.
    Changed,
}

/// The state of a server session, or why there can be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Not running; the next call starts it.
    Idle,
    Initializing,
    Active,
    /// Failed; tried again after a pause.
    Error,
    /// Failed for good, or ended; a restart or the next call begins anew.
    Closed,
    /// Turned off by the user.
    Disabled,
    /// Waits for the user to accept it.
    NeedsApproval,
    /// A secret it names cannot be read from the keyring.
    NeedsSecret,
    /// It refused a request until a person signs in to it.
    NeedsSignIn,
}

/// A step that a server session took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Transition {
    pub at: Timestamp,
    /// Whose session it is, where it is not shared.
    pub client: Option<ClientName>,
    /// What it became: `idle`, `initializing`, `active`, `error` or `closed`.
    pub state: ServerState,
    /// Why, in plain words.
    pub reason: String,
}

/// How the catalog's copy of a server stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SyncStatus {
    NeverSynced,
    Syncing,
    Synced,
    Failed,
}
