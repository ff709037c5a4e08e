//! `server`: the accepted identity of a server, and the state of its copy in the catalog.

use drawbridge_jsonrpc::json;
use drawbridge_model::{
    capability::ExcludedEntries,
    clock,
    ids::{ServerId, Timestamp},
    protocol::Extensions,
    server::SyncStatus,
};
use sqlx::{Row, sqlite::SqliteRow};

use super::{from_enum_text, to_enum_text};
use crate::{Store, StoreContext, StoreError};

/// The stored data of a server, in addition to its spec file.
#[derive(Debug, Clone)]
pub struct ServerRow {
    pub id: ServerId,
    /// The identity that the user accepted: the digest of what the spec starts or connects to.
    pub accepted_identity: Option<String>,
    /// The accepted spec as JSON. `None` if no spec was accepted since this column was added.
    pub accepted_spec: Option<String>,
    /// The accepted program as JSON. `None` if it is not known yet.
    pub accepted_program: Option<String>,
    /// The foreign secrets that a person granted to the server, as JSON.
    pub granted_secrets: Option<String>,
    /// When the server was first accepted.
    pub accepted_at: Option<Timestamp>,
    pub sync_status: SyncStatus,
    pub last_synced_at: Option<Timestamp>,
    /// The identity of the server from which the copy was read.
    pub synced_identity: Option<String>,
    /// The name that the server gave itself in its handshake.
    pub server_name: Option<String>,
    pub server_version: Option<String>,
    pub protocol_version: Option<String>,
    pub instructions: Option<String>,
    /// The extensions of the protocol that the server declares.
    pub extensions: Extensions,
    /// How long the copy may be kept, according to the server, in milliseconds.
    pub ttl_ms: Option<u32>,
    /// Whether the server declared resources, listed or not. `None` if the copy is older than this
    /// column.
    pub offers_resources: Option<bool>,
    /// Whether the server declared one of its lists private, so that each client has a copy of its
    /// own.
    pub has_private_lists: bool,
    /// The entries of the server's lists that the copy excludes.
    pub excluded: ExcludedEntries,
}

/// The columns about the acceptance of a server. All texts except the identity are JSON.
#[derive(Debug, Clone, Copy)]
pub struct AcceptedColumns<'a> {
    pub identity: &'a str,
    pub spec: &'a str,
    pub program: Option<&'a str>,
    pub granted_secrets: &'a str,
}

impl ServerRow {
    /// Returns a server about which nothing is known yet.
    pub fn new(id: ServerId) -> Self {
        Self {
            id,
            accepted_identity: None,
            accepted_spec: None,
            accepted_program: None,
            granted_secrets: None,
            accepted_at: None,
            sync_status: SyncStatus::NeverSynced,
            last_synced_at: None,
            synced_identity: None,
            server_name: None,
            server_version: None,
            protocol_version: None,
            instructions: None,
            extensions: Extensions::default(),
            ttl_ms: None,
            offers_resources: None,
            has_private_lists: false,
            excluded: ExcludedEntries::default(),
        }
    }
}

impl Store {
    pub async fn servers(&self) -> Result<Vec<ServerRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM server ORDER BY id")
            .fetch_all(&self.pool)
            .await;
        rows.and_then(|rows| rows.iter().map(server_from_row).collect())
            .context("cannot read the servers")
    }

    /// Records that the user accepted a server.
    pub async fn accept_server(
        &self,
        id: &ServerId,
        accepted: AcceptedColumns<'_>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO server (id, accepted_identity, accepted_spec, accepted_program, granted_secrets, accepted_at)
             VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET accepted_identity = excluded.accepted_identity,
               accepted_spec = excluded.accepted_spec, accepted_program = excluded.accepted_program,
               granted_secrets = excluded.granted_secrets,
               accepted_at = coalesce(server.accepted_at, excluded.accepted_at)",
        )
        .bind(id.as_str())
        .bind(accepted.identity)
        .bind(accepted.spec)
        .bind(accepted.program)
        .bind(accepted.granted_secrets)
        .bind(clock::now().0)
        .execute(&self.pool)
        .await
        .map(drop)
        .context("cannot write the acceptance of a server")
    }

    /// Deletes a server, its copy in the catalog, and the versions of its definitions.
    pub async fn remove_server(&self, id: &ServerId) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM server WHERE id = ?")
            .bind(id.as_str())
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot remove a server")
    }
}

fn server_from_row(row: &SqliteRow) -> Result<ServerRow, sqlx::Error> {
    Ok(ServerRow {
        id: ServerId::new(row.try_get::<String, _>("id")?),
        accepted_identity: row.try_get("accepted_identity")?,
        accepted_spec: row.try_get("accepted_spec")?,
        accepted_program: row.try_get("accepted_program")?,
        granted_secrets: row.try_get("granted_secrets")?,
        accepted_at: row.try_get::<Option<i64>, _>("accepted_at")?.map(Timestamp),
        sync_status: from_enum_text(row.try_get("sync_status")?)?,
        last_synced_at: row
            .try_get::<Option<i64>, _>("last_synced_at")?
            .map(Timestamp),
        synced_identity: row.try_get("synced_identity")?,
        server_name: row.try_get("server_name")?,
        server_version: row.try_get("server_version")?,
        protocol_version: row.try_get("protocol_version")?,
        instructions: row.try_get("instructions")?,
        extensions: row
            .try_get::<Option<String>, _>("extensions")?
            .map_or_else(Extensions::default, |json| Extensions::from_json(&json)),
        ttl_ms: row.try_get("ttl_ms")?,
        offers_resources: row.try_get("offers_resources")?,
        has_private_lists: row.try_get("has_private_lists")?,
        // This value is only shown. If it cannot be read, the next sync writes it again.
        excluded: row
            .try_get::<Option<String>, _>("excluded_entries")?
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default(),
    })
}

/// Records the server's part of a sync, in the same transaction as its definitions.
pub(super) async fn write_server(
    row: &ServerRow,
    connection: &mut sqlx::SqliteConnection,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO server (id, sync_status, last_synced_at, synced_identity, server_name, server_version, protocol_version, instructions, extensions, ttl_ms, offers_resources, has_private_lists, excluded_entries)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET sync_status = excluded.sync_status, last_synced_at = excluded.last_synced_at, synced_identity = excluded.synced_identity,
           server_name = excluded.server_name, server_version = excluded.server_version,
           protocol_version = excluded.protocol_version, instructions = excluded.instructions, extensions = excluded.extensions, ttl_ms = excluded.ttl_ms,
           offers_resources = excluded.offers_resources, has_private_lists = excluded.has_private_lists, excluded_entries = excluded.excluded_entries",
    )
    .bind(row.id.as_str())
    .bind(to_enum_text(&row.sync_status))
    .bind(row.last_synced_at.map(|t| t.0))
    .bind(&row.synced_identity)
    .bind(&row.server_name)
    .bind(&row.server_version)
    .bind(&row.protocol_version)
    .bind(&row.instructions)
    .bind((!row.extensions.is_empty()).then(|| row.extensions.to_json()))
    .bind(row.ttl_ms)
    .bind(row.offers_resources)
    .bind(row.has_private_lists)
    .bind((!row.excluded.is_empty()).then(|| json::to_raw(&row.excluded).get().to_owned()))
    .execute(connection)
    .await
    .map(drop)
}
