//! `setting`: settings, each a name and a value, most of them JSON.

use rusqlite::{Connection, params};
use serde::de::DeserializeOwned;
use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

const SET: &str = "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";

/// The name and the value of a setting, as they are stored.
pub type StoredSetting = (&'static str, String);

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
        sqlx::query(SET)
            .bind(name)
            .bind(value)
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot write a setting")
    }

    /// Returns the value of a setting that is stored as JSON, or `None` if it was never set.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read, or if the value is not of this type.
    pub async fn json_setting<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        let Some(value) = self.setting(name).await? else {
            return Ok(None);
        };
        serde_json::from_str(&value)
            .map(Some)
            .map_err(|error| sqlx::Error::ColumnDecode {
                index: name.to_owned(),
                source: error.into(),
            })
            .context("cannot read a setting")
    }

    /// Writes settings in one transaction.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written. No setting is written then.
    pub async fn set_settings(&self, settings: &[StoredSetting]) -> Result<(), StoreError> {
        self.write_settings(settings)
            .await
            .context("cannot write a setting")
    }

    async fn write_settings(&self, settings: &[StoredSetting]) -> Result<(), sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        for (name, value) in settings {
            sqlx::query(SET)
                .bind(*name)
                .bind(value)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }
}

/// Writes a setting within a transaction of the journal.
pub(super) fn put(
    (name, value): &StoredSetting,
    connection: &Connection,
) -> Result<(), rusqlite::Error> {
    connection.execute(SET, params![name, value]).map(drop)
}
