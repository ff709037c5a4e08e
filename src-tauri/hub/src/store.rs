//! The store: what outlives the hub, in one SQLite file. The only code that names sqlx, and
//! rusqlite, which is the quicker one for the journal: no other thread between it and the file.
//!
//! | table | holds |
//! |---|---|
//! | `setting` | what the user set |
//! | `client` | clients, tokens as HMACs |
//! | `server`, `capability` | what was accepted of a server, and the catalog's copy of it |
//! | `definition` | the versions of each tool's definition, and when they were accepted |
//! | `profile`, `client_profile` | which servers and tools a client sees |
//! | `policy` | rules |
//! | `call` | every call, its decision and outcome; written by the [`journal`] |
//! | `audit`, `audit_head` | what happened, in a chain that cannot be changed unseen: [`audit`]; written by the journal too |

pub mod audit;
mod db;
pub mod journal;
pub mod table;

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use sqlx::SqlitePool;

use crate::model::audit::AuditKind;

pub use journal::{CANCELLED, Journal, NotWritten};

/// The store could not read or write.
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
    /// The journal, once it was started, for whoever has something to note.
    notes: Arc<OnceLock<Journal>>,
}

impl Store {
    /// Opens the file, made where there is none, and brings it to the newest version. A corrupt
    /// file is moved aside and a fresh one made; then the second value says where it went.
    ///
    /// # Errors
    /// Where the file can be neither opened nor made.
    pub async fn open(file: &Path) -> Result<(Self, Option<std::path::PathBuf>), StoreError> {
        let (pool, moved) = db::open(file).await?;
        Ok((
            Self {
                pool,
                file: file.into(),
                notes: Arc::default(),
            },
            moved,
        ))
    }

    /// Starts the writer of calls.
    pub fn journal(&self) -> Journal {
        let journal = Journal::start(self.file.to_path_buf(), self.pool.clone());
        let _ = self.notes.set(journal.clone());
        journal
    }

    /// Notes in the audit what happened beside calls, behind: nobody waits for it. It has a JSON object of a few members.
    pub fn note(&self, kind: AuditKind, body: &impl serde::Serialize) {
        if let Some(journal) = self.notes.get() {
            journal.note(kind, body);
        }
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Changes the database as something else than Drawbridge could.
    #[cfg(test)]
    pub async fn forge(&self, sql: &'static str) {
        sqlx::raw_sql(sql)
            .execute(&self.pool)
            .await
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// Adds what was being done to an error.
trait While<T> {
    fn doing(self, context: &'static str) -> Result<T, StoreError>;
}

impl<T> While<T> for Result<T, sqlx::Error> {
    fn doing(self, context: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| StoreError { context, source })
    }
}
