//! `sampling_usage`: the requests to the sampling provider and their tokens, per day.

use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

/// How many days before the current day are kept.
const KEPT_DAYS: i64 = 31;

/// The use of the sampling provider on one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SamplingUsage {
    pub requests: u32,
    pub tokens: u32,
}

impl Store {
    /// Returns the use on one day. `day` is the number of days since 1970-01-01.
    pub async fn sampling_usage(&self, day: i64) -> Result<SamplingUsage, StoreError> {
        let row = sqlx::query("SELECT requests, tokens FROM sampling_usage WHERE day = ?")
            .bind(day)
            .fetch_optional(&self.pool)
            .await;
        let read = |row: sqlx::sqlite::SqliteRow| {
            Ok(SamplingUsage {
                requests: row.try_get("requests")?,
                tokens: row.try_get("tokens")?,
            })
        };
        row.and_then(|row| row.map(read).transpose())
            .map(Option::unwrap_or_default)
            .context("cannot read the use of the sampling provider")
    }

    /// Adds a request and the tokens that it may cost to a day's use, if the use is still `used`.
    /// Returns false and adds nothing if the use has changed since `used` was read.
    ///
    /// # Errors
    /// Returns an error if the request cannot be counted. The caller must then not send the
    /// request.
    pub async fn reserve_sampling(
        &self,
        day: i64,
        used: SamplingUsage,
        tokens: u32,
    ) -> Result<bool, StoreError> {
        let reserved = sqlx::query(
            "INSERT INTO sampling_usage (day, requests, tokens) VALUES (?1, 1, ?2)
             ON CONFLICT DO UPDATE SET requests = requests + 1, tokens = MIN(tokens + ?2, 4294967295)
             WHERE requests = ?3 AND tokens = ?4",
        )
        .bind(day)
        .bind(tokens)
        .bind(used.requests)
        .bind(used.tokens)
        .execute(&self.pool)
        .await;
        reserved
            .map(|done| done.rows_affected() > 0)
            .context("cannot count a request to the sampling provider")
    }

    /// Replaces the tokens that were reserved for a request with the tokens that it cost. Deletes
    /// the use on days that are more than 31 days ago.
    pub async fn settle_sampling_tokens(
        &self,
        day: i64,
        reserved: u32,
        cost: u32,
    ) -> Result<(), StoreError> {
        let settled = sqlx::query(
            "UPDATE sampling_usage SET tokens = MAX(0, MIN(tokens - ?1 + ?2, 4294967295))
             WHERE day = ?3",
        )
        .bind(reserved)
        .bind(cost)
        .bind(day)
        .execute(&self.pool)
        .await;
        settled.context("cannot count the tokens of the sampling provider")?;
        sqlx::query("DELETE FROM sampling_usage WHERE day < ?")
            .bind(day - KEPT_DAYS)
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot delete the old use of the sampling provider")
    }
}

#[cfg(test)]
mod tests {
    use super::SamplingUsage;
    use crate::Store;

    #[tokio::test]
    async fn requests_at_the_same_time_cannot_reserve_the_same_tokens() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, _) = Store::open(&folder.path().join("db")).await.expect("open");
        let reserve = async |day, used, tokens| {
            let reserved = store.reserve_sampling(day, used, tokens).await;
            reserved.expect("reserve")
        };
        let nothing = SamplingUsage::default();
        assert!(reserve(1, nothing, 60).await);
        assert!(
            !reserve(1, nothing, 60).await,
            "the use has changed since it was read"
        );
        let used = store.sampling_usage(1).await.expect("read");
        assert_eq!((used.requests, used.tokens), (1, 60));
        assert!(reserve(1, used, 40).await);
        assert!(
            reserve(2, nothing, 5).await,
            "each day is counted separately"
        );
        store
            .settle_sampling_tokens(1, 60, 10)
            .await
            .expect("settle");
        let used = store.sampling_usage(1).await.expect("read");
        assert_eq!((used.requests, used.tokens), (2, 50));
        let costly = store.settle_sampling_tokens(1, 40, u32::MAX);
        costly.await.expect("settle");
        let used = store.sampling_usage(1).await.expect("read");
        assert_eq!(used.tokens, u32::MAX, "the count does not overflow");
    }
}
