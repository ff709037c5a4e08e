//! The kinds and states of the secret store.

use serde::{Deserialize, Serialize};

/// The state of the secret store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SecretStoreStatus {
    Ready,
    /// The keyring is locked, or the key of the encrypted file is not available.
    Locked,
    /// No keyring is running, the keyring cannot be used, or the store does not answer.
    Absent,
    /// The encrypted file cannot be used: it is missing, damaged, too new or readable by other
    /// users, or its key does not fit.
    Unusable,
}

/// A kind of secret store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SecretStoreKind {
    /// The keyring of the operating system.
    Keyring,
    /// An encrypted file in the data folder.
    File,
}
