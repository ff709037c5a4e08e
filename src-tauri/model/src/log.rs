//! Log lines and their levels.

use serde::{Deserialize, Serialize};

use super::ids::{CallId, ServerId, Timestamp};

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

/// Who wrote a line of the log, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// Drawbridge, about itself or about a server.
    #[default]
    Hub,
    /// A server, with a log message or a report of progress of the protocol.
    Message,
    /// A server, to its stderr.
    Stderr,
    /// A server, to its stdout, with a line that is not JSON-RPC.
    Stdout,
}

impl LogKind {
    /// Returns the name, as it is in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hub => "hub",
            Self::Message => "message",
            Self::Stderr => "stderr",
            Self::Stdout => "stdout",
        }
    }
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct LogLine {
    /// The number of the line. The next line has the next number.
    pub seq: u32,
    pub at: Timestamp,
    pub level: Level,
    /// The server that wrote the line, or that the line concerns; `None` for a line about the hub.
    pub server: Option<ServerId>,
    #[serde(default)]
    pub kind: LogKind,
    /// The part of the hub that wrote the line, or the name of the kind if the server wrote it.
    pub area: String,
    /// The call to which the line belongs, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "bindings", ts(optional))]
    pub call: Option<CallId>,
    /// The text without line breaks. Secrets are masked, and control characters are escaped.
    pub text: String,
}

/// A part of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct LogPage {
    /// The newest lines that match, oldest first. There may be fewer lines than requested, or none,
    /// because one request searches only a part of the files.
    pub lines: Vec<LogLine>,
    /// The `before` of the next older page, or `None` if no older line matches.
    pub older: Option<u32>,
}
