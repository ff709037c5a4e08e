//! Deletes records that are older than the retention period: at the start, every hour, and when the
//! user changes the period. Does the same with kept results and log files, which have periods of
//! their own. Deletes the oldest records, or log files, if all of them together take too much
//! space.
//!
//! Deletion cannot be undone, so a single reading of the clock never causes it. A reading is
//! confirmed only by a reading that is at least a day later, and is dropped if the clock goes back.
//! The confirmed time, from which the age of records is counted, moves by at most a week per day.
//! If the clock is far ahead for one start, nothing is deleted; if it stays ahead, records are lost
//! only week by week. In return, records are deleted a day or two late, and later if Drawbridge has
//! not run for weeks.

use std::time::Duration;

use drawbridge_model::{clock, ids::Timestamp};
use drawbridge_store::{
    Journal, JournalError, Store, StoreError,
    logs::{LogRetention, Logs},
    settings::Settings,
};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

/// The delay before the first deletion, because the start has more urgent work.
const INITIAL_DELAY: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_secs(3600);
/// How often the size of the records is measured.
const SIZE_INTERVAL: Duration = Duration::from_secs(60);
const DAY_MS: i64 = 24 * 3600 * 1_000;
/// The maximum step of the confirmed time.
const MAX_STEP_MS: i64 = 7 * DAY_MS;
const SETTING: &str = "retention_clock";

/// The state of the clock by which records are deleted. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct RetentionClock {
    /// The time from which the age of records is counted.
    confirmed: i64,
    /// A later reading of the clock, which is not confirmed yet.
    candidate: i64,
}

impl RetentionClock {
    /// Returns the state after another reading of the clock.
    fn advance(self, now: i64) -> Self {
        if now < self.candidate {
            // The clock was set back, so it may have been wrong before.
            return Self {
                confirmed: self.confirmed.min(now),
                candidate: now,
            };
        }
        if now - self.candidate < DAY_MS {
            return self;
        }
        Self {
            confirmed: self.candidate.min(self.confirmed + MAX_STEP_MS),
            candidate: now,
        }
    }
}

/// Deletes the records, and the kept results, that are older than their retention period. Runs
/// until the hub aborts the task.
pub(super) async fn prune_old_records(store: Store, settings: Settings) {
    let journal = store.journal();
    let mut changes = settings.changes();
    sleep(INITIAL_DELAY).await;
    loop {
        let periods = retention_days(&settings);
        let (days, result_days) = periods;
        match confirm_time(&store, clock::now()).await {
            Ok(confirmed) => {
                prune_records(&journal, confirmed, days).await;
                prune_results(&journal, confirmed, result_days).await;
            }
            Err(error) => tracing::warn!("old records are not deleted: {error}"),
        }
        let changed = async {
            while retention_days(&settings) == periods && changes.changed().await.is_ok() {}
        };
        let _ = timeout(INTERVAL, changed).await;
    }
}

/// Deletes the oldest records as long as all records together take more space than the settings
/// allow. Runs until the hub aborts the task.
pub(super) async fn limit_records(store: Store, settings: Settings) {
    let journal = store.journal();
    let mut changes = settings.changes();
    sleep(INITIAL_DELAY).await;
    loop {
        let max_mib = settings.get().records_max_mib;
        if max_mib > 0
            && let Err(error) = prune_to_size(&store, &journal, u64::from(max_mib) << 20).await
        {
            tracing::warn!("cannot delete records beyond {max_mib} MiB: {error}");
        }
        let changed = async {
            while settings.get().records_max_mib == max_mib && changes.changed().await.is_ok() {}
        };
        let _ = timeout(SIZE_INTERVAL, changed).await;
    }
}

/// Makes the logs delete files that are older or larger in total than the settings allow: at the
/// start, every hour, and when the user changes these settings. Runs until the hub aborts the task.
pub(super) async fn limit_logs(logs: Logs, settings: Settings) {
    let mut changes = settings.changes();
    let current = || {
        let values = settings.get();
        LogRetention {
            days: values.log_retention_days,
            max_mib: values.logs_max_mib,
        }
    };
    loop {
        let retention = current();
        logs.set_retention(retention);
        let changed = async { while current() == retention && changes.changed().await.is_ok() {} };
        let _ = timeout(INTERVAL, changed).await;
    }
}

