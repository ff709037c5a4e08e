//! `setting`: settings, each a name and a value.

use sqlx::Row;

use crate::store::{Store, StoreContext, StoreError};

impl Store {
    pub async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let row = sqlx::query("SELECT value FROM setting WHERE name = ?")
            .bind(name)
            .fetch_optional(&self.pool)
            .await;
        row.and_then(|row| row.map(|row| row.try_get("value")).transpose())
            .context("cannot read a setting")
    }

    pub async fn set_setting(&self, name: &str, value: &str) -> Result<(), StoreError> {
        sqlx::query("INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value")
            .bind(name)
            .bind(value)
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot write a setting")
    }
}
