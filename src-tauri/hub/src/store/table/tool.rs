//! `tool`: the definitions of each server's tools, as the server sent them.

use sqlx::Row;

use super::server::{ServerRow, write_synced};
use crate::{
    model::ids::ServerId,
    store::{Store, StoreError, While},
};

impl Store {
    /// The definitions of a server's tools, in the server's order.
    pub async fn tools(&self, server: &ServerId) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query("SELECT definition FROM tool WHERE server = ? ORDER BY position")
            .bind(server.as_str())
            .fetch_all(&self.pool)
            .await;
        rows.and_then(|rows| rows.iter().map(|row| row.try_get("definition")).collect()).doing("cannot read the tools")
    }

    /// Records a sync: the server, and (name, definition) of its tools in place of those it had.
    pub async fn put_synced(&self, server: &ServerRow, tools: &[(&str, &str)]) -> Result<(), StoreError> {
        let write = async {
            let mut tx = self.pool.begin().await?;
            write_synced(server, &mut tx).await?;
            sqlx::query("DELETE FROM tool WHERE server = ?").bind(server.id.as_str()).execute(&mut *tx).await?;
            for (position, (name, definition)) in (0_i64..).zip(tools) {
                sqlx::query("INSERT INTO tool (server, position, name, definition) VALUES (?, ?, ?, ?)")
                    .bind(server.id.as_str())
                    .bind(position)
                    .bind(name)
                    .bind(definition)
                    .execute(&mut *tx)
                    .await?;
            }
            tx.commit().await
        };
        write.await.doing("cannot write the tools")
    }
}
