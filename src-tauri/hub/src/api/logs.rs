//! Logs: the lines of the hub and of each server.

use drawbridge_model::{
    ids::{ServerId, Timestamp},
    log::{Level, LogLine},
};
use drawbridge_store::logs::LogFilter;
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// `logs.list`: the newest lines that match, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct ListLogs {
    /// Only lines of this server; the lines of the hub and of all servers if absent.
    pub server: Option<ServerId>,
    /// Only lines of this level or a more serious one.
    pub level: Option<Level>,
    /// Only lines that contain this text; upper and lower case are the same.
    pub text: Option<String>,
    /// Only lines at or after this moment.
    pub since: Option<Timestamp>,
    /// The most lines to return: 500 by default, and 5,000 at most.
    pub limit: Option<u32>,
}

impl ListLogs {
    /// Returns the filter that selects these lines.
    pub fn into_filter(self) -> LogFilter {
        LogFilter {
            server: self.server,
            level: self.level,
            text: self.text,
            since: self.since,
            limit: self.limit.unwrap_or(500).clamp(1, 5_000) as usize,
        }
    }
}

impl Verb for ListLogs {
    type Answer = Vec<LogLine>;

    async fn run(self, hub: &Hub) -> Result<Vec<LogLine>, ApiError> {
        Ok(hub.logs.read(self.into_filter()).await)
    }
}
