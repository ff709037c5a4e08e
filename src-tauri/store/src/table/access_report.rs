//! `access_report`: the accesses of each server's processes in its latest recorded run.

use drawbridge_model::{access_report::AccessReport, ids::ServerId};
use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

impl Store {
    /// Returns the report of each server. A report that cannot be read is left out, because the
    /// server is then recorded again.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn access_reports(&self) -> Result<Vec<(ServerId, AccessReport)>, StoreError> {
        let rows = sqlx::query("SELECT server, report FROM access_report ORDER BY server")
            .fetch_all(&self.pool)
            .await
            .context("cannot read the access reports")?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let server = ServerId::new(row.try_get::<String, _>("server").ok()?);
            let report = serde_json::from_str(row.try_get("report").ok()?).ok()?;
            Some((server, report))
        };
        Ok(rows.iter().filter_map(read).collect())
    }

    /// Replaces the report of a server.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn put_access_report(
        &self,
        server: &ServerId,
        report: &AccessReport,
    ) -> Result<(), StoreError> {
        let report = serde_json::to_string(report).expect("a report is plain data");
        sqlx::query("INSERT OR REPLACE INTO access_report (server, report) VALUES (?, ?)")
            .bind(server.as_str())
            .bind(report)
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot write an access report")
    }

    /// Deletes the report of a server.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn delete_access_report(&self, server: &ServerId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM access_report WHERE server = ?")
            .bind(server.as_str())
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot delete an access report")
    }
}
