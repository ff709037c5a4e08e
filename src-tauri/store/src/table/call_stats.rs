//! Counts and durations of the calls in a span of time, from `call` and `token_usage`. One pass
//! over the rows gives the stats of the whole span, of its steps and of groups. SQLite would sort
//! the rows once for each of these, which takes several times as long.

use std::{collections::BTreeMap, path::Path};

use drawbridge_model::{
    call::CallStats,
    clock,
    ids::{ClientName, ServerId, Timestamp},
};
use rusqlite::params;
use sqlx::{Row, sqlite::SqliteRow};

use super::call::{WAS_ASKED, first_number};
use crate::{Store, StoreContext, StoreError, db::open_for_reading};

/// The most calls that are counted, the newest first. There is a limit because the durations of the
/// calls have to be held in memory and sorted.
pub const MAX_COUNTED_CALLS: u32 = 200_000;
/// The most groups that have a series. They are the groups with the most calls.
pub const MAX_SERIES: usize = 6;

/// Which calls to count.
#[derive(Debug, Clone)]
pub struct CallStatsFilter {
    /// Only calls at or after `since`, and before the end of the last step.
    pub since: Timestamp,
    pub steps: u32,
    /// The length of each step, in milliseconds.
    pub step_ms: u32,
    pub client: Option<ClientName>,
    pub server: Option<ServerId>,
    /// The server's own name of the tool.
    pub tool: Option<String>,
}

impl CallStatsFilter {
    fn until(&self) -> Timestamp {
        Timestamp(self.since.0 + i64::from(self.steps) * i64::from(self.step_ms))
    }
}

/// How the calls are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallGroup {
    Client,
    Server,
    /// The key is the server's id and the tool's name, with a space between them.
    Tool,
}

impl CallGroup {
    /// Returns the SQL expression of the key.
    fn key(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Tool => "server || ' ' || tool",
        }
    }
}

/// The stats of the calls in a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallStatsReport {
    pub total: CallStats,
    /// One entry for each step, the oldest first.
    pub series: Vec<CallStats>,
    /// The groups with the most calls come first.
    pub groups: Vec<GroupStats>,
}

/// The stats of a group of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStats {
    pub key: String,
    pub total: CallStats,
    /// One entry for each step, the oldest first. Empty if [`MAX_SERIES`] groups have more calls.
    pub series: Vec<CallStats>,
}

impl Store {
    /// Returns the stats of the calls of tools.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn call_stats(
        &self,
        filter: &CallStatsFilter,
        group: CallGroup,
    ) -> Result<CallStatsReport, StoreError> {
        let read = async {
            let mut cells = self.count_calls(filter, group).await?;
            self.count_tokens(filter, group, &mut cells).await?;
            Ok(cells)
        };
        let cells = read.await.context("cannot read the calls")?;
        Ok(build_report(cells, filter.steps))
    }

    /// Counts the calls on a blocking thread, with its own connection. sqlx passes every row to
    /// another thread, which takes several times as long as reading the row.
    async fn count_calls(
        &self,
        filter: &CallStatsFilter,
        group: CallGroup,
    ) -> Result<Cells, sqlx::Error> {
        let (file, filter) = (self.file.clone(), filter.clone());
        tokio::task::spawn_blocking(move || count_calls_blocking(&file, &filter, group))
            .await
            .map_err(|_| sqlx::Error::WorkerCrashed)?
            .map_err(|error| sqlx::Error::AnyDriverError(error.into()))
    }

    async fn count_tokens(
        &self,
        filter: &CallStatsFilter,
        group: CallGroup,
        cells: &mut Cells,
    ) -> Result<(), sqlx::Error> {
        let key = group.key();
        let sql = format!(
            "SELECT (at - ?1) / ?6 AS step, {key} AS key, SUM(sent) AS sent,
                 SUM(received) AS received FROM token_usage
             WHERE at >= ?1 AND at < ?2 AND (?3 IS NULL OR client = ?3)
             AND (?4 IS NULL OR server = ?4) AND (?5 IS NULL OR tool = ?5) GROUP BY step, key"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(filter.since.0)
            .bind(filter.until().0)
            .bind(filter.client.as_ref().map(ClientName::as_str))
            .bind(filter.server.as_ref().map(ServerId::as_str))
            .bind(&filter.tool)
            .bind(filter.step_ms)
            .fetch_all(&self.pool)
            .await?;
        for row in rows {
            let cell = find_cell(cells, row.try_get("key")?, row.try_get("step")?);
            cell.stats.sent_tokens += read_count(&row, "sent")?;
            cell.stats.received_tokens += read_count(&row, "received")?;
        }
        Ok(())
    }
}

