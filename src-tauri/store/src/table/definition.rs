//! `definition`: every version of the definitions of each server's tools, and when it was accepted.

use drawbridge_model::{
    clock,
    ids::{ServerId, Timestamp},
};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use crate::{Store, StoreContext, StoreError};

/// The number of versions of a tool that are kept. If there are more, the oldest are deleted.
const MAX_VERSIONS: u32 = 20;

/// A definition that a server has offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionRow {
    pub name: String,
    pub digest: String,
    /// The JSON as the server sent it.
    pub definition: String,
    pub first_seen_at: Timestamp,
    /// `None` if the definition waits for a person.
    pub accepted_at: Option<Timestamp>,
}

/// A definition that a server offers now.
pub struct OfferedDefinition {
    pub name: String,
    pub digest: String,
    pub definition: String,
    pub accepted: bool,
}

impl Store {
    /// Returns one version of a tool's definition as JSON text.
    pub async fn definition(
        &self,
        server: &ServerId,
        name: &str,
        digest: &str,
    ) -> Result<Option<String>, StoreError> {
        let row = sqlx::query(
            "SELECT definition FROM definition WHERE server = ? AND name = ? AND digest = ?",
        )
        .bind(server.as_str())
        .bind(name)
        .bind(digest)
        .fetch_optional(&self.pool)
        .await;
        row.and_then(|row| row.map(|row| row.try_get("definition")).transpose())
            .context("cannot read the definition of a tool")
    }

    /// Returns all versions of a server's tools, by name, newest first.
    pub async fn definitions(&self, server: &ServerId) -> Result<Vec<DefinitionRow>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM definition WHERE server = ? ORDER BY name, first_seen_at DESC, rowid DESC")
                .bind(server.as_str())
                .fetch_all(&self.pool)
                .await;
        rows.and_then(|rows| rows.iter().map(read).collect())
            .context("cannot read the definitions of a server")
    }

    /// Records that a person accepts these definitions, given by name and digest.
    pub async fn accept_definitions(
        &self,
        server: &ServerId,
        tools: &[(String, String)],
    ) -> Result<(), StoreError> {
        let write = async {
            let mut tx = self.pool.begin().await?;
            for (name, digest) in tools {
                sqlx::query("UPDATE definition SET accepted_at = ? WHERE server = ? AND name = ? AND digest = ?")
                    .bind(clock::now().0)
                    .bind(server.as_str())
                    .bind(name)
                    .bind(digest)
                    .execute(&mut *tx)
                    .await?;
            }
            tx.commit().await
        };
        write.await.context("cannot write the acceptance of tools")
    }
}

/// Records the offered definitions, in the transaction of a sync.
pub(super) async fn write_offered(
    server: &ServerId,
    offered: &[OfferedDefinition],
    connection: &mut SqliteConnection,
) -> Result<(), sqlx::Error> {
    let now = clock::now().0;
    for definition in offered {
        sqlx::query(
            "INSERT INTO definition (server, name, digest, definition, first_seen_at, accepted_at) VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET accepted_at = coalesce(definition.accepted_at, excluded.accepted_at)",
        )
        .bind(server.as_str())
        .bind(&definition.name)
        .bind(&definition.digest)
        .bind(&definition.definition)
        .bind(now)
        .bind(definition.accepted.then_some(now))
        .execute(&mut *connection)
        .await?;
    }
    // A server may change its definitions without end.
    sqlx::query(
        "DELETE FROM definition WHERE server = ?1 AND rowid IN (SELECT row FROM (
           SELECT rowid AS row, row_number() OVER (PARTITION BY name ORDER BY first_seen_at DESC, rowid DESC) AS nth
           FROM definition WHERE server = ?1) WHERE nth > ?2)",
    )
    .bind(server.as_str())
    .bind(MAX_VERSIONS)
    .execute(connection)
    .await
    .map(drop)
}

fn read(row: &SqliteRow) -> Result<DefinitionRow, sqlx::Error> {
    Ok(DefinitionRow {
        name: row.try_get("name")?,
        digest: row.try_get("digest")?,
        definition: row.try_get("definition")?,
        first_seen_at: Timestamp(row.try_get("first_seen_at")?),
        accepted_at: row.try_get::<Option<i64>, _>("accepted_at")?.map(Timestamp),
    })
}
