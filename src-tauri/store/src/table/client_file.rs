//! `client_file` and `client_change`: the entries that Drawbridge has written into configuration
//! files of clients, and the changes of these files, with the time at which each was undone.

use drawbridge_model::{
    client_file::{ClientAction, ClientTransport},
    ids::{ClientName, ServerId, Timestamp},
};
use serde::{Deserialize, Serialize};
use sqlx::{Row, sqlite::SqliteRow};

use super::{from_enum_text, to_enum_text};
use crate::{Store, StoreContext, StoreError};

/// An entry in a client's file that Drawbridge wrote and keeps up to date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientFileRow {
    pub path: String,
    /// The kind of client, such as `claude-code`.
    pub kind: String,
    /// The name under which Drawbridge knows the client.
    pub client: ClientName,
    /// The folder of the project to which the file belongs.
    pub project: Option<String>,
    pub transport: ClientTransport,
    /// Whether the client leaves the approval of calls to Drawbridge.
    pub asks_once: bool,
    /// Whether Drawbridge restores the entry, without asking a person, if another program removes
    /// or changes it.
    pub restores: bool,
    /// SHA-256 of the entry, in hex. The entry itself may contain a token.
    pub entry_digest: String,
    pub connected_at: Timestamp,
}

/// A change that Drawbridge made to clients' files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientChangeRow {
    pub id: String,
    pub made_at: Timestamp,
    pub action: ClientAction,
    /// The kind of client; `None` for an import.
    pub kind: Option<String>,
    pub files: Vec<String>,
    /// The servers that were imported.
    pub servers: Vec<ServerId>,
    pub undone_at: Option<Timestamp>,
}

impl Store {
    pub async fn client_files(&self) -> Result<Vec<ClientFileRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM client_file ORDER BY path")
            .fetch_all(&self.pool)
            .await;
        rows.and_then(|rows| rows.iter().map(file_from_row).collect())
            .context("cannot read the list of clients' files")
    }

    /// Removes the rows of the paths in `removed`, and then writes `written`, in one transaction.
    pub async fn replace_client_files(
        &self,
        removed: &[String],
        written: &[ClientFileRow],
    ) -> Result<(), StoreError> {
        let replace = async {
            let mut transaction = self.pool.begin().await?;
            for path in removed {
                sqlx::query("DELETE FROM client_file WHERE path = ?")
                    .bind(path)
                    .execute(&mut *transaction)
                    .await?;
            }
            for row in written {
                sqlx::query("INSERT OR REPLACE INTO client_file (path, kind, client, project, transport, asks_once, restores, entry_digest, connected_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
                    .bind(&row.path)
                    .bind(&row.kind)
                    .bind(row.client.as_str())
                    .bind(&row.project)
                    .bind(to_enum_text(&row.transport))
                    .bind(row.asks_once)
                    .bind(row.restores)
                    .bind(&row.entry_digest)
                    .bind(row.connected_at.0)
                    .execute(&mut *transaction)
                    .await?;
            }
            transaction.commit().await
        };
        replace
            .await
            .context("cannot write the list of clients' files")
    }

    /// Returns all changes, newest first.
    pub async fn client_changes(&self) -> Result<Vec<ClientChangeRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM client_change ORDER BY made_at DESC, rowid DESC")
            .fetch_all(&self.pool)
            .await;
        rows.and_then(|rows| rows.iter().map(change_from_row).collect())
            .context("cannot read the changes of clients' files")
    }

    /// Adds a change, or replaces the change with its id.
    pub async fn put_client_change(&self, row: &ClientChangeRow) -> Result<(), StoreError> {
        sqlx::query("INSERT OR REPLACE INTO client_change (id, made_at, action, kind, files, servers, undone_at) VALUES (?, ?, ?, ?, ?, ?, ?)")
            .bind(&row.id)
            .bind(row.made_at.0)
            .bind(to_enum_text(&row.action))
            .bind(&row.kind)
            .bind(serde_json::to_string(&row.files).expect("texts can be written as JSON"))
            .bind(serde_json::to_string(&row.servers).expect("ids can be written as JSON"))
            .bind(row.undone_at.map(|time| time.0))
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot write a change of clients' files")
    }
}

fn file_from_row(row: &SqliteRow) -> Result<ClientFileRow, sqlx::Error> {
    Ok(ClientFileRow {
        path: row.try_get("path")?,
        kind: row.try_get("kind")?,
        client: ClientName::new(row.try_get::<String, _>("client")?),
        project: row.try_get("project")?,
        transport: from_enum_text(row.try_get("transport")?)?,
        asks_once: row.try_get("asks_once")?,
        restores: row.try_get("restores")?,
        entry_digest: row.try_get("entry_digest")?,
        connected_at: Timestamp(row.try_get("connected_at")?),
    })
}

fn change_from_row(row: &SqliteRow) -> Result<ClientChangeRow, sqlx::Error> {
    let list = |column: &str| row.try_get::<String, _>(column);
    let decode = |error: serde_json::Error| sqlx::Error::Decode(error.into());
    Ok(ClientChangeRow {
        id: row.try_get("id")?,
        made_at: Timestamp(row.try_get("made_at")?),
        action: from_enum_text(row.try_get("action")?)?,
        kind: row.try_get("kind")?,
        files: serde_json::from_str(&list("files")?).map_err(decode)?,
        servers: serde_json::from_str(&list("servers")?).map_err(decode)?,
        undone_at: row.try_get::<Option<i64>, _>("undone_at")?.map(Timestamp),
    })
}
