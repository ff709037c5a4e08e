//! Counts and durations of the calls in a span of time, from `call` and `token_usage`. SQLite adds
//! them up, so that no call is loaded.

use std::collections::BTreeMap;

use drawbridge_model::{
    call::CallStats,
    clock,
    ids::{ClientName, ServerId, Timestamp},
};
use sqlx::{Row, sqlite::SqliteRow};

use super::call::WAS_ASKED;
use crate::{Store, StoreContext, StoreError};

/// The most calls that are counted, the newest first. They are limited because their durations have
/// to be sorted.
pub const MAX_COUNTED_CALLS: u32 = 200_000;
/// The number of bits of a call's number, which consists of the lowest bits of the microseconds
/// since 1970.
const NUMBER_BITS: u32 = 50;

/// Which calls to count.
#[derive(Debug, Clone)]
pub struct CallStatsFilter {
    /// Only calls at or after `since`, and before `until`.
    pub since: Timestamp,
    pub until: Timestamp,
    pub client: Option<ClientName>,
    pub server: Option<ServerId>,
    /// The server's own name of the tool.
    pub tool: Option<String>,
}

/// How the stats are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallGroup {
    /// No groups: the stats of all calls, under an empty key.
    All,
    /// Steps of this many milliseconds, counted from the beginning of the span. The key is the
    /// number of the step.
    Time(i64),
    Client,
    Server,
    /// The key is the server's id and the tool's name, with a space between them.
    Tool,
}

impl CallGroup {
    /// Returns the SQL expression of the key. `?1` is the beginning of the span.
    fn key(self) -> String {
        match self {
            Self::All => "''".to_owned(),
            Self::Time(step_ms) => format!("CAST((at - ?1) / {step_ms} AS TEXT)"),
            Self::Client => "client".to_owned(),
            Self::Server => "server".to_owned(),
            Self::Tool => "server || ' ' || tool".to_owned(),
        }
    }
}

impl Store {
    /// Returns the stats of the calls of tools, by the key of their group.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn call_stats(
        &self,
        filter: &CallStatsFilter,
        group: CallGroup,
    ) -> Result<BTreeMap<String, CallStats>, StoreError> {
        let read = async {
            let mut stats = BTreeMap::new();
            for row in self.count_calls(filter, group).await? {
                stats.insert(row.try_get::<String, _>("key")?, read_stats(&row)?);
            }
            for row in self.count_tokens(filter, group).await? {
                let of_group: &mut CallStats = stats.entry(row.try_get("key")?).or_default();
                of_group.sent_tokens = count(&row, "sent")?;
                of_group.received_tokens = count(&row, "received")?;
            }
            Ok(stats)
        };
        read.await.context("cannot read the calls")
    }

    async fn count_calls(
        &self,
        filter: &CallStatsFilter,
        group: CallGroup,
    ) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let key = group.key();
        // The number of a call states its time, so the primary key leads to the newest calls.
        let sql = format!(
            "WITH recent AS (
                 SELECT {key} AS key, decision, outcome, duration_ms, {WAS_ASKED} AS was_asked
                 FROM call WHERE id >= ?6 AND at >= ?1 AND at < ?2 AND method = 'tools/call'
                 AND (?3 IS NULL OR client = ?3) AND (?4 IS NULL OR server = ?4)
                 AND (?5 IS NULL OR tool = ?5) ORDER BY id DESC LIMIT {MAX_COUNTED_CALLS}
             ), ranked AS (
                 SELECT key, duration_ms, COUNT(*) OVER (PARTITION BY key) AS measured,
                     ROW_NUMBER() OVER (PARTITION BY key ORDER BY duration_ms) AS rank
                 FROM recent WHERE duration_ms IS NOT NULL
             ), percentiles AS (
                 SELECT key, MIN(CASE WHEN rank * 100 >= measured * 50 THEN duration_ms END) AS p50_ms,
                     MIN(CASE WHEN rank * 100 >= measured * 95 THEN duration_ms END) AS p95_ms
                 FROM ranked GROUP BY key
             )
             SELECT recent.key AS key, COUNT(*) AS calls,
                 SUM(outcome IN ('server_error', 'client_error', 'unreachable', 'unknown', 'timed_out')) AS errors,
                 SUM(outcome = 'cancelled') AS cancelled,
                 SUM(was_asked) AS asked,
                 SUM(was_asked AND decision = 'allowed') AS approved,
                 SUM(was_asked AND decision = 'denied') AS denied,
                 SUM(was_asked AND decision IN ('timed_out', 'no_screen')) AS timed_out,
                 SUM(decision <> 'allowed') AS not_allowed,
                 MAX(p50_ms) AS p50_ms, MAX(p95_ms) AS p95_ms
             FROM recent LEFT JOIN percentiles ON percentiles.key = recent.key GROUP BY recent.key"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(filter.since.0)
            .bind(filter.until.0)
            .bind(filter.client.as_ref().map(ClientName::as_str))
            .bind(filter.server.as_ref().map(ServerId::as_str))
            .bind(&filter.tool)
            .bind(first_number(filter.since, clock::now()))
            .fetch_all(&self.pool)
            .await
    }

    async fn count_tokens(
        &self,
        filter: &CallStatsFilter,
        group: CallGroup,
    ) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let key = group.key();
        let sql = format!(
            "SELECT {key} AS key, SUM(sent) AS sent, SUM(received) AS received FROM token_usage
             WHERE at >= ?1 AND at < ?2 AND (?3 IS NULL OR client = ?3)
             AND (?4 IS NULL OR server = ?4) AND (?5 IS NULL OR tool = ?5) GROUP BY key"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(filter.since.0)
            .bind(filter.until.0)
            .bind(filter.client.as_ref().map(ClientName::as_str))
            .bind(filter.server.as_ref().map(ServerId::as_str))
            .bind(&filter.tool)
            .fetch_all(&self.pool)
            .await
    }
}

/// Returns the smallest number of a call that began at or after `since`. The numbers begin again at
/// 0 every 35 years. Returns 0 if they did so between `since` and `now`.
fn first_number(since: Timestamp, now: Timestamp) -> i64 {
    let number = |at: Timestamp| at.0.saturating_mul(1_000) & ((1 << NUMBER_BITS) - 1);
    let first = number(since);
    if first <= number(now) { first } else { 0 }
}

fn count(row: &SqliteRow, column: &str) -> Result<u64, sqlx::Error> {
    Ok(row.try_get::<i64, _>(column)?.unsigned_abs())
}

fn read_stats(row: &SqliteRow) -> Result<CallStats, sqlx::Error> {
    Ok(CallStats {
        calls: count(row, "calls")?,
        errors: count(row, "errors")?,
        cancelled: count(row, "cancelled")?,
        not_allowed: count(row, "not_allowed")?,
        asked: count(row, "asked")?,
        approved: count(row, "approved")?,
        denied: count(row, "denied")?,
        timed_out: count(row, "timed_out")?,
        p50_ms: row.try_get("p50_ms")?,
        p95_ms: row.try_get("p95_ms")?,
        sent_tokens: 0,
        received_tokens: 0,
    })
}

#[cfg(test)]
mod tests;