/// Deletes the oldest tenth of the records repeatedly, until the rest takes at most `max_bytes` or
/// only few records are left.
async fn prune_to_size(store: &Store, journal: &Journal, max_bytes: u64) -> Result<(), PruneError> {
    let mut before = None;
    while store.records_exceed(max_bytes).await? {
        let Some(end) = store.end_of_oldest_records().await? else {
            break;
        };
        // A call in flight, or too many records of a single moment, kept the last step from
        // deleting anything.
        if before.replace(end) == Some(end) {
            break;
        }
        journal.prune(end).await?;
        tracing::info!(
            "deleted the oldest records, because all records together take too much space"
        );
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
enum PruneError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Stores a reading of the clock. Returns the confirmed time.
async fn confirm_time(store: &Store, now: Timestamp) -> Result<Timestamp, StoreError> {
    let stored = store.json_setting::<RetentionClock>(SETTING).await?;
    let before = match stored {
        Some(clock) => clock,
        // The confirmed time begins with the first record, so that nothing is old enough yet.
        None => RetentionClock {
            confirmed: store.audit_beginning().await?.unwrap_or(now).0,
            candidate: now.0,
        },
    };
    let after = before.advance(now.0);
    if stored != Some(after) {
        let text = serde_json::to_string(&after).expect("two numbers are valid JSON");
        store.set_setting(SETTING, &text).await?;
    }
    Ok(Timestamp(after.confirmed))
}

async fn prune_records(journal: &Journal, now: Timestamp, days: u32) {
    if let Some(before) = retention_cutoff(now, days)
        && let Err(error) = journal.prune(before).await
    {
        tracing::warn!("cannot delete audit entries older than {days} days: {error}");
    }
}

async fn prune_results(journal: &Journal, now: Timestamp, days: u32) {
    if let Some(before) = retention_cutoff(now, days)
        && let Err(error) = journal.prune_results(before).await
    {
        tracing::warn!("cannot delete results of calls older than {days} days: {error}");
    }
}

/// Returns how many days records are kept, and how many days results are kept.
fn retention_days(settings: &Settings) -> (u32, u32) {
    let values = settings.get();
    (values.audit_retention_days, values.kept_results_days)
}

/// Returns the moment before which records are deleted, or `None` if records are kept forever.
fn retention_cutoff(now: Timestamp, days: u32) -> Option<Timestamp> {
    (days > 0).then(|| Timestamp(now.0 - i64::from(days) * DAY_MS))
}

#[cfg(test)]
mod tests {
    use drawbridge_model::audit::AuditKind;
    use serde_json::json;

    use super::*;

    /// Returns how many entries the audit log has after Drawbridge ran at each of these times,
    /// given in days from now, with a retention of 90 days. If nothing is deleted, there are four
    /// entries: one about the beginning of the log, and three that this function appends.
    async fn entries_after_runs(days: impl IntoIterator<Item = i64>) -> u32 {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
            .await
            .expect("a store");
        let journal = store.journal();
        journal.recover().await.expect("recover the journal");
        for _ in 0..3 {
            journal.append_audit(AuditKind::Paused, &json!({}));
        }
        journal.flush().await;
        let start = clock::now().0;
        while clock::now().0 == start {
            tokio::task::yield_now().await;
        }
        for day in days {
            let now = Timestamp(start + day * DAY_MS);
            let confirmed = confirm_time(&store, now).await.expect("stored");
            prune_records(&journal, confirmed, 90).await;
        }
        let report = journal.verify().await.expect("verified");
        assert_eq!(report.broken, None);
        report.entries
    }

    #[tokio::test]
    async fn a_clock_that_is_ahead_for_one_start_deletes_nothing() {
        assert_eq!(entries_after_runs([0, 200]).await, 4);
        assert_eq!(entries_after_runs([0, 1, 2, 200, 3, 4, 5]).await, 4);
        assert_eq!(entries_after_runs([0, 200, 1, 400, 2, 600]).await, 4);
        assert_eq!(
            entries_after_runs((0..3).chain(200..203).chain(3..80)).await,
            4,
            "the clock was ahead for three days"
        );
    }

    #[tokio::test]
    async fn old_records_are_deleted_if_the_clock_goes_on() {
        assert_eq!(entries_after_runs(0..=90).await, 4);
        assert_eq!(
            entries_after_runs(0..=93).await,
            1,
            "only the entry about the pruning is left"
        );
        assert_eq!(
            entries_after_runs((0..3).chain(300..320)).await,
            1,
            "Drawbridge did not run for most of a year"
        );
        assert_eq!(
            entries_after_runs((0..3).chain(-100..3)).await,
            4,
            "the clock was set back"
        );
    }

    #[tokio::test]
    async fn the_oldest_records_are_deleted_if_all_records_take_too_much_space() {
        const MIB: u64 = 1 << 20;
        let folder = tempfile::tempdir().expect("a folder");
        let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
            .await
            .expect("a store");
        let journal = store.journal();
        journal.recover().await.expect("recover the journal");
        let text = "x".repeat(1_000);
        for number in 0..40 {
            for _ in 0..100 {
                journal.append_audit(AuditKind::Paused, &json!({ "number": number, "x": text }));
            }
            journal.flush().await;
            let now = clock::now();
            while clock::now() == now {
                tokio::task::yield_now().await;
            }
        }
        assert!(store.records_exceed(4 * MIB).await.expect("a size"));
        prune_to_size(&store, &journal, 100 * MIB)
            .await
            .expect("nothing to delete");
        let entries = async || journal.verify().await.expect("verified").entries;
        assert!(entries().await >= 4_000);
        prune_to_size(&store, &journal, 3 * MIB)
            .await
            .expect("pruned");
        assert!(!store.records_exceed(3 * MIB).await.expect("a size"));
        let kept = entries().await;
        assert!((1_000..3_000).contains(&kept), "{kept} entries");
        assert_eq!(journal.verify().await.expect("verified").broken, None);
        prune_to_size(&store, &journal, 1).await.expect("pruned");
        assert!(entries().await >= 900, "about a thousand entries are kept");
    }

    #[test]
    fn nothing_is_deleted_if_retention_is_unlimited() {
        let now = Timestamp(100 * DAY_MS);
        assert_eq!(retention_cutoff(now, 0), None);
        assert_eq!(retention_cutoff(now, 90), Some(Timestamp(10 * DAY_MS)));
    }
}
