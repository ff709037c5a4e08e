//! Checks of the database, for `drawbridge doctor`.

use drawbridge_model::ids::Timestamp;
use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

impl Store {
    /// Returns the number of the latest migration that was applied.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn schema_version(&self) -> Result<i64, StoreError> {
        sqlx::query("SELECT max(version) AS version FROM _sqlx_migrations WHERE success")
            .fetch_one(&self.pool)
            .await
            .and_then(|row| row.try_get("version"))
            .context("cannot read its schema version")
    }

    /// Returns the first damage that SQLite finds, or `None` if SQLite finds no damage. Does not
    /// compare the indexes with the tables.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn find_damage(&self) -> Result<Option<String>, StoreError> {
        let found: String = sqlx::query("PRAGMA quick_check(1)")
            .fetch_one(&self.pool)
            .await
            .and_then(|row| row.try_get(0))
            .context("cannot be checked")?;
        Ok((found != "ok").then_some(found))
    }

    /// Returns the time of the newest call or audit entry, or `None` if there is neither.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn newest_record(&self) -> Result<Option<Timestamp>, StoreError> {
        let newest: Option<i64> = sqlx::query(
            "SELECT max(at) AS at FROM (SELECT max(at) AS at FROM call UNION ALL \
             SELECT at FROM (SELECT at FROM audit ORDER BY seq DESC LIMIT 1))",
        )
        .fetch_one(&self.pool)
        .await
        .and_then(|row| row.try_get("at"))
        .context("cannot read its newest record")?;
        Ok(newest.map(Timestamp))
    }
}
