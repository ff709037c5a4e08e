//! `client`: the known clients, and the HMACs of their tokens.

use drawbridge_model::ids::{ClientName, Timestamp, UserName};
use sqlx::{Row, sqlite::SqliteRow};

use crate::{Store, StoreContext, StoreError};

/// A client as stored.
#[derive(Debug, Clone)]
pub struct ClientRow {
    pub name: ClientName,
    /// HMAC-SHA-256 of the client's token, or `None` for a client of the local socket.
    pub token_hmac: Option<Vec<u8>>,
    pub software: Option<String>,
    /// The user to whom the client belongs.
    pub user: UserName,
    pub created_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl Store {
    pub async fn clients(&self) -> Result<Vec<ClientRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM client ORDER BY name")
            .fetch_all(&self.pool)
            .await;
        rows.and_then(|rows| rows.iter().map(read).collect())
            .context("cannot read the clients")
    }

    /// Adds the client, or replaces the client of that name.
    pub async fn put_client(&self, row: &ClientRow) -> Result<(), StoreError> {
        sqlx::query("INSERT OR REPLACE INTO client (name, token_hmac, software, user, created_at, last_seen_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)")
            .bind(row.name.as_str())
            .bind(&row.token_hmac)
            .bind(&row.software)
            .bind(row.user.as_str())
            .bind(row.created_at.0)
            .bind(row.last_seen_at.map(|t| t.0))
            .bind(row.revoked_at.map(|t| t.0))
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot write a client")
    }
}

fn read(row: &SqliteRow) -> Result<ClientRow, sqlx::Error> {
    Ok(ClientRow {
        name: ClientName::new(row.try_get::<String, _>("name")?),
        token_hmac: row.try_get("token_hmac")?,
        software: row.try_get("software")?,
        user: UserName::new(row.try_get::<String, _>("user")?),
        created_at: Timestamp(row.try_get("created_at")?),
        last_seen_at: row
            .try_get::<Option<i64>, _>("last_seen_at")?
            .map(Timestamp),
        revoked_at: row.try_get::<Option<i64>, _>("revoked_at")?.map(Timestamp),
    })
}
