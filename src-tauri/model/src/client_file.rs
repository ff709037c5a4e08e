//! The configuration files of clients that Drawbridge has changed.

use serde::{Deserialize, Serialize};

/// How a client reaches Drawbridge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ClientTransport {
    /// The client starts `drawbridge stdio`.
    #[default]
    Bridge,
    /// The client sends requests to the endpoint's URL, with a token.
    Http,
}

/// The purpose of a change of clients' files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ClientAction {
    Connect,
    Disconnect,
    /// Servers were imported, and their clients connected.
    Import,
    /// An entry that another program had removed or changed was written again.
    Restore,
}

/// The state of Drawbridge's entry in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ClientFileState {
    NotConnected,
    Connected,
    /// The entry is as Drawbridge wrote it, but Drawbridge would now write a different entry.
    Outdated,
    /// Another program or a person has changed the entry.
    Changed,
    /// Another program or a person has removed the entry.
    Removed,
    /// The file cannot be read.
    Broken,
}
