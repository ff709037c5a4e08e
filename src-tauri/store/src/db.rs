//! Opens the database file and migrates it.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    time::Duration,
};

use drawbridge_model::clock;
use futures_util::TryStreamExt;
use rusqlite::OpenFlags;
use sqlx::{
    Connection, SqlSafeStr, SqliteConnection, SqlitePool,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{StoreContext, StoreError, audit};

/// The number, the name and the SQL of each migration. No version of Drawbridge had a migration
/// with the number 22, 25, 29 or 31.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "initial", include_str!("migrations/0001_initial.sql")),
    (
        2,
        "capabilities",
        include_str!("migrations/0002_capabilities.sql"),
    ),
    (
        3,
        "call_number",
        include_str!("migrations/0003_call_number.sql"),
    ),
    (4, "ttl", include_str!("migrations/0004_ttl.sql")),
    (
        5,
        "definitions",
        include_str!("migrations/0005_definitions.sql"),
    ),
    (6, "rules", include_str!("migrations/0006_rules.sql")),
    (7, "audit", include_str!("migrations/0007_audit.sql")),
    (8, "left_out", include_str!("migrations/0008_left_out.sql")),
    (
        9,
        "resources",
        include_str!("migrations/0009_resources.sql"),
    ),
    (
        10,
        "plain_names",
        include_str!("migrations/0010_plain_names.sql"),
    ),
    (
        11,
        "guarded_methods",
        include_str!("migrations/0011_guarded_methods.sql"),
    ),
    (
        12,
        "definition_kinds",
        include_str!("migrations/0012_definition_kinds.sql"),
    ),
    (
        13,
        "accepted_specs",
        include_str!("migrations/0013_accepted_specs.sql"),
    ),
    (
        14,
        "client_copies",
        include_str!("migrations/0014_client_copies.sql"),
    ),
    (
        15,
        "project_folders",
        include_str!("migrations/0015_project_folders.sql"),
    ),
    (
        16,
        "client_files",
        include_str!("migrations/0016_client_files.sql"),
    ),
    (17, "memory", include_str!("migrations/0017_memory.sql")),
    (18, "hooks", include_str!("migrations/0018_hooks.sql")),
    (
        19,
        "sampling_usage",
        include_str!("migrations/0019_sampling_usage.sql"),
    ),
    (
        20,
        "token_usage",
        include_str!("migrations/0020_token_usage.sql"),
    ),
    (
        21,
        "extensions",
        include_str!("migrations/0021_extensions.sql"),
    ),
    (
        23,
        "abandoned_calls",
        include_str!("migrations/0023_abandoned_calls.sql"),
    ),
    (24, "access", include_str!("migrations/0024_access.sql")),
    (
        26,
        "content_flags",
        include_str!("migrations/0026_content_flags.sql"),
    ),
    (27, "limits", include_str!("migrations/0027_limits.sql")),
    (
        28,
        "access_reports",
        include_str!("migrations/0028_access_reports.sql"),
    ),
    (
        30,
        "disabled_rules",
        include_str!("migrations/0030_disabled_rules.sql"),
    ),
    (
        32,
        "published_servers",
        include_str!("migrations/0032_published_servers.sql"),
    ),
    (
        33,
        "call_session",
        include_str!("migrations/0033_call_session.sql"),
    ),
    (
        34,
        "call_result",
        include_str!("migrations/0034_call_result.sql"),
    ),
    (
        35,
        "session_period",
        include_str!("migrations/0035_session_period.sql"),
    ),
    (
        36,
        "call_asked",
        include_str!("migrations/0036_call_asked.sql"),
    ),
];

/// How long an unused connection stays open. Each connection has a thread and a page cache.
const IDLE_CONNECTION: Duration = Duration::from_secs(3);

