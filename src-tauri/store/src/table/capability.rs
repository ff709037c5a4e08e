//! `capability`: the definitions that each server offers, as the server sent them.

use std::collections::BTreeMap;

use drawbridge_model::{capability::CapabilityKind, ids::ServerId};
use sqlx::Row;

use super::{
    definition::{OfferedDefinition, write_offered},
    from_enum_text,
    server::{ServerRow, write_server},
    to_enum_text,
};
use crate::{Store, StoreContext, StoreError};

/// The definitions of a server by kind, each list in the server's order.
pub type Definitions = BTreeMap<CapabilityKind, Vec<String>>;

impl Store {
    pub async fn capabilities(&self, server: &ServerId) -> Result<Definitions, StoreError> {
        let read = async {
            let rows = sqlx::query(
                "SELECT kind, definition FROM capability WHERE server = ? ORDER BY kind, position",
            )
            .bind(server.as_str())
            .fetch_all(&self.pool)
            .await?;
            let mut definitions = Definitions::new();
            for row in rows {
                let kind = from_enum_text(row.try_get("kind")?)?;
                definitions
                    .entry(kind)
                    .or_default()
                    .push(row.try_get("definition")?);
            }
            Ok(definitions)
        };
        read.await.context("cannot read the lists of a server")
    }

    /// Records a sync: the server, the definitions that replace its earlier definitions, and the
    /// versions of the definitions that need acceptance.
    pub async fn record_sync(
        &self,
        server: &ServerRow,
        offered: &Definitions,
        versions: &[OfferedDefinition],
    ) -> Result<(), StoreError> {
        let write = async {
            let mut tx = self.pool.begin().await?;
            write_server(server, &mut tx).await?;
            sqlx::query("DELETE FROM capability WHERE server = ?")
                .bind(server.id.as_str())
                .execute(&mut *tx)
                .await?;
            for (kind, definitions) in offered {
                for (position, definition) in (0_i64..).zip(definitions) {
                    sqlx::query("INSERT INTO capability (server, kind, position, definition) VALUES (?, ?, ?, ?)")
                        .bind(server.id.as_str())
                        .bind(to_enum_text(kind))
                        .bind(position)
                        .bind(definition)
                        .execute(&mut *tx)
                        .await?;
                }
            }
            write_offered(&server.id, versions, &mut tx).await?;
            tx.commit().await
        };
        write.await.context("cannot write the lists of a server")
    }
}
