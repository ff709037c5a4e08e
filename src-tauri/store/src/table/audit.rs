//! `audit`: reads entries for people. Only the journal writes entries.

use drawbridge_model::{
    audit::{AuditEntryView, AuditKind},
    ids::{CallId, Timestamp},
    random,
};
use sqlx::{QueryBuilder, Row, sqlite::SqliteRow};

use super::from_enum_text;
use crate::{Store, StoreContext, StoreError};

/// Which entries to read.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Only entries of this kind; `None` for all entries that are not about calls.
    pub kind: Option<AuditKind>,
    /// Only entries at or after this moment.
    pub since: Option<Timestamp>,
    /// Only entries with a lower number.
    pub before: Option<u32>,
    pub limit: u32,
}

impl Store {
    /// Returns entries of the audit log, newest first.
    pub async fn audit_entries(
        &self,
        filter: &AuditFilter,
    ) -> Result<Vec<AuditEntryView>, StoreError> {
        let mut query = QueryBuilder::new("SELECT seq, at, kind, call, body FROM audit WHERE ");
        match filter.kind {
            Some(kind) => query.push("kind = ").push_bind(kind.as_str()),
            None => query.push("call IS NULL"),
        };
        if let Some(since) = filter.since {
            query.push(" AND at >= ").push_bind(since.0);
        }
        if let Some(before) = filter.before {
            query.push(" AND seq < ").push_bind(before);
        }
        query
            .push(" ORDER BY seq DESC LIMIT ")
            .push_bind(filter.limit);
        let rows = query.build().fetch_all(&self.pool).await;
        rows.and_then(|rows| rows.iter().map(entry_from_row).collect())
            .context("cannot read the audit log")
    }

    /// Returns the time of the first entry of the audit log, or `None` if it has none.
    pub async fn audit_beginning(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("SELECT at FROM audit ORDER BY seq LIMIT 1")
            .fetch_optional(&self.pool)
            .await;
        row.and_then(|row| row.map(|row| row.try_get("at").map(Timestamp)).transpose())
            .context("cannot read the audit log")
    }
}

fn entry_from_row(row: &SqliteRow) -> Result<AuditEntryView, sqlx::Error> {
    let call: Option<i64> = row.try_get("call")?;
    let body: &str = row.try_get("body")?;
    let body = match body {
        "" => serde_json::Value::Null,
        body => serde_json::from_str(body).map_err(|e| sqlx::Error::Decode(e.into()))?,
    };
    Ok(AuditEntryView {
        seq: row.try_get("seq")?,
        at: Timestamp(row.try_get("at")?),
        kind: from_enum_text(row.try_get("kind")?)?,
        call: call.map(|call| CallId::new(random::encode_id(call.cast_unsigned()))),
        body,
    })
}
