//! The size of the calls and audit entries, which the hub limits.

use drawbridge_model::ids::Timestamp;
use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

/// The number of audit entries that are kept, whatever their size is.
const MIN_ENTRIES: i64 = 1_000;

impl Store {
    /// Returns whether the calls, their results and the audit entries take more than `max_bytes` of
    /// the database.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn records_exceed(&self, max_bytes: u64) -> Result<bool, StoreError> {
        const USED: &str = "SELECT (page_count - freelist_count) * page_size \
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        // This query reads all pages of the other tables, so it runs only if the whole database is
        // too large.
        const OTHERS: &str = "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE aggregate = TRUE \
             AND name IN (SELECT name FROM sqlite_master WHERE tbl_name NOT IN ('call', 'audit', 'call_result', 'session_period'))";
        let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
        let used = self.read_bytes(USED).await?;
        Ok(used > max_bytes && used - self.read_bytes(OTHERS).await? > max_bytes)
    }

    async fn read_bytes(&self, query: &'static str) -> Result<i64, StoreError> {
        sqlx::query(query)
            .fetch_one(&self.pool)
            .await
            .and_then(|row| row.try_get(0))
            .context("cannot report its size")
    }

    /// Returns the time of the first audit entry after the oldest tenth of all entries, or `None`
    /// if there are at most 1,000 entries.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn end_of_oldest_records(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query(
            "SELECT at FROM audit WHERE (SELECT count(*) FROM audit) > ? \
             ORDER BY seq LIMIT 1 OFFSET (SELECT count(*) / 10 FROM audit)",
        )
        .bind(MIN_ENTRIES)
        .fetch_optional(&self.pool)
        .await
        .context("cannot read its oldest records")?;
        let at = row.map(|row| row.try_get("at")).transpose();
        Ok(at.context("cannot read its oldest records")?.map(Timestamp))
    }
}
