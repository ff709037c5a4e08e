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
    table::call::{self, CallRow, Ended},
};
use crate::model::{
    call::{DecidedBy, Outcome},
    ids::CallId,
};

const BATCH: usize = 256;
/// Outcomes kept for a database that cannot be written; the calls of later ones stay `running` until a restart.
const MAX_LATE: usize = 10_000;

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
    Decided {
        row: Box<CallRow>,
        written: oneshot::Sender<Result<(), NotWritten>>,
    },
    Ended(Ended),
    /// Answered once everything before it is written.
    Flush(oneshot::Sender<()>),
}

impl Entry {
    fn decided(&self) -> Option<&CallRow> {
        if let Self::Decided { row, .. } = self { Some(row) } else { None }
    }

    fn ended(&self) -> Option<&Ended> {
        if let Self::Ended(ended) = self { Some(ended) } else { None }
    }
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
        let _ = self.entries.send(Entry::Ended(Ended { id, outcome, error, duration_ms }));
    }

    /// Returns once everything that was given to the journal before is written.
    pub async fn flush(&self) {
        let (flushed, answer) = oneshot::channel();
        if self.entries.send(Entry::Flush(flushed)).is_ok() {
            let _ = answer.await;
        }
    }
}

async fn write_all(pool: SqlitePool, mut inbox: mpsc::UnboundedReceiver<Entry>) {
    let mut writer = Writer { pool, connection: None, late: Vec::new() };
    let mut batch = Vec::with_capacity(BATCH);
    while inbox.recv_many(&mut batch, BATCH).await > 0 {
        let result = writer.write(&batch).await;
        if let Err(error) = &result {
            tracing::error!("{error}");
            // Another connection may fare better.
            writer.connection = None;
        }
        for entry in batch.drain(..) {
            match entry {
                Entry::Decided { written, .. } => {
                    let _ = written.send(result.as_ref().copied().map_err(|e| NotWritten(e.to_string())));
                }
                Entry::Ended(ended) if result.is_err() => writer.keep(ended),
                Entry::Ended(_) => {}
                Entry::Flush(flushed) => drop(flushed.send(())),
            }
        }
    }
}

struct Writer {
    pool: SqlitePool,
    /// Its own, and how durably it commits now: that is no matter of the others.
    connection: Option<(SqliteConnection, &'static str)>,
    /// Outcomes that could not be written yet.
    late: Vec<Ended>,
}

impl Writer {
    async fn write(&mut self, batch: &[Entry]) -> Result<(), StoreError> {
        self.commit(batch).await.doing("cannot write the calls")?;
        self.late.clear();
        Ok(())
    }

    async fn commit(&mut self, batch: &[Entry]) -> Result<(), sqlx::Error> {
        let (connection, mode) = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert((self.pool.acquire().await?.detach(), "")),
        };
        let by_person =
            |entry: &Entry| matches!(entry, Entry::Decided { row, .. } if row.call.decided_by == DecidedBy::Person);
        let full = batch.iter().any(by_person);
        let wanted = if full { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
        if *mode != wanted {
            sqlx::query(wanted).execute(&mut *connection).await?;
            *mode = wanted;
        }
        let decided: Vec<&CallRow> = batch.iter().filter_map(Entry::decided).collect();
        let ended: Vec<&Ended> = self.late.iter().chain(batch.iter().filter_map(Entry::ended)).collect();
        let mut tx = connection.begin().await?;
        // A call may be decided and end within one batch.
        call::insert(&decided, &mut tx).await?;
        call::update(&ended, &mut tx).await?;
        tx.commit().await
    }

    fn keep(&mut self, ended: Ended) {
        if self.late.len() < MAX_LATE {
            self.late.push(ended);
        }
    }
}
