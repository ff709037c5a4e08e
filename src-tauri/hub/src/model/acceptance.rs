//! Whether a person has accepted a server or a tool's definition.

use serde::{Deserialize, Serialize};

/// Whether a person has accepted what is there now: a server's identity, which is what it starts or
/// connects to, or a tool's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum AcceptanceState {
    Accepted,
    /// Never accepted: a new server is not started, and a tool that was added after its server was
    /// accepted is hidden.
    New,
    /// Differs from what was accepted: a changed server is not started, and a changed definition is
    /// held back.
    Changed,
}