fn count_calls_blocking(
    file: &Path,
    filter: &CallStatsFilter,
    group: CallGroup,
) -> Result<Cells, rusqlite::Error> {
    let connection = open_for_reading(file)?;
    let key = group.key();
    // The number of a call states its time, so the primary key leads to the newest calls. If a call
    // succeeds without a person's decision, `CASE` skips most comparisons of texts, which take much
    // time.
    let sql = format!(
        "SELECT (at - ?1) / ?7, {key}, duration_ms, waited_ms,
             CASE WHEN outcome IN ('ok', 'not_sent') THEN 0 ELSE
                 (outcome IN ('server_error', 'client_error', 'unreachable', 'unknown', 'timed_out'))
                 | ((outcome = 'cancelled') << 1)
             END
             | CASE WHEN decision = 'allowed' AND decided_by <> 'person' THEN 1 << 3 ELSE
                 ({WAS_ASKED} << 2) | ((decision = 'allowed') << 3) | ((decision = 'denied') << 4)
                 | ((decision IN ('timed_out', 'no_screen')) << 5)
             END
         FROM call WHERE id >= ?6 AND at >= ?1 AND at < ?2 AND method = 'tools/call'
         AND (?3 IS NULL OR client = ?3) AND (?4 IS NULL OR server = ?4)
         AND (?5 IS NULL OR tool = ?5) ORDER BY id DESC LIMIT {MAX_COUNTED_CALLS}"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![
        filter.since.0,
        filter.until().0,
        filter.client.as_ref().map(ClientName::as_str),
        filter.server.as_ref().map(ServerId::as_str),
        filter.tool,
        first_number(filter.since, clock::now()),
        filter.step_ms,
    ])?;
    let mut cells = Cells::default();
    while let Some(row) = rows.next()? {
        let cell = find_cell(&mut cells, row.get_ref(1)?.as_str()?, row.get(0)?);
        cell.add_call(row.get(4)?, row.get(3)?, row.get(2)?);
    }
    Ok(cells)
}

/// The calls of each group and step.
type Cells = BTreeMap<String, BTreeMap<u32, Tally>>;

fn find_cell<'a>(cells: &'a mut Cells, key: &str, step: u32) -> &'a mut Tally {
    // Most rows have a known key, which then is not copied.
    if !cells.contains_key(key) {
        cells.insert(key.to_owned(), BTreeMap::new());
    }
    let steps = cells.get_mut(key).expect("the key was just inserted");
    steps.entry(step).or_default()
}

/// Sums of calls, with the times from which the percentiles follow.
#[derive(Default)]
struct Tally {
    /// The counts. The percentiles are computed at the end.
    stats: CallStats,
    durations: Vec<u32>,
    /// The waits of the calls that needed a person's decision.
    waits: Vec<u32>,
}

impl Tally {
    /// Adds a call. `facts` are the bits that the query of [`count_calls_blocking`] returns, from
    /// the lowest: failed, cancelled, needed a person's decision, allowed, denied, timed out.
    fn add_call(&mut self, facts: u32, waited_ms: u32, duration_ms: Option<u32>) {
        let fact = |bit: u32| u64::from(facts >> bit & 1);
        let (was_asked, allowed) = (fact(2), fact(3));
        self.stats.calls += 1;
        self.stats.errors += fact(0);
        self.stats.cancelled += fact(1);
        self.stats.asked += was_asked;
        self.stats.approved += was_asked & allowed;
        self.stats.denied += was_asked & fact(4);
        self.stats.timed_out += was_asked & fact(5);
        self.stats.not_allowed += 1 - allowed;
        self.durations.extend(duration_ms);
        if was_asked == 1 {
            self.waits.push(waited_ms);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.stats.calls += other.stats.calls;
        self.stats.errors += other.stats.errors;
        self.stats.cancelled += other.stats.cancelled;
        self.stats.not_allowed += other.stats.not_allowed;
        self.stats.asked += other.stats.asked;
        self.stats.approved += other.stats.approved;
        self.stats.denied += other.stats.denied;
        self.stats.timed_out += other.stats.timed_out;
        self.stats.sent_tokens += other.stats.sent_tokens;
        self.stats.received_tokens += other.stats.received_tokens;
        self.durations.extend(&other.durations);
        self.waits.extend(&other.waits);
    }

    fn finish(mut self) -> CallStats {
        self.stats.p50_ms = percentile(&mut self.durations, 50);
        self.stats.p95_ms = percentile(&mut self.durations, 95);
        self.stats.wait_p50_ms = percentile(&mut self.waits, 50);
        self.stats
    }
}

/// Returns the smallest value that `percent` per cent of the values do not exceed.
fn percentile(values: &mut [u32], percent: usize) -> Option<u32> {
    let index = (values.len() * percent).div_ceil(100).checked_sub(1)?;
    Some(*values.select_nth_unstable(index).1)
}

fn build_report(cells: Cells, steps: u32) -> CallStatsReport {
    let new_series = || (0..steps).map(|_| Tally::default()).collect::<Vec<_>>();
    let finish = |series: Vec<Tally>| series.into_iter().map(Tally::finish).collect::<Vec<_>>();
    let (mut total, mut series) = (Tally::default(), new_series());
    let mut groups = Vec::new();
    for (key, steps) in cells {
        let mut group_tally = Tally::default();
        for (step, cell) in &steps {
            group_tally.merge(cell);
            if let Some(step_tally) = series.get_mut(*step as usize) {
                step_tally.merge(cell);
            }
        }
        total.merge(&group_tally);
        groups.push((key, group_tally.finish(), steps));
    }
    groups.sort_by_key(|(_, stats, _)| std::cmp::Reverse(stats.calls));
    let groups = groups.into_iter().enumerate();
    CallStatsReport {
        total: total.finish(),
        series: finish(series),
        groups: groups
            .map(|(rank, (key, total, cells))| {
                let mut series = if rank < MAX_SERIES {
                    new_series()
                } else {
                    Vec::new()
                };
                for (step, cell) in cells {
                    if let Some(step_tally) = series.get_mut(step as usize) {
                        *step_tally = cell;
                    }
                }
                GroupStats {
                    key,
                    total,
                    series: finish(series),
                }
            })
            .collect(),
    }
}

fn read_count(row: &SqliteRow, column: &str) -> Result<u64, sqlx::Error> {
    Ok(row.try_get::<i64, _>(column)?.unsigned_abs())
}

#[cfg(test)]
mod tests;
