//! `call`: every call, its decision and its outcome. Written by the journal only.

use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection, sqlite::SqliteRow};

use super::{from_word, word};
use crate::{
    model::{
        call::{Call, Outcome},
        ids::{CallId, ClientName, ServerId, Timestamp},
    },
    store::{Store, StoreError, While},
};

/// A call with what its decision was bound to.
#[derive(Debug, Clone)]
pub struct CallRow {
    pub call: Call,
    pub definition_digest: String,
    pub arguments_digest: String,
}

/// Which calls to read, newest first.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    pub client: Option<ClientName>,
    pub server: Option<ServerId>,
    /// Only those that waited for a person.
    pub asked: bool,
    pub limit: u32,
}

impl Store {
    pub async fn calls(&self, filter: &CallFilter) -> Result<Vec<Call>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM call WHERE (?1 IS NULL OR client = ?1) AND (?2 IS NULL OR server = ?2)
             AND (NOT ?3 OR decided_by IN ('person', 'hub')) ORDER BY at DESC, rowid DESC LIMIT ?4",
        )
        .bind(filter.client.as_ref().map(ClientName::as_str))
        .bind(filter.server.as_ref().map(ServerId::as_str))
        .bind(filter.asked)
        .bind(filter.limit)
        .fetch_all(&self.pool)
        .await;
        rows.and_then(|rows| rows.iter().map(read).collect()).doing("cannot read the calls")
    }

    pub async fn call(&self, id: &CallId) -> Result<Option<Call>, StoreError> {
        let row = sqlx::query("SELECT * FROM call WHERE id = ?").bind(id.as_str()).fetch_optional(&self.pool).await;
        row.and_then(|row| row.as_ref().map(read).transpose()).doing("cannot read a call")
    }

    /// Calls that were running when an earlier hub ended: what came of them is unknown.
    pub async fn close_running_calls(&self) -> Result<(), StoreError> {
        let done = sqlx::query("UPDATE call SET outcome = 'unknown', error = 'Drawbridge ended while the call ran' WHERE outcome = 'running'")
            .execute(&self.pool)
            .await;
        done.map(drop).doing("cannot close the calls of an earlier run")
    }
}

/// What came of a call.
#[derive(Debug)]
pub(in crate::store) struct Ended {
    pub(in crate::store) id: CallId,
    pub(in crate::store) outcome: Outcome,
    pub(in crate::store) error: String,
    pub(in crate::store) duration_ms: Option<u32>,
}

/// Rows a statement: SQLite takes 32,766 values.
const ROWS: usize = 512;

/// Writes calls with their decisions, many with one statement.
pub(in crate::store) async fn insert(rows: &[&CallRow], connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    for rows in rows.chunks(ROWS) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO call (id, at, client, server, tool, exposed_name, definition_digest, arguments_digest,
             decision, decided_by, reason, outcome, error, waited_ms, duration_ms) ",
        );
        query.push_values(rows, |mut values, row| {
            let call = &row.call;
            values
                .push_bind(call.id.as_str())
                .push_bind(call.at.0)
                .push_bind(call.client.as_str())
                .push_bind(call.server.as_str())
                .push_bind(&call.tool)
                .push_bind(&call.exposed_name)
                .push_bind(&row.definition_digest)
                .push_bind(&row.arguments_digest)
                .push_bind(word(&call.decision))
                .push_bind(word(&call.decided_by))
                .push_bind(&call.reason)
                .push_bind(word(&call.outcome))
                .push_bind(&call.error)
                .push_bind(call.waited_ms)
                .push_bind(call.duration_ms);
        });
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// Writes what came of calls, many with one statement.
pub(in crate::store) async fn update(ended: &[&Ended], connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    for ended in ended.chunks(ROWS) {
        let mut query = QueryBuilder::<Sqlite>::new("WITH ended (id, outcome, error, duration_ms) AS (");
        query.push_values(ended, |mut values, ended| {
            values
                .push_bind(ended.id.as_str())
                .push_bind(word(&ended.outcome))
                .push_bind(&ended.error)
                .push_bind(ended.duration_ms);
        });
        query.push(
            ") UPDATE call SET outcome = ended.outcome, error = ended.error, duration_ms = ended.duration_ms
             FROM ended WHERE call.id = ended.id",
        );
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

fn read(row: &SqliteRow) -> Result<Call, sqlx::Error> {
    Ok(Call {
        id: CallId::new(row.try_get::<String, _>("id")?),
        at: Timestamp(row.try_get("at")?),
        client: ClientName::new(row.try_get::<String, _>("client")?),
        server: ServerId::new(row.try_get::<String, _>("server")?),
        tool: row.try_get("tool")?,
        exposed_name: row.try_get("exposed_name")?,
        decision: from_word(row.try_get("decision")?)?,
        decided_by: from_word(row.try_get("decided_by")?)?,
        reason: row.try_get("reason")?,
        outcome: from_word(row.try_get("outcome")?)?,
        error: row.try_get("error")?,
        waited_ms: row.try_get("waited_ms")?,
        duration_ms: row.try_get("duration_ms")?,
    })
}
