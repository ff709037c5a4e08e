//! `sampling_usage`: the requests to the sampling provider and their tokens, per day.

use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

/// Days that are kept.
const KEPT_DAYS: i64 = 31;

/// The use of the sampling provider in a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SamplingUsage {
    pub requests: u32,
    pub tokens: u32,
}

impl Store {
    /// Returns the use in a day, in days since 1970-01-01.
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

    /// Counts one more request, if the day's use is below both limits. Returns whether it is. Only
    /// one of several requests at the same time gets the last place.
    ///
    /// # Errors
    /// Returns an error if the request cannot be counted. It must not be sent then.
    pub async fn count_sampling_request(
        &self,
        day: i64,
        limit: SamplingUsage,
    ) -> Result<bool, StoreError> {
        let counted = sqlx::query(
            "INSERT INTO sampling_usage (day, requests, tokens) VALUES (?, 1, 0)
             ON CONFLICT DO UPDATE SET requests = requests + 1
             WHERE requests < ? AND tokens < ?",
        )
        .bind(day)
        .bind(limit.requests)
        .bind(limit.tokens)
        .execute(&self.pool)
        .await;
        counted
            .map(|done| done.rows_affected() > 0)
            .context("cannot count a request to the sampling provider")
    }

    /// Adds the tokens of a request that was counted, and deletes days that are long over.
    pub async fn add_sampling_tokens(&self, day: i64, tokens: u32) -> Result<(), StoreError> {
        let added = sqlx::query(
            "UPDATE sampling_usage SET tokens = MIN(tokens + ?, 4294967295) WHERE day = ?",
        )
        .bind(tokens)
        .bind(day)
        .execute(&self.pool)
        .await;
        added.context("cannot count the tokens of the sampling provider")?;
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
    async fn a_day_has_so_many_requests_and_tokens_and_no_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, _) = Store::open(&folder.path().join("db")).await.expect("open");
        let limit = SamplingUsage {
            requests: 2,
            tokens: 100,
        };
        let count = async |day| {
            store
                .count_sampling_request(day, limit)
                .await
                .expect("count")
        };
        assert!(count(1).await && count(1).await);
        assert!(!count(1).await, "both requests of the day are used");
        assert!(count(2).await, "the next day has requests of its own");
        store.add_sampling_tokens(2, 100).await.expect("add");
        assert!(!count(2).await, "all tokens of the day are used");
        let used = store.sampling_usage(2).await.expect("read");
        assert_eq!((used.requests, used.tokens), (1, 100));
        store.add_sampling_tokens(2, u32::MAX).await.expect("add");
        let used = store.sampling_usage(2).await.expect("read");
        assert_eq!(used.tokens, u32::MAX, "the count does not overflow");
    }
}