/// Opens and migrates the database. If the file is corrupt, moves it aside, opens a new database,
/// and also returns the path of the moved file.
pub(super) async fn open(file: &Path) -> Result<(SqlitePool, Option<PathBuf>), StoreError> {
    match try_open(file).await {
        Ok(pool) => Ok((pool, None)),
        Err(error) if is_corrupt(&error.source) => {
            let aside = file.with_extension(format!("corrupt-{}.db", clock::now().0));
            std::fs::rename(file, &aside).map_err(|e| StoreError {
                context: "is corrupt and cannot be moved aside",
                source: sqlx::Error::Io(e),
            })?;
            for extension in ["db-wal", "db-shm"] {
                let _ = std::fs::rename(
                    file.with_extension(extension),
                    aside.with_extension(extension),
                );
            }
            // The old key stays with the old file, so that the audit log in it can still be
            // verified. The new database gets a new key.
            for (name, extension) in [
                (audit::KEY_FILE, "key"),
                (audit::head_file::FILE_NAME, "head"),
            ] {
                let _ = std::fs::rename(file.with_file_name(name), aside.with_extension(extension));
            }
            Ok((try_open(file).await?, Some(aside)))
        }
        Err(error) => Err(error),
    }
}

/// Opens a connection for one query with many rows. The connection sees all earlier commits.
pub(super) fn open_for_reading(file: &Path) -> Result<rusqlite::Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

async fn try_open(file: &Path) -> Result<SqlitePool, StoreError> {
    create_private_file(file).map_err(|e| StoreError {
        context: "cannot be created",
        source: sqlx::Error::Io(e),
    })?;
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5));
    let pool = SqlitePoolOptions::new()
        .max_connections(4)
        // A minimum would make the pool replace its unused connections again and again.
        .min_connections(0)
        .idle_timeout(IDLE_CONNECTION)
        .after_release(|connection, _| Box::pin(is_reusable(connection)))
        .connect_with(options)
        .await
        .context("cannot be opened")?;
    migrator(MIGRATIONS)
        .run(&pool)
        .await
        .map_err(|e| StoreError {
            context: if matches!(e, MigrateError::VersionMissing(_)) {
                "was written by a newer version of Drawbridge; install that version, or use another data folder"
            } else {
                "cannot be migrated"
            },
            source: e.into(),
        })?;
    check_readable(&pool).await.context("cannot be read")?;
    Ok(pool)
}

/// Returns whether a released connection may go back into the pool: it must have no open
/// transaction.
///
/// On a full disk, SQLite itself rolls a transaction back. The rollback by sqlx then fails, so that
/// sqlx still counts the transaction as open, and makes the next transaction a savepoint. If that
/// savepoint is not committed, it stays open and blocks every other writer.
async fn is_reusable(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // sqlx rolls a dropped transaction back before its next command. The ping waits for that
    // rollback.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// Reads every table. If the file is corrupt, the error appears now, while the database can be
/// replaced, and not while a caller waits. The tables of full-text indexes are not read, because
/// their loss is no reason to replace the database.
async fn check_readable(pool: &SqlitePool) -> Result<(), sqlx::Error> {
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%_index%'",
    )
    .fetch_all(pool)
    .await?;
    for table in tables {
        // No row satisfies these conditions. SQLite visits every row, and returns none.
        let condition = match table.as_str() {
            "call" => "WHERE outcome = ''",
            "audit" => "WHERE kind = ''",
            "published_server" => "WHERE document = ''",
            _ => "",
        };
        let sql = format!("SELECT * FROM \"{table}\" {condition}");
        let mut rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch(pool);
        while rows.try_next().await?.is_some() {}
    }
    Ok(())
}

fn migrator(migrations: &[(i64, &'static str, &'static str)]) -> Migrator {
    let migration = |(version, name, sql): &(i64, &'static str, &'static str)| {
        Migration::new(
            *version,
            Cow::Borrowed(*name),
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    };
    Migrator::with_migrations(migrations.iter().map(migration).collect())
}

/// Creates the file, for this user only (on Unix), if it does not exist. SQLite gives its companion
/// files the same mode.
fn create_private_file(file: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}

/// Returns whether the error is SQLITE_CORRUPT or SQLITE_NOTADB, also in an extended form or inside
/// a migration error.
fn is_corrupt(error: &sqlx::Error) -> bool {
    if let sqlx::Error::Migrate(error) = error {
        return std::error::Error::source(error)
            .and_then(|source| source.downcast_ref::<sqlx::Error>())
            .is_some_and(is_corrupt);
    }
    let code = error
        .as_database_error()
        .and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| matches!(code & 0xff, 11 | 26))
}

#[cfg(test)]
mod tests;
