//! Deletes records that are older than the retention period: at the start, once a day, and when the
//! user changes the period.

use std::time::Duration;

use drawbridge_model::{clock, ids::Timestamp};
use drawbridge_store::{Journal, settings::Settings};
use tokio::time::{sleep, timeout};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The delay before the first deletion, because the start has more urgent work.
const INITIAL_DELAY: Duration = Duration::from_secs(5);

/// Runs until the hub aborts it.
pub(super) async fn prune_old_records(journal: Journal, settings: Settings) {
    sleep(INITIAL_DELAY).await;
    loop {
        let days = settings.get().audit_retention_days;
        if let Some(before) = retention_cutoff(clock::now(), days)
            && let Err(error) = journal.prune(before).await
        {
            tracing::warn!("cannot delete audit entries older than {days} days: {error}");
        }
        let changed = async {
            while settings.get().audit_retention_days == days {
                settings.changed().await;
            }
        };
        let _ = timeout(DAY, changed).await;
    }
}

/// Returns the moment from which on records are kept, or `None` if they are kept for ever.
fn retention_cutoff(now: Timestamp, days: u32) -> Option<Timestamp> {
    (days > 0).then(|| Timestamp(now.0 - i64::from(days) * 24 * 3600 * 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_deleted_if_retention_is_unlimited() {
        let now = Timestamp(100 * 24 * 3600 * 1_000);
        assert_eq!(retention_cutoff(now, 0), None);
        assert_eq!(
            retention_cutoff(now, 90),
            Some(Timestamp(10 * 24 * 3600 * 1_000))
        );
    }
}
