//! `token_usage`: about how many tokens the calls of each tool cost, in steps of five minutes.

use drawbridge_model::ids::{ClientName, ServerId, Timestamp};

use crate::{Store, StoreContext, StoreError};

/// The width of a step, in milliseconds. The charts add steps up.
pub const STEP_MS: i64 = 5 * 60 * 1_000;
/// How long the steps are kept: a little longer than the longest chart.
const KEPT_MS: i64 = 32 * 24 * 3600 * 1_000;

/// The tokens of calls of one tool by one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUsageRow {
    pub client: ClientName,
    pub server: ServerId,
    pub tool: String,
    /// The tokens of the arguments.
    pub sent: u64,
    /// The tokens of the results.
    pub received: u64,
}

impl Store {
    /// Adds tokens to the step that contains `at`, and deletes steps that are too old for every
    /// chart.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written. Nothing is added then.
    pub async fn add_token_usage(
        &self,
        at: Timestamp,
        rows: &[TokenUsageRow],
    ) -> Result<(), StoreError> {
        let write = async {
            let mut transaction = self.pool.begin().await?;
            for row in rows {
                sqlx::query(
                    "INSERT INTO token_usage (at, client, server, tool, sent, received)
                     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
                     SET sent = sent + excluded.sent, received = received + excluded.received",
                )
                .bind(at.0 - at.0.rem_euclid(STEP_MS))
                .bind(row.client.as_str())
                .bind(row.server.as_str())
                .bind(&row.tool)
                .bind(row.sent.cast_signed())
                .bind(row.received.cast_signed())
                .execute(&mut *transaction)
                .await?;
            }
            sqlx::query("DELETE FROM token_usage WHERE at < ?")
                .bind(at.0 - KEPT_MS)
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await
        };
        write.await.context("cannot write the tokens of calls")
    }
}
