//! `profile` and `client_profile`: which servers and tools a client sees.

use drawbridge_model::ids::ClientName;
use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

impl Store {
    /// Returns all profiles by name, each with its servers as JSON.
    pub async fn profiles(&self) -> Result<Vec<(String, String)>, StoreError> {
        let rows = sqlx::query("SELECT name, servers FROM profile ORDER BY name")
            .fetch_all(&self.pool)
            .await;
        let read =
            |row: &sqlx::sqlite::SqliteRow| Ok((row.try_get("name")?, row.try_get("servers")?));
        rows.and_then(|rows| rows.iter().map(read).collect())
            .context("cannot read the profiles")
    }

    pub async fn put_profile(&self, name: &str, servers: &str) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO profile (name, servers) VALUES (?, ?) ON CONFLICT DO UPDATE SET servers = excluded.servers",
        )
        .bind(name)
        .bind(servers)
        .execute(&self.pool)
        .await
        .map(drop)
        .context("cannot write a profile")
    }

    /// Removes a profile, also from its clients. Returns whether there was one.
    pub async fn remove_profile(&self, name: &str) -> Result<bool, StoreError> {
        let removed = sqlx::query("DELETE FROM profile WHERE name = ?")
            .bind(name)
            .execute(&self.pool)
            .await;
        removed
            .map(|done| done.rows_affected() > 0)
            .context("cannot remove a profile")
    }

    /// Returns the profile of each client that has one.
    pub async fn client_profiles(&self) -> Result<Vec<(ClientName, String)>, StoreError> {
        let rows = sqlx::query("SELECT client, profile FROM client_profile")
            .fetch_all(&self.pool)
            .await;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            Ok((
                ClientName::new(row.try_get::<String, _>("client")?),
                row.try_get("profile")?,
            ))
        };
        rows.and_then(|rows| rows.iter().map(read).collect())
            .context("cannot read the clients' profiles")
    }

    /// Gives a client a profile, or removes its profile if `profile` is `None`.
    pub async fn set_client_profile(
        &self,
        client: &ClientName,
        profile: Option<&str>,
    ) -> Result<(), StoreError> {
        let write = match profile {
            Some(profile) => sqlx::query(
                "INSERT INTO client_profile (client, profile) VALUES (?, ?) ON CONFLICT DO UPDATE SET profile = excluded.profile",
            )
            .bind(client.as_str())
            .bind(profile),
            None => sqlx::query("DELETE FROM client_profile WHERE client = ?").bind(client.as_str()),
        };
        write
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot write a client's profile")
    }
}
