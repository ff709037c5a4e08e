//! The journal: the one writer of calls. A decision is durable before its call is forwarded.
//!
//! Entries that arrive while a commit runs are committed together with the next one, so that
//! many calls at once cost few commits. A batch with a person's decision is synced to the disk
//! (`synchronous = FULL`): a power cut loses none of those. Of automatic decisions a crash of
//! Drawbridge loses none either, a power cut the last few (`NORMAL`).

use sqlx::{Connection, SqliteConnection, SqlitePool};
use tokio::sync::{mpsc, oneshot};

use super::{
    StoreError, While,
    table::call::{self, CallRow},
};
use crate::model::{
    call::{DecidedBy, Outcome},
    ids::CallId,
};

const BATCH: usize = 256;

/// The journal took no entry: it cannot write, or has ended.
#[derive(Debug, thiserror::Error)]
#[error("the decision could not be written: {0}")]
pub struct NotWritten(String);

/// Writes calls. Cheap to clone.
#[derive(Clone)]
pub struct Journal {
    entries: mpsc::UnboundedSender<Entry>,
}

enum Entry {
    Decided { row: Box<CallRow>, written: oneshot::Sender<Result<(), NotWritten>> },
    Ended { id: CallId, outcome: Outcome, error: String, duration_ms: Option<u32> },
}

impl Journal {
    pub(super) fn start(pool: SqlitePool) -> Self {
        let (entries, inbox) = mpsc::unbounded_channel();
        tokio::spawn(write_all(pool, inbox));
        Self { entries }
    }

    /// Writes a call with its decision; returns once it is committed.
    ///
    /// # Errors
    /// Where it is not committed. Then the call must not be forwarded.
    pub async fn decided(&self, row: CallRow) -> Result<(), NotWritten> {
        let (written, answer) = oneshot::channel();
        let gone = || NotWritten("the journal has ended".into());
        self.entries.send(Entry::Decided { row: Box::new(row), written }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Writes what came of a call, behind the call: nobody waits for it.
    pub fn ended(&self, id: CallId, outcome: Outcome, error: String, duration_ms: Option<u32>) {
        let _ = self.entries.send(Entry::Ended { id, outcome, error, duration_ms });
    }
}

async fn write_all(pool: SqlitePool, mut inbox: mpsc::UnboundedReceiver<Entry>) {
    let mut batch = Vec::with_capacity(BATCH);
    while inbox.recv_many(&mut batch, BATCH).await > 0 {
        let result = write(&pool, &batch).await;
        if let Err(error) = &result {
            tracing::error!("{error}");
        }
        for entry in batch.drain(..) {
            if let Entry::Decided { written, .. } = entry {
                let _ = written.send(result.as_ref().copied().map_err(|e| NotWritten(e.to_string())));
            }
        }
    }
}

async fn write(pool: &SqlitePool, batch: &[Entry]) -> Result<(), StoreError> {
    let by_person =
        |entry: &Entry| matches!(entry, Entry::Decided { row, .. } if row.call.decided_by == DecidedBy::Person);
    let durable = if batch.iter().any(by_person) { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
    let commit = async {
        let mut connection = pool.acquire().await?;
        sqlx::query(durable).execute(&mut *connection).await?;
        let mut tx = connection.begin().await?;
        for entry in batch {
            write_one(entry, &mut tx).await?;
        }
        tx.commit().await
    };
    commit.await.doing("cannot write the calls")
}

async fn write_one(entry: &Entry, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    match entry {
        Entry::Decided { row, .. } => call::insert(row, connection).await,
        Entry::Ended { id, outcome, error, duration_ms } => {
            call::update(id, *outcome, error, *duration_ms, connection).await
        }
    }
}
