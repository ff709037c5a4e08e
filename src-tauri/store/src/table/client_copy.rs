//! `client_copy`: the lists that a server declared private, as the server sent them for each
//! client.

use std::collections::BTreeMap;

use drawbridge_jsonrpc::json;
use drawbridge_model::{
    capability::CapabilityKind,
    ids::{ClientName, ServerId, Timestamp},
};
use serde_json::value::RawValue;
use sqlx::{Row, sqlite::SqliteRow};

use super::{
    capability::Definitions,
    definition::{OfferedDefinition, write_offered},
};
use crate::{Store, StoreContext, StoreError};

/// A client's copy of a server's private lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCopyRow {
    pub server: ServerId,
    pub client: ClientName,
    /// The identity of the server from which the copy was read.
    pub identity: String,
    pub synced_at: Timestamp,
    /// How long the copy may be kept, according to the server, in milliseconds.
    pub ttl_ms: Option<u32>,
    pub lists: Definitions,
}

impl Store {
    pub async fn client_copies(&self) -> Result<Vec<ClientCopyRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM client_copy ORDER BY server, client")
            .fetch_all(&self.pool)
            .await;
        rows.and_then(|rows| rows.iter().map(copy_from_row).collect())
            .context("cannot read the clients' lists")
    }

    /// Records a client's copy, and the versions of the definitions that need acceptance.
    pub async fn record_client_copy(
        &self,
        row: &ClientCopyRow,
        versions: &[OfferedDefinition],
    ) -> Result<(), StoreError> {
        let lists: BTreeMap<_, Vec<_>> = row
            .lists
            .iter()
            .map(|(kind, texts)| (kind, texts.iter().cloned().map(json::raw).collect()))
            .collect();
        let write = async {
            let mut tx = self.pool.begin().await?;
            sqlx::query("INSERT OR REPLACE INTO client_copy (server, client, identity, synced_at, ttl_ms, lists) VALUES (?, ?, ?, ?, ?, ?)")
                .bind(row.server.as_str())
                .bind(row.client.as_str())
                .bind(&row.identity)
                .bind(row.synced_at.0)
                .bind(row.ttl_ms)
                .bind(json::to_raw(&lists).get())
                .execute(&mut *tx)
                .await?;
            write_offered(&row.server, versions, &mut tx).await?;
            tx.commit().await
        };
        write
            .await
            .context("cannot write a client's lists of a server")
    }

    /// Deletes all copies of a server.
    pub async fn delete_client_copies_by_server(
        &self,
        server: &ServerId,
    ) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM client_copy WHERE server = ?")
            .bind(server.as_str())
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot delete the clients' lists of a server")
    }

    /// Deletes all copies of a client.
    pub async fn delete_client_copies_by_client(
        &self,
        client: &ClientName,
    ) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM client_copy WHERE client = ?")
            .bind(client.as_str())
            .execute(&self.pool)
            .await
            .map(drop)
            .context("cannot delete the lists of a client")
    }
}

fn copy_from_row(row: &SqliteRow) -> Result<ClientCopyRow, sqlx::Error> {
    let lists: BTreeMap<CapabilityKind, Vec<Box<RawValue>>> =
        serde_json::from_str(row.try_get("lists")?)
            .map_err(|error| sqlx::Error::Decode(error.into()))?;
    let texts = |list: Vec<Box<RawValue>>| list.iter().map(|raw| raw.get().to_owned()).collect();
    Ok(ClientCopyRow {
        server: ServerId::new(row.try_get::<String, _>("server")?),
        client: ClientName::new(row.try_get::<String, _>("client")?),
        identity: row.try_get("identity")?,
        synced_at: Timestamp(row.try_get("synced_at")?),
        ttl_ms: row.try_get("ttl_ms")?,
        lists: lists
            .into_iter()
            .map(|(kind, list)| (kind, texts(list)))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_lists_of_each_client_are_kept_byte_for_byte() {
        let folder = tempfile::tempdir().expect("make a folder");
        let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
            .await
            .expect("open the store");
        let server = ServerId::new("s");
        let row = crate::table::server::ServerRow {
            has_private_lists: true,
            ..crate::table::server::ServerRow::new(server.clone())
        };
        store
            .record_sync(&row, &Definitions::new(), &[])
            .await
            .expect("write the server");
        assert!(store.servers().await.expect("the servers")[0].has_private_lists);
        let copy = |client: &str, tool: &str| ClientCopyRow {
            server: server.clone(),
            client: ClientName::new(client),
            identity: "i".into(),
            synced_at: Timestamp(5),
            ttl_ms: Some(7),
            lists: Definitions::from([(CapabilityKind::Tools, vec![tool.to_owned()])]),
        };
        let (first, second) = (
            copy("first", r#"{ "name":"a","n":1.0}"#),
            copy("second", r#"{"name":"b"}"#),
        );
        for row in [&copy("first", r#"{"name":"old"}"#), &first, &second] {
            store
                .record_client_copy(row, &[])
                .await
                .expect("write a copy");
        }
        let stored = async || store.client_copies().await.expect("the copies");
        assert_eq!(stored().await, [first.clone(), second.clone()]);
        store
            .delete_client_copies_by_client(&first.client)
            .await
            .expect("delete a client's copies");
        assert_eq!(stored().await, [second]);
        store
            .remove_server(&server)
            .await
            .expect("remove the server");
        assert_eq!(stored().await, []);
    }
}
