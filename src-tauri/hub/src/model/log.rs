//! A line of the log.

use serde::{Deserialize, Serialize};

use super::ids::{ServerId, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LogLine {
    /// Grows by one a line.
    pub seq: u32,
    pub at: Timestamp,
    pub level: Level,
    /// The server that wrote it to its stderr, or nothing for the hub itself.
    pub server: Option<ServerId>,
    /// The part of the hub that wrote it, or `stderr`, `stdout`.
    pub area: String,
    /// Without line breaks; secrets are masked, control characters are shown escaped.
    pub text: String,
}
