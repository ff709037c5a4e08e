//! The parts of Drawbridge's data that a reset can delete.

use serde::{Deserialize, Serialize};

/// A part of Drawbridge's data that a reset can delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ResetPart {
    /// The calls with their token usage, and the audit log, which begins anew with another key.
    Records,
    /// The hooks, and all settings except the defaults of the policy and the pause of calls.
    Settings,
    /// The rules and the defaults of the policy.
    Rules,
    /// The clients with their tokens, and the profiles.
    Clients,
    /// The servers with their accepted definitions and their access reports.
    Servers,
    /// The entries of the built-in memory.
    Memory,
    /// The values in the secret store, and the sign-ins to servers.
    Secrets,
}

impl ResetPart {
    pub const ALL: [Self; 7] = [
        Self::Records,
        Self::Settings,
        Self::Rules,
        Self::Clients,
        Self::Servers,
        Self::Memory,
        Self::Secrets,
    ];

    /// Returns whether the next start of the hub deletes the part, by replacing the contents of the
    /// data folder. The secrets are deleted from the secret store at once, even if the store is a
    /// file in the data folder.
    pub fn is_in_data_folder(self) -> bool {
        self != Self::Secrets
    }
}
