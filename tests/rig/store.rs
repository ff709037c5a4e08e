//! The hub's database, which tests read and change as another program could.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::{
    Connection, Row, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteRow},
};

/// A row of `call`.
#[derive(Debug, Clone)]
pub struct CallRow {
    pub id: i64,
    pub method: String,
    pub client: String,
    pub server: String,
    pub tool: String,
    pub definition_digest: String,
    pub arguments_digest: String,
    pub decision: String,
    pub decided_by: String,
    pub reason: String,
    pub outcome: String,
    pub error: String,
}

/// Returns the calls in the data folder, oldest first. Opens the file read-only.
///
/// # Errors
///
/// Returns an error if the database cannot be read.
pub fn read_calls(data_dir: &Path) -> Result<Vec<CallRow>, sqlx::Error> {
    let query = async |connection: &mut _| {
        sqlx::query("SELECT * FROM call ORDER BY id")
            .fetch_all(connection)
            .await
    };
    run_query(data_dir, query)?.iter().map(read_row).collect()
}

/// Returns whether one of the newest 2,000 calls has arguments with this digest and was allowed.
/// Opens the file read-only.
///
/// # Errors
///
/// Returns an error if the database cannot be read.
pub fn is_allowed(data_dir: &Path, arguments_digest: &str) -> Result<bool, sqlx::Error> {
    const QUERY: &str = "SELECT count(*) FROM (SELECT * FROM call ORDER BY id DESC LIMIT 2000)
         WHERE arguments_digest = ? AND decision = 'allowed'";
    let query = async |connection: &mut _| {
        sqlx::query_scalar(QUERY)
            .bind(arguments_digest)
            .fetch_one(connection)
            .await
    };
    run_query(data_dir, query).map(|found: i64| found > 0)
}

/// Checks the invariant that no call reaches a server without a recorded decision. Returns the
/// violation to record, or `None`. A server calls this function when it receives a call with these
/// arguments.
pub fn find_undecided(data_dir: &Path, arguments: &str) -> Option<Value> {
    let digest = digest(arguments);
    match is_allowed(data_dir, &digest) {
        Ok(true) => None,
        found => Some(json!({"undecided": digest, "found": format!("{found:?}")})),
    }
}

/// Returns the SHA-256 digest of a text in hex, as the store has it for arguments.
pub fn digest(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Moves everything from the WAL into the database file, while no hub runs.
#[track_caller]
pub fn checkpoint(data_dir: &Path) {
    run_sql(data_dir, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/// Returns the offset of the root page of a table in the database file, and the page size, both in
/// bytes. Opens the file read-only.
///
/// # Errors
///
/// Returns an error if the database cannot be read, or has no such table.
pub fn find_root_page(data_dir: &Path, table: &str) -> Result<(u64, usize), sqlx::Error> {
    const QUERY: &str = "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?";
    let (size, root) = run_query(data_dir, async |connection: &mut _| {
        let size: i64 = sqlx::query_scalar("PRAGMA page_size")
            .fetch_one(&mut *connection)
            .await?;
        let root: i64 = sqlx::query_scalar(QUERY)
            .bind(table)
            .fetch_one(connection)
            .await?;
        Ok((size, root))
    })?;
    Ok((
        (root - 1).cast_unsigned() * size.cast_unsigned(),
        usize::try_from(size).unwrap_or_default(),
    ))
}

/// Returns the kinds of the audit log's entries, oldest first. Opens the file read-only.
///
/// # Errors
///
/// Returns an error if the database cannot be read.
pub fn read_audit_kinds(data_dir: &Path) -> Result<Vec<String>, sqlx::Error> {
    const QUERY: &str = "SELECT kind FROM audit ORDER BY seq";
    run_query(data_dir, async |connection: &mut _| {
        sqlx::query_scalar(QUERY).fetch_all(connection).await
    })
}

/// Returns whether SQLite's integrity check passes.
///
/// # Errors
///
/// Returns an error if the database cannot be read.
pub fn passes_integrity_check(data_dir: &Path) -> Result<bool, sqlx::Error> {
    const QUERY: &str = "PRAGMA integrity_check";
    let report = run_query(data_dir, async |connection: &mut _| {
        sqlx::query_scalar(QUERY).fetch_one(connection).await
    });
    report.map(|report: String| report == "ok")
}

/// Changes the database as another program could, while no hub runs.
#[track_caller]
pub fn run_sql(data_dir: &Path, sql: &'static str) {
    let change = open_database(data_dir, false, async |connection: &mut _| {
        sqlx::query(sql).execute(connection).await
    });
    change.unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// Runs a query on the database, which is opened read-only.
fn run_query<T>(
    data_dir: &Path,
    query: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    open_database(data_dir, true, query)
}

fn open_database<T>(
    data_dir: &Path,
    is_read_only: bool,
    query: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    let file = data_dir.join("drawbridge.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .read_only(is_read_only);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        let answer = query(&mut connection).await?;
        connection.close().await?;
        Ok(answer)
    })
}

fn read_row(row: &SqliteRow) -> Result<CallRow, sqlx::Error> {
    Ok(CallRow {
        id: row.try_get("id")?,
        method: row.try_get("method")?,
        client: row.try_get("client")?,
        server: row.try_get("server")?,
        tool: row.try_get("tool")?,
        definition_digest: row.try_get("definition_digest")?,
        arguments_digest: row.try_get("arguments_digest")?,
        decision: row.try_get("decision")?,
        decided_by: row.try_get("decided_by")?,
        reason: row.try_get("reason")?,
        outcome: row.try_get("outcome")?,
        error: row.try_get("error")?,
    })
}
