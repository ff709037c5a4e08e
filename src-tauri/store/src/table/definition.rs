//! `definition`: the versions of each server's definitions, and when each was accepted.

use drawbridge_jsonrpc::json;
use drawbridge_model::{
    acceptance::{DefinitionId, DefinitionKind},
    clock,
    ids::{ServerId, Timestamp},
};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{from_enum_text, to_enum_text};
use crate::{Store, StoreContext, StoreError};

/// The most versions of one definition that are kept although no person has accepted them and the
/// server does not offer them. Versions that wait for a person, and versions that the spec trusts,
/// are counted separately. The oldest versions are deleted first.
const MAX_VERSIONS: u32 = 20;
/// The same limit for the versions of all definitions of a server.
const MAX_VERSIONS_OF_SERVER: u32 = 2_000;

/// A definition that a server has offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionRow {
    pub kind: DefinitionKind,
    pub name: String,
    pub digest: String,
    /// The JSON as the server sent it. Instructions, and the texts of a resource, are written as
    /// an object.
    pub definition: String,
    pub first_seen_at: Timestamp,
    /// `None` if the definition waits for a person.
    pub accepted_at: Option<Timestamp>,
}

/// A definition that a server offers.
pub struct OfferedDefinition {
    pub id: DefinitionId,
    pub definition: String,
    /// Why the definition is accepted; `None` if it waits for a person.
    pub accepted_by: Option<AcceptedBy>,
}

/// The reason why a definition is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptedBy {
    /// A person accepted the definition, or its server.
    Person,
    /// The server's spec trusts the definitions of the server.
    Trust,
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
            "SELECT definition FROM definition WHERE server = ? AND kind = ? AND name = ? AND digest = ?",
        )
        .bind(server.as_str())
        .bind(to_enum_text(&DefinitionKind::Tool))
        .bind(name)
        .bind(digest)
        .fetch_optional(&self.pool)
        .await;
        row.and_then(|row| row.map(|row| row.try_get("definition")).transpose())
            .context("cannot read the definition of a tool")
    }

    /// Returns all versions of a server's definitions, by kind and name, newest first.
    pub async fn definitions(&self, server: &ServerId) -> Result<Vec<DefinitionRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM definition WHERE server = ? ORDER BY kind, name, first_seen_at DESC, rowid DESC",
        )
        .bind(server.as_str())
        .fetch_all(&self.pool)
        .await;
        rows.and_then(|rows| rows.iter().map(definition_from_row).collect())
            .context("cannot read the definitions of a server")
    }

    /// Returns all versions of one definition, newest first.
    pub async fn definition_versions(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        name: &str,
    ) -> Result<Vec<DefinitionRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM definition WHERE server = ? AND kind = ? AND name = ? ORDER BY first_seen_at DESC, rowid DESC",
        )
        .bind(server.as_str())
        .bind(to_enum_text(&kind))
        .bind(name)
        .fetch_all(&self.pool)
        .await;
        rows.and_then(|rows| rows.iter().map(definition_from_row).collect())
            .context("cannot read the versions of a definition")
    }

    /// Records that a person accepts these definitions.
    pub async fn accept_definitions(
        &self,
        server: &ServerId,
        definitions: &[DefinitionId],
    ) -> Result<(), StoreError> {
        let write = async {
            let mut tx = self.pool.begin().await?;
            for DefinitionId { kind, name, digest } in definitions {
                sqlx::query(
                    "UPDATE definition SET accepted_at = ?, trusted = 0
                     WHERE server = ? AND kind = ? AND name = ? AND digest = ?",
                )
                .bind(clock::now().0)
                .bind(server.as_str())
                .bind(to_enum_text(kind))
                .bind(name)
                .bind(digest)
                .execute(&mut *tx)
                .await?;
            }
            tx.commit().await
        };
        write
            .await
            .context("cannot write the acceptance of definitions")
    }

    /// Records definitions that a server offers. Needed only outside a sync, which records them
    /// together with the lists.
    pub async fn record_definitions(
        &self,
        server: &ServerId,
        offered: &[OfferedDefinition],
    ) -> Result<(), StoreError> {
        let write = async {
            let mut tx = self.pool.begin().await?;
            write_offered(server, offered, &mut tx).await?;
            tx.commit().await
        };
        write
            .await
            .context("cannot write the definitions of a server")
    }
}

/// Records the offered definitions within a transaction, and deletes surplus versions.
pub(super) async fn write_offered(
    server: &ServerId,
    offered: &[OfferedDefinition],
    connection: &mut SqliteConnection,
) -> Result<(), sqlx::Error> {
    let now = clock::now().0;
    for definition in offered {
        sqlx::query(
            "INSERT INTO definition (server, kind, name, digest, definition, first_seen_at, accepted_at, trusted)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET accepted_at = excluded.accepted_at, trusted = excluded.trusted
               WHERE definition.accepted_at IS NULL",
        )
        .bind(server.as_str())
        .bind(to_enum_text(&definition.id.kind))
        .bind(&definition.id.name)
        .bind(&definition.id.digest)
        .bind(&definition.definition)
        .bind(now)
        .bind(definition.accepted_by.map(|_| now))
        .bind(definition.accepted_by == Some(AcceptedBy::Trust))
        .execute(&mut *connection)
        .await?;
    }
    // A server may change its definitions without end. Versions that a person has accepted need no
    // limit, because a person cannot accept them without end.
    let digests: Vec<_> = offered
        .iter()
        .map(|definition| &definition.id.digest)
        .collect();
    sqlx::query(
        "DELETE FROM definition WHERE server = ?1 AND rowid IN (SELECT row FROM (
           SELECT rowid AS row,
             row_number() OVER (PARTITION BY accepted_at IS NULL, kind, name ORDER BY first_seen_at DESC, rowid DESC) AS nth,
             row_number() OVER (PARTITION BY accepted_at IS NULL ORDER BY first_seen_at DESC, rowid DESC) AS nth_of_server
           FROM definition WHERE server = ?1 AND (accepted_at IS NULL OR trusted)
             AND digest NOT IN (SELECT value FROM json_each(?2)))
           WHERE nth > ?3 OR nth_of_server > ?4)",
    )
    .bind(server.as_str())
    .bind(json::to_raw(&digests).get())
    .bind(MAX_VERSIONS)
    .bind(MAX_VERSIONS_OF_SERVER)
    .execute(connection)
    .await
    .map(drop)
}

fn definition_from_row(row: &SqliteRow) -> Result<DefinitionRow, sqlx::Error> {
    Ok(DefinitionRow {
        kind: from_enum_text(row.try_get("kind")?)?,
        name: row.try_get("name")?,
        digest: row.try_get("digest")?,
        definition: row.try_get("definition")?,
        first_seen_at: Timestamp(row.try_get("first_seen_at")?),
        accepted_at: row.try_get::<Option<i64>, _>("accepted_at")?.map(Timestamp),
    })
}

#[cfg(test)]
mod tests;
