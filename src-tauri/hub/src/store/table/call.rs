//! `call`: every call, its decision and its outcome. Written by the journal only.

use rusqlite::{Connection, params};
use sqlx::{Row, sqlite::SqliteRow};

use super::{from_word, rule, word};
use crate::{
    model::{
        call::{Call, Outcome},
        ids::{CallId, ClientName, RuleId, ServerId, Timestamp},
    },
    random,
    store::{Store, StoreError, While},
};

/// A call with what its decision was bound to.
#[derive(Debug, Clone)]
pub struct CallRow {
    pub call: Call,
    pub definition_digest: String,
    pub arguments_digest: String,
    /// The rule that decided it holds for a number of calls, of which this is one.
    pub is_counted: bool,
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

/// Which past calls to look at, newest first.
#[derive(Debug, Clone, Default)]
pub struct PastFilter {
    pub client: Option<ClientName>,
    pub server: Option<ServerId>,
    pub tool: Option<String>,
    /// Only those that waited for a person.
    pub asked: bool,
    pub since: Option<Timestamp>,
    pub limit: u32,
}

impl Store {
    /// Past calls, each with its arguments as they are kept.
    pub async fn past_calls(&self, filter: &PastFilter) -> Result<Vec<(Call, Option<String>)>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM call WHERE (?1 IS NULL OR client = ?1) AND (?2 IS NULL OR server = ?2)
             AND (?3 IS NULL OR tool = ?3) AND (NOT ?4 OR decided_by IN ('person', 'hub'))
             AND (?5 IS NULL OR at >= ?5) ORDER BY id DESC LIMIT ?6",
        )
        .bind(filter.client.as_ref().map(ClientName::as_str))
        .bind(filter.server.as_ref().map(ServerId::as_str))
        .bind(&filter.tool)
        .bind(filter.asked)
        .bind(filter.since.map(|at| at.0))
        .bind(filter.limit)
        .fetch_all(&self.pool)
        .await;
        let with_arguments = |row: &SqliteRow| Ok((read(row)?, row.try_get("arguments").ok().flatten()));
        rows.and_then(|rows| rows.iter().map(with_arguments).collect()).doing("cannot read the calls")
    }

    pub async fn calls(&self, filter: &CallFilter) -> Result<Vec<Call>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM call WHERE (?1 IS NULL OR client = ?1) AND (?2 IS NULL OR server = ?2)
             AND (NOT ?3 OR decided_by IN ('person', 'hub')) ORDER BY id DESC LIMIT ?4",
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
        let Some(number) = number(id) else { return Ok(None) };
        let row = sqlx::query("SELECT * FROM call WHERE id = ?").bind(number).fetch_optional(&self.pool).await;
        row.and_then(|row| row.as_ref().map(read).transpose()).doing("cannot read a call")
    }

    /// Whether the client has ever called the tool, with whatever decision.
    pub async fn has_called(&self, client: &ClientName, server: &ServerId, tool: &str) -> Result<bool, StoreError> {
        let row =
            sqlx::query("SELECT 1 FROM call WHERE client = ? AND server = ? AND tool = ? ORDER BY id DESC LIMIT 1")
                .bind(client.as_str())
                .bind(server.as_str())
                .bind(tool)
                .fetch_optional(&self.pool)
                .await;
        row.map(|row| row.is_some()).doing("cannot read the calls")
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

/// Writes calls with their decisions.
pub(in crate::store) fn insert<'a>(
    rows: impl Iterator<Item = &'a CallRow>,
    connection: &Connection,
) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO call (id, at, client, server, tool, exposed_name, definition_digest, arguments_digest,
         decision, decided_by, reason, outcome, error, waited_ms, duration_ms, rule, is_edited)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for CallRow { call, definition_digest, arguments_digest, is_counted } in rows {
        statement.execute(params![
            stored(&call.id)?,
            call.at.0,
            call.client.as_str(),
            call.server.as_str(),
            call.tool,
            call.exposed_name,
            definition_digest,
            arguments_digest,
            word(&call.decision),
            word(&call.decided_by),
            call.reason,
            word(&call.outcome),
            call.error,
            call.waited_ms,
            call.duration_ms,
            call.rule.as_ref().map(RuleId::as_str),
            call.is_edited,
        ])?;
        if let (true, Some(rule)) = (is_counted, &call.rule) {
            rule::count(rule, connection)?;
        }
    }
    Ok(())
}

/// Writes what came of calls.
pub(in crate::store) fn update(ended: &[Ended], connection: &Connection) -> Result<(), rusqlite::Error> {
    let mut statement =
        connection.prepare_cached("UPDATE call SET outcome = ?, error = ?, duration_ms = ? WHERE id = ?")?;
    for ended in ended {
        statement.execute(params![word(&ended.outcome), ended.error, ended.duration_ms, stored(&ended.id)?])?;
    }
    Ok(())
}

/// The number that the letters of an id write, by which its row is found; none for what is no id.
fn number(id: &CallId) -> Option<i64> {
    random::number_of(id.as_str()).map(u64::cast_signed)
}

fn stored(id: &CallId) -> Result<i64, rusqlite::Error> {
    number(id).ok_or_else(|| rusqlite::Error::ToSqlConversionFailure(format!("'{id}' is no id of a call").into()))
}

fn read(row: &SqliteRow) -> Result<Call, sqlx::Error> {
    Ok(Call {
        id: CallId::new(random::id_of(row.try_get::<i64, _>("id")?.cast_unsigned())),
        at: Timestamp(row.try_get("at")?),
        client: ClientName::new(row.try_get::<String, _>("client")?),
        server: ServerId::new(row.try_get::<String, _>("server")?),
        tool: row.try_get("tool")?,
        exposed_name: row.try_get("exposed_name")?,
        decision: from_word(row.try_get("decision")?)?,
        decided_by: from_word(row.try_get("decided_by")?)?,
        rule: row.try_get::<Option<String>, _>("rule")?.map(RuleId::new),
        is_edited: row.try_get("is_edited")?,
        reason: row.try_get("reason")?,
        outcome: from_word(row.try_get("outcome")?)?,
        error: row.try_get("error")?,
        waited_ms: row.try_get("waited_ms")?,
        duration_ms: row.try_get("duration_ms")?,
    })
}
