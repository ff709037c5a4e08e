//! `setting`: settings, each a name and a value, most of them JSON.

use serde::{Serialize, de::DeserializeOwned};
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

    /// Writes a setting as JSON.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn set_json_setting(
        &self,
        name: &str,
        value: &impl Serialize,
    ) -> Result<(), StoreError> {
        let value = serde_json::to_string(value).expect("the values of settings are plain data");
        self.set_setting(name, &value).await
    }
}
