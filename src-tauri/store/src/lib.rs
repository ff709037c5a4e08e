//! Everything that outlives the hub: the database, the [`secrets`], the [`settings`], the [`logs`]
//! and the reports of [`crashes`]; and [`backup`]s of the database, the specs and the copies of
//! clients' files.
//!
//! The database is one SQLite file. Except in tests, no other crate uses sqlx or rusqlite. The
//! journal uses rusqlite, because sqlx passes each statement to another thread.
//!
//! | table | holds |
//! |---|---|
//! | `setting` | the user's settings |
//! | `client` | clients, with the HMACs of their tokens |
//! | `server`, `capability` | the accepted identity of each server, and its copy in the catalog |
//! | `client_copy` | the lists that a server declared private, for each client |
//! | `definition` | the versions of each server's definitions, and when they were accepted |
//! | `published_server` | a copy of the official registry |
//! | `profile`, `client_profile` | which servers and tools a client sees |
//! | `rule` | the rules of the policy |
//! | `call` | every call with its decision and outcome; written by the [`journal`] |
//! | `call_result` | the kept results of calls; also written by the journal |
//! | `session_period` | the periods in which a session made calls; also written by the journal |
//! | `access_report` | the accesses of each server's processes in its latest recorded run |
//! | `token_usage` | about how many tokens the calls of each tool cost, for the charts |
//! | `audit`, `audit_head` | the entries of the [`audit`]; also written by the journal |
//! | `client_file`, `client_change` | Drawbridge's entries in clients' files; undoable changes |
//! | `hook` | the hooks |
//! | `memory`, `memory_index` | the entries of the memory, with a full-text index |
//! | `sampling_usage` | the requests to the sampling provider and their tokens, per day |

pub mod audit;
pub mod backup;
pub mod crashes;
pub mod data_dir;
mod db;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod health;
pub mod journal;
pub mod logs;
mod redact;
pub mod secrets;
pub mod settings;
mod size;
pub mod table;

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use drawbridge_model::audit::AuditKind;
use sqlx::SqlitePool;

pub use journal::{CANCELLED_BY_CLIENT, Journal, JournalError};

/// An error while reading or writing the store.
#[derive(Debug, thiserror::Error)]
#[error("the database {context}: {source}")]
pub struct StoreError {
    context: &'static str,
    source: sqlx::Error,
}

/// The open database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pool: SqlitePool,
    file: Arc<Path>,
    /// The journal, after [`Store::journal`] has started it.
    journal: Arc<OnceLock<Journal>>,
}

impl Store {
    /// Opens the database, creates it if it does not exist, and migrates it to the newest version.
    /// If the file is corrupt, moves it aside and creates a new file. The second value is then the
    /// path of the corrupt file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, created or migrated, or if a newer version of
    /// Drawbridge wrote the file.
    pub async fn open(file: &Path) -> Result<(Self, Option<std::path::PathBuf>), StoreError> {
        let (pool, moved) = db::open(file).await?;
        Ok((
            Self {
                pool,
                file: file.into(),
                journal: Arc::default(),
            },
            moved,
        ))
    }

    /// Returns the journal, which writes the calls, the audit log and the rules. Starts it first if
    /// necessary.
    pub fn journal(&self) -> Journal {
        let start = || Journal::start(self.file.to_path_buf(), self.pool.clone());
        self.journal.get_or_init(start).clone()
    }

    /// Appends an entry that concerns no call to the audit log. The journal writes it in the
    /// background. Does nothing if the journal was not started. `body` serializes to a JSON object
    /// with few members.
    pub fn append_audit(&self, kind: AuditKind, body: &impl serde::Serialize) {
        if let Some(journal) = self.journal.get() {
            journal.append_audit(kind, body);
        }
    }

    /// Checks that a write transaction can begin, which succeeds even on a full disk.
    ///
    /// # Errors
    /// Returns an error if no transaction can begin, for instance because another program holds the
    /// lock.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        let begin = async {
            let transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
            transaction.rollback().await
        };
        begin.await.context("cannot be written")
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Adds the failed operation to an error.
trait StoreContext<T> {
    fn context(self, context: &'static str) -> Result<T, StoreError>;
}

impl<T> StoreContext<T> for Result<T, sqlx::Error> {
    fn context(self, context: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| StoreError { context, source })
    }
}
