//! `hook`: the hooks in their order.

use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

/// A hook as it is stored. Its position is its place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRow {
    pub name: String,
    /// The hook as JSON.
    pub spec: String,
}

impl Store {
    /// Returns the hooks in their order.
    pub async fn hooks(&self) -> Result<Vec<HookRow>, StoreError> {
        let rows = sqlx::query("SELECT name, spec FROM hook ORDER BY position")
            .fetch_all(&self.pool)
            .await;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            Ok(HookRow {
                name: row.try_get("name")?,
                spec: row.try_get("spec")?,
            })
        };
        rows.and_then(|rows| rows.iter().map(read).collect())
            .context("cannot read the hooks")
    }

    /// Replaces all hooks, in one transaction.
    pub async fn put_hooks(&self, rows: &[HookRow]) -> Result<(), StoreError> {
        let write = async {
            let mut transaction = self.pool.begin().await?;
            sqlx::query("DELETE FROM hook")
                .execute(&mut *transaction)
                .await?;
            for (position, row) in (0_i64..).zip(rows) {
                sqlx::query("INSERT INTO hook (name, position, spec) VALUES (?, ?, ?)")
                    .bind(&row.name)
                    .bind(position)
                    .bind(&row.spec)
                    .execute(&mut *transaction)
                    .await?;
            }
            transaction.commit().await
        };
        write.await.context("cannot write the hooks")
    }
}
