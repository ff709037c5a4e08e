//! `client`: the known clients, and the HMACs of their tokens.

use std::num::NonZeroU32;

use drawbridge_model::ids::{ClientName, Timestamp, UserName};
use sqlx::{Row, sqlite::SqliteRow};

use crate::{Store, StoreContext, StoreError};

/// A client as stored.
#[derive(Debug, Clone)]
pub struct ClientRow {
    pub name: ClientName,
    /// HMAC-SHA-256 of the client's token; `None` for a client of the local socket.
    pub token_hmac: Option<Vec<u8>>,
    pub token_issued_at: Option<Timestamp>,
    /// When the token expires; `None` if it does not expire.
    pub token_expires_at: Option<Timestamp>,
    /// HMAC-SHA-256 of the token before the last rotation. That token is valid until the new token
    /// is used, and at most until `old_token_until`.
    pub old_token_hmac: Option<Vec<u8>>,
    pub old_token_until: Option<Timestamp>,
    /// The `User-Agent` of the request that used the token last.
    pub user_agent: Option<String>,
    /// The name and version that the client reported when it connected.
    pub software: Option<String>,
    /// The user to whom the client belongs.
    pub user: UserName,
    /// How many calls the client may make in a minute; `None` for no limit.
    pub calls_per_minute: Option<NonZeroU32>,
    pub created_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl Store {
    pub async fn clients(&self) -> Result<Vec<ClientRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM client ORDER BY name")
            .fetch_all(&self.pool)
            .await;
        rows.and_then(|rows| rows.iter().map(client_from_row).collect())
            .context("cannot read the clients")
    }

    /// Adds the client, or replaces the client of that name.
    pub async fn put_client(&self, row: &ClientRow) -> Result<(), StoreError> {
        sqlx::query("INSERT OR REPLACE INTO client (name, token_hmac, token_issued_at, token_expires_at, old_token_hmac, old_token_until, user_agent, software, user, calls_per_minute, created_at, last_seen_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(row.name.as_str())
            .bind(&row.token_hmac)
            .bind(row.token_issued_at.map(|t| t.0))
            .bind(row.token_expires_at.map(|t| t.0))
            .bind(&row.old_token_hmac)
            .bind(row.old_token_until.map(|t| t.0))
            .bind(&row.user_agent)
            .bind(&row.software)
            .bind(row.user.as_str())
            .bind(row.calls_per_minute.map(NonZeroU32::get))
            .bind(row.created_at.0)
            .bind(row.last_seen_at.map(|t| t.0))
            .bind(row.revoked_at.map(|t| t.0))
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot write a client")
    }

    /// Writes when and with which program the client was last used, and the old token. `row` has no
    /// old token if the new token was used. Does nothing if the client has got another token
    /// meanwhile.
    pub async fn put_client_use(&self, row: &ClientRow) -> Result<(), StoreError> {
        sqlx::query("UPDATE client SET last_seen_at = ?, software = ?, user_agent = ?, old_token_hmac = ?, old_token_until = ? WHERE name = ? AND token_hmac IS ?")
            .bind(row.last_seen_at.map(|t| t.0))
            .bind(&row.software)
            .bind(&row.user_agent)
            .bind(&row.old_token_hmac)
            .bind(row.old_token_until.map(|t| t.0))
            .bind(row.name.as_str())
            .bind(&row.token_hmac)
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot write the last use of a client")
    }
}

fn client_from_row(row: &SqliteRow) -> Result<ClientRow, sqlx::Error> {
    Ok(ClientRow {
        name: ClientName::new(row.try_get::<String, _>("name")?),
        token_hmac: row.try_get("token_hmac")?,
        token_issued_at: read_time(row, "token_issued_at")?,
        token_expires_at: read_time(row, "token_expires_at")?,
        old_token_hmac: row.try_get("old_token_hmac")?,
        old_token_until: read_time(row, "old_token_until")?,
        user_agent: row.try_get("user_agent")?,
        software: row.try_get("software")?,
        user: UserName::new(row.try_get::<String, _>("user")?),
        calls_per_minute: row
            .try_get::<Option<u32>, _>("calls_per_minute")?
            .and_then(NonZeroU32::new),
        created_at: Timestamp(row.try_get("created_at")?),
        last_seen_at: read_time(row, "last_seen_at")?,
        revoked_at: read_time(row, "revoked_at")?,
    })
}

fn read_time(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>, sqlx::Error> {
    Ok(row.try_get::<Option<i64>, _>(column)?.map(Timestamp))
}
