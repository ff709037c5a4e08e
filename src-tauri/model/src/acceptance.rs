//! Whether a person has accepted a server or a tool's definition.

use serde::{Deserialize, Serialize};

/// Whether a person has accepted the current definition of a tool, or the current identity of a
/// server (its command or URL).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum AcceptanceState {
    Accepted,
    /// Never accepted: a new server is not started, and a tool that was added after its server was
    /// accepted is hidden.
    New,
    /// Differs from what was accepted: a changed server is not started, and a changed definition is
    /// hidden until it is accepted, unless the spec says otherwise.
    Changed,
}
