//! Logs: what the hub and each server said.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{
    hub::Hub,
    logs::LogFilter,
    model::{
        ids::ServerId,
        log::{Level, LogLine},
    },
};

/// `logs.list`: the newest lines that match, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ListLogs {
    pub server: Option<ServerId>,
    /// That level and above.
    pub level: Option<Level>,
    /// Only lines with this text, whatever its case.
    pub text: Option<String>,
    /// At most so many; 500 where it is not given.
    pub limit: Option<u32>,
}

impl Verb for ListLogs {
    const NAME: &'static str = "logs.list";
    type Answer = Vec<LogLine>;

    async fn run(self, hub: &Hub) -> Result<Vec<LogLine>, ApiError> {
        let limit = self.limit.unwrap_or(500).clamp(1, 5_000) as usize;
        Ok(hub.logs.list(&LogFilter {
            server: self.server,
            level: self.level,
            text: self.text,
            limit,
        }))
    }
}
