//! Log lines and their levels.

use serde::{Deserialize, Serialize};

use super::ids::{ServerId, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct LogLine {
    /// The number of the line, one more than that of the previous line.
    pub seq: u32,
    pub at: Timestamp,
    pub level: Level,
    /// The server that wrote the line, or `None` for the hub itself.
    pub server: Option<ServerId>,
    /// The part of the hub that wrote the line, or `stderr` or `stdout` of the server.
    pub area: String,
    /// The text without line breaks. Secrets are masked, and control characters are escaped.
    pub text: String,
}
