//! The outcomes of the checks of the doctor and of the preflight check.

use serde::{Deserialize, Serialize};

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// Something is missing or unusual, but most things work.
    Warning,
    /// Something does not work.
    Failure,
}
