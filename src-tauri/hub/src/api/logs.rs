//! Logs: the lines of the hub and of each server.

use drawbridge_model::{
    ids::{CallId, ServerId, Timestamp},
    log::{Level, LogKind, LogLine, LogPage},
};
use drawbridge_store::logs::LogFilter;
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// `logs.list`: the newest lines that match, oldest first, and where the next older page begins.
/// Searches the lines in memory and the log files, but only a part of the files at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct ListLogs {
    /// Only lines of this server; the lines of the hub and of all servers if absent.
    pub server: Option<ServerId>,
    /// Only lines of the hub's own log.
    pub hub_only: bool,
    /// Only lines that belong to this call.
    pub call: Option<CallId>,
    /// Only lines of this kind.
    pub kind: Option<LogKind>,
    /// No lines of this kind.
    pub except: Option<LogKind>,
    /// Only lines of this level or a more serious level.
    pub level: Option<Level>,
    /// Only lines that contain this text, in upper or lower case.
    pub text: Option<String>,
    /// Only lines at or after this moment.
    pub since: Option<Timestamp>,
    /// Only lines before this moment.
    pub until: Option<Timestamp>,
    /// Only lines with a lower number: the `older` of the previous page.
    pub before: Option<u32>,
    /// The maximum number of lines to return: 500 by default, and 5,000 at most.
    pub limit: Option<u32>,
}

impl ListLogs {
    /// Returns the filter that selects these lines.
    pub fn into_filter(self) -> LogFilter {
        let limit = self.limit() as usize;
        LogFilter {
            server: self.server,
            hub_only: self.hub_only,
            call: self.call,
            kind: self.kind,
            except: self.except,
            level: self.level,
            text: self.text,
            since: self.since,
            until: self.until,
            before: self.before,
            limit,
        }
    }

    /// Reads pages until there are `limit` lines, or no older lines. Returns the lines, oldest
    /// first.
    ///
    /// # Errors
    /// Returns the error of `read_page`.
    pub async fn collect_pages<E, F: Future<Output = Result<LogPage, E>>>(
        mut self,
        read_page: impl Fn(Self) -> F,
    ) -> Result<Vec<LogLine>, E> {
        let limit = self.limit();
        let mut lines = Vec::new();
        loop {
            let mut page = read_page(self.clone()).await?;
            page.lines.append(&mut lines);
            lines = page.lines;
            let found = u32::try_from(lines.len()).unwrap_or(u32::MAX);
            if page.older.is_none() || found >= limit {
                return Ok(lines);
            }
            (self.before, self.limit) = (page.older, Some(limit - found));
        }
    }

    fn limit(&self) -> u32 {
        self.limit.unwrap_or(500).clamp(1, 5_000)
    }
}

impl Verb for ListLogs {
    type Answer = LogPage;

    async fn run(self, hub: &Hub) -> Result<LogPage, ApiError> {
        Ok(hub.logs.read_page(self.into_filter()).await)
    }
}
