//! `profile` and `client_profile`: which servers and tools a client sees.

use drawbridge_model::ids::ClientName;
use sqlx::Row;

use crate::{Store, StoreContext, StoreError};

/// A profile as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileRow {
    pub name: String,
    /// The tools of each server, as JSON.
    pub servers: String,
    /// The project folder to which the profile belongs.
    pub folder: Option<String>,
}

impl Store {
    pub async fn profiles(&self) -> Result<Vec<ProfileRow>, StoreError> {
        let rows = sqlx::query("SELECT name, servers, folder FROM profile ORDER BY name")
            .fetch_all(&self.pool)
            .await;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            Ok(ProfileRow {
                name: row.try_get("name")?,
                servers: row.try_get("servers")?,
                folder: row.try_get("folder")?,
            })
        };
        rows.and_then(|rows| rows.iter().map(read).collect())
            .context("cannot read the profiles")
    }

    pub async fn put_profile(&self, row: &ProfileRow) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO profile (name, servers, folder) VALUES (?, ?, ?)
             ON CONFLICT DO UPDATE SET servers = excluded.servers, folder = excluded.folder",
        )
        .bind(&row.name)
        .bind(&row.servers)
        .bind(&row.folder)
        .execute(&self.pool)
        .await
        .map(drop)
        .context("cannot write a profile")
    }

    /// Removes a profile. Its clients then see nothing. Returns whether the profile existed.
    pub async fn remove_profile(&self, name: &str) -> Result<bool, StoreError> {
        let removed = sqlx::query("DELETE FROM profile WHERE name = ?")
            .bind(name)
            .execute(&self.pool)
            .await;
        removed
            .map(|done| done.rows_affected() > 0)
            .context("cannot remove a profile")
    }

    /// Returns the profile of each client that was given a profile; `None` if the profile was
    /// removed.
    pub async fn client_profiles(&self) -> Result<Vec<(ClientName, Option<String>)>, StoreError> {
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

    /// Gives a client a profile. If `profile` is `None`, the client has no profile afterwards.
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
