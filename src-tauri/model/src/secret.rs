//! The places that store secrets, and their states.

use serde::{Deserialize, Serialize};

/// The state of the place that stores the secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum KeyringStatus {
    Ready,
    /// The keyring is locked, or the key of the encrypted file is not available.
    Locked,
    /// No keyring is running.
    Absent,
    /// The encrypted file is damaged, exposed to other users, or does not fit its key.
    Unusable,
}

/// A place that stores secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SecretStoreKind {
    /// The keyring of the operating system.
    Keyring,
    /// An encrypted file in the data folder.
    File,
}
