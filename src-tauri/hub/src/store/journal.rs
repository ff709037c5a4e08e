//! The journal: the one writer of calls. A decision is durable before its call is forwarded.
//!
//! It is a thread with a connection of its own. Decisions that arrive while a commit runs are
//! gathered and committed together with the next one, so that many calls at once cost few commits
//! and wake each thread once. A single automatic decision is committed where it is made: that is a
//! write to the page cache, and takes less than waking another thread and being woken. What came of
//! calls is written behind them, with the next decisions or a moment later; calls whose outcome a
//! crash takes along are closed as unknown by the next start. A batch with a person's decision is
//! synced to the disk (`synchronous = FULL`): a power cut loses none of those. Of automatic decisions
//! a crash of Drawbridge loses none either, a power cut the last few (`NORMAL`).

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use sqlx::SqlitePool;
use tokio::sync::oneshot;

use super::{
    audit::{self, Chain, Fixed, Key, Segment, Tip},
    table::call::{self, CallRow, Ended},
};
use crate::{
    clock,
    model::{
        audit::{AuditKind, AuditReport},
        call::{DecidedBy, Decision, Outcome},
        ids::{CallId, Timestamp},
    },
};

/// Rows that are committed where they are made.
const AT_ONCE: usize = 4;
/// How durably a commit is: with what a person decided it is synced to the disk.
const FULL: &str = "FULL";
const NORMAL: &str = "NORMAL";
/// Commits from one checkpoint to the next: those sync the disk, and are the thread's.
const CHECKPOINT: u32 = 500;
/// How long outcomes wait for decisions to be written with.
const BEHIND: Duration = Duration::from_millis(100);
/// Outcomes kept for a database that cannot be written; the calls of later ones stay `running` until a restart.
const MAX_LATE: usize = 10_000;
/// The pause between two portions of what is taken away.
const BETWEEN: Duration = Duration::from_millis(20);
/// How long a commit waits for another program that writes to the database.
const BUSY: Duration = Duration::from_secs(5);

/// What is written of a call that its client did not wait for.
pub const CANCELLED: &str = "the client cancelled it or left";

/// The journal took no entry: it cannot write, or has ended.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the decision could not be written: {0}")]
pub struct NotWritten(String);

impl NotWritten {
    /// What kept it from being written.
    pub fn why(&self) -> &str {
        &self.0
    }
}

/// Writes calls. Cheap to clone.
#[derive(Clone)]
pub struct Journal {
    entries: mpsc::Sender<Entry>,
    gathered: Arc<Mutex<Gathered>>,
    outcomes: Arc<Mutex<Outcomes>>,
    writer: Arc<Mutex<Writer>>,
}

/// Whoever waits for a commit.
type Waiter = oneshot::Sender<Result<(), NotWritten>>;

enum Entry {
    /// To be committed together, and with them the outcomes that wait.
    Decisions {
        rows: Vec<Arc<CallRow>>,
        written: Waiter,
    },
    /// There are outcomes or notes to be written behind.
    Behind,
    /// What is old is to be taken away.
    Prune { segment: Segment, written: Waiter },
    /// The write-ahead log has grown.
    Checkpoint,
}

/// Decisions that wait for the commit before theirs.
#[derive(Default)]
struct Gathered {
    rows: Vec<Arc<CallRow>>,
    /// With the id of the call where it is allowed.
    waiters: Vec<(Option<CallId>, Waiter)>,
    /// A task carries what is gathered to the thread, one commit after the other.
    is_carried: bool,
}

/// Outcomes and notes that are not written yet.
#[derive(Default)]
struct Outcomes {
    waiting: Vec<Ended>,
    notes: Vec<Note>,
    /// The journal will look at them by itself.
    noticed: bool,
}

/// An entry of the audit that is about no call.
struct Note {
    at: Timestamp,
    kind: AuditKind,
    /// JSON.
    body: String,
}

/// What a commit writes.
#[derive(Default)]
struct Batch<'a> {
    rows: &'a [Arc<CallRow>],
    ended: Vec<Ended>,
    notes: Vec<Note>,
}

impl Journal {
    /// Writes to `file` as long as `pool` is open.
    pub(super) fn start(file: PathBuf, pool: SqlitePool) -> Self {
        let (entries, inbox) = mpsc::channel();
        let outcomes = Arc::<Mutex<Outcomes>>::default();
        let writer = Writer {
            file,
            pool,
            open: None,
            key: None,
            outcomes: outcomes.clone(),
            commits: 0,
        };
        let writer = Arc::new(Mutex::new(writer));
        let writes = writer.clone();
        // Without its thread every decision is refused.
        if let Err(error) = thread::Builder::new()
            .name("journal".into())
            .spawn(move || write_all(&writes, &inbox))
        {
            tracing::error!("the journal cannot start: {error}");
        }
        Self {
            entries,
            gathered: Arc::default(),
            outcomes,
            writer,
        }
    }

    /// Writes a call with its decision; returns once it is committed.
    ///
    /// # Errors
    /// Where it is not committed. Then the call must not be forwarded.
    pub async fn decided(&self, row: Arc<CallRow>) -> Result<(), NotWritten> {
        self.gather(Some(row)).await.map_err(|_| gone())?
    }

    /// Puts a decision into the next commit; where there is none, whoever waits is told of that commit all the same.
    fn gather(&self, row: Option<Arc<CallRow>>) -> oneshot::Receiver<Result<(), NotWritten>> {
        let (waiter, answer) = oneshot::channel();
        let is_carried = {
            let mut gathered = lock(&self.gathered);
            let allowed = row
                .as_ref()
                .filter(|row| row.call.decision == Decision::Allowed);
            gathered
                .waiters
                .push((allowed.map(|row| row.call.id.clone()), waiter));
            gathered.rows.extend(row);
            std::mem::replace(&mut gathered.is_carried, true)
        };
        if !is_carried {
            tokio::spawn(self.clone().carry());
        }
        answer
    }

    /// Has what is gathered committed, until nothing is left.
    async fn carry(self) {
        let mut carrying = Carrying {
            gathered: self.gathered.clone(),
            is_done: false,
        };
        loop {
            let (rows, waiters) = {
                let mut gathered = lock(&self.gathered);
                if gathered.waiters.is_empty() {
                    gathered.is_carried = false;
                    carrying.is_done = true;
                    return;
                }
                (
                    std::mem::take(&mut gathered.rows),
                    std::mem::take(&mut gathered.waiters),
                )
            };
            let result = match self.at_once(&rows) {
                Some(()) => Ok(()),
                None => self.by_the_thread(rows).await,
            };
            for (allowed, waiter) in waiters {
                let has_left = waiter.send(result.clone()).is_err();
                // What came of it may have been written ahead of the call itself, and so to no row.
                if let (true, Ok(()), Some(id)) = (has_left, &result, allowed) {
                    self.ended(id, Outcome::Cancelled, CANCELLED.into(), None);
                }
            }
        }
    }

    /// Commits a few automatic decisions here and now; nothing where it is for the thread to do.
    fn at_once(&self, rows: &[Arc<CallRow>]) -> Option<()> {
        let is_small = !rows.is_empty() && rows.len() + lock(&self.outcomes).len() <= AT_ONCE;
        if !is_small
            || rows
                .iter()
                .any(|row| row.call.decided_by == DecidedBy::Person)
        {
            return None;
        }
        let is_due = self.writer.try_lock().ok()?.write_at_once(rows)?;
        if is_due {
            let _ = self.entries.send(Entry::Checkpoint);
        }
        Some(())
    }

    async fn by_the_thread(&self, rows: Vec<Arc<CallRow>>) -> Result<(), NotWritten> {
        let (written, answer) = oneshot::channel();
        self.entries
            .send(Entry::Decisions { rows, written })
            .map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Writes what came of a call, behind the call: nobody waits for it.
    pub fn ended(&self, id: CallId, outcome: Outcome, error: String, duration_ms: Option<u32>) {
        let mut outcomes = lock(&self.outcomes);
        outcomes.waiting.push(Ended {
            id,
            outcome,
            error,
            duration_ms,
        });
        if !std::mem::replace(&mut outcomes.noticed, true) {
            let _ = self.entries.send(Entry::Behind);
        }
    }

    /// Writes down what happened beside calls, behind: nobody waits for it.
    pub fn note(&self, kind: AuditKind, body: &impl serde::Serialize) {
        let body = serde_json::to_string(body).unwrap_or_default();
        let mut outcomes = lock(&self.outcomes);
        if outcomes.notes.len() < MAX_LATE {
            outcomes.notes.push(Note {
                at: clock::now(),
                kind,
                body,
            });
        }
        if !std::mem::replace(&mut outcomes.noticed, true) {
            let _ = self.entries.send(Entry::Behind);
        }
    }

    /// At a hub's start: looks whether the audit is as it was left, and closes the calls of an earlier run. What came
    /// of those is unknown.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub async fn begin(&self) -> Result<(), NotWritten> {
        let writer = self.writer.clone();
        tokio::task::spawn_blocking(move || lock(&writer).begin())
            .await
            .map_err(|_| gone())?
    }

    /// Recomputes the audit, as of now.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn verify(&self) -> Result<AuditReport, NotWritten> {
        self.flush().await;
        let writer = self.writer.clone();
        blocking(move || {
            let (file, key) = lock(&writer).place()?;
            open(&file).and_then(|mut connection| audit::verify(&mut connection, &key))
        })
        .await
    }

    /// Takes away what was written before that time, a little at once.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub async fn prune(&self, before: Timestamp) -> Result<(), NotWritten> {
        let before = before.0.min(clock::now().0);
        loop {
            let writer = self.writer.clone();
            let segment = blocking(move || {
                let file = lock(&writer).file.clone();
                open(&file).and_then(|connection| audit::segment(&connection, before))
            });
            let segment = segment.await?;
            if segment.is_empty() {
                return Ok(());
            }
            let (written, answer) = oneshot::channel();
            self.entries
                .send(Entry::Prune { segment, written })
                .map_err(|_| gone())?;
            answer.await.map_err(|_| gone())??;
            tokio::time::sleep(BETWEEN).await;
        }
    }

    /// Returns once everything that was given to the journal before is written.
    pub async fn flush(&self) {
        let _ = self.gather(None).await;
    }
}

/// What is gathered is carried. Dropped before it is done, whoever waits is told that the journal has ended.
struct Carrying {
    gathered: Arc<Mutex<Gathered>>,
    is_done: bool,
}

impl Drop for Carrying {
    fn drop(&mut self) {
        if !self.is_done {
            *lock(&self.gathered) = Gathered::default();
        }
    }
}

struct Writer {
    file: PathBuf,
    pool: SqlitePool,
    open: Option<Open>,
    /// The key of the audit, once it was read.
    key: Option<Arc<Key>>,
    outcomes: Arc<Mutex<Outcomes>>,
    /// Since the last checkpoint.
    commits: u32,
}

/// A connection of the journal's own.
struct Open {
    connection: Connection,
    /// How durably it commits now: that is no matter of the others.
    mode: &'static str,
    /// Where the audit ends; none where that is to be read.
    tip: Option<Tip>,
}

impl Outcomes {
    fn len(&self) -> usize {
        self.waiting.len() + self.notes.len()
    }
}

fn write_all(writer: &Mutex<Writer>, inbox: &mpsc::Receiver<Entry>) {
    loop {
        // For ever where no outcome is waiting.
        let patience = if lock(&lock(writer).outcomes).noticed {
            BEHIND
        } else {
            Duration::MAX
        };
        match inbox.recv_timeout(patience) {
            Ok(Entry::Decisions { rows, written }) => {
                let result = lock(writer).write(&rows);
                let _ = written.send(result);
                checkpoint_where_due(writer);
            }
            Ok(Entry::Checkpoint) => checkpoint_where_due(writer),
            Ok(Entry::Behind) => {}
            Ok(Entry::Prune { segment, written }) => {
                let result = lock(writer).prune(&segment);
                let _ = written.send(result);
                checkpoint_where_due(writer);
            }
            Err(RecvTimeoutError::Timeout) => drop(lock(writer).write(&[])),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let _ = lock(writer).write(&[]);
}

/// Copies the write-ahead log into the database, over a connection of its own: nobody waits for it, but for the last
/// bit. The log begins anew only where all of it was copied, and commits go on meanwhile.
fn checkpoint_where_due(writer: &Mutex<Writer>) {
    let file = {
        let mut writer = lock(writer);
        if writer.commits < CHECKPOINT {
            return;
        }
        writer.commits = 0;
        writer.file.clone()
    };
    let copied = open(&file).and_then(|connection| {
        connection.pragma_update(None, "wal_checkpoint", "PASSIVE")?;
        let _nobody_commits = lock(writer);
        connection.pragma_update(None, "wal_checkpoint", "PASSIVE")
    });
    if let Err(why) = copied {
        tracing::warn!("the database's log cannot be checkpointed: {why}");
    }
}

impl Writer {
    /// Writes decisions, and what waits to be written behind.
    fn write(&mut self, rows: &[Arc<CallRow>]) -> Result<(), NotWritten> {
        let batch = {
            let mut outcomes = lock(&self.outcomes);
            // With nothing to write twice in a row, the next outcome has to say that it is there.
            outcomes.noticed = !(rows.is_empty() && outcomes.len() == 0);
            Batch {
                rows,
                ended: std::mem::take(&mut outcomes.waiting),
                notes: std::mem::take(&mut outcomes.notes),
            }
        };
        if rows.is_empty() && batch.ended.is_empty() && batch.notes.is_empty() {
            return Ok(());
        }
        self.commit(&batch, |_, _| Ok(())).map_err(|why| {
            tracing::error!("the database cannot write the calls: {why}");
            lock(&self.outcomes).noticed = false;
            self.keep(batch);
            self.failed(&why)
        })
    }

    /// The same without waiting for anything; nothing where that cannot be. Whether a checkpoint is due then.
    fn write_at_once(&mut self, rows: &[Arc<CallRow>]) -> Option<bool> {
        let open = self
            .open
            .as_ref()
            .filter(|open| open.mode == NORMAL && open.tip.is_some())?;
        open.connection.busy_timeout(Duration::ZERO).ok()?;
        let batch = {
            let mut outcomes = lock(&self.outcomes);
            Batch {
                rows,
                ended: std::mem::take(&mut outcomes.waiting),
                notes: std::mem::take(&mut outcomes.notes),
            }
        };
        let committed = self.commit(&batch, |_, _| Ok(()));
        if let Some(open) = &self.open {
            let _ = open.connection.busy_timeout(BUSY);
        }
        if committed.is_err() {
            // The thread tries again, and says what is wrong.
            self.keep(batch);
            return None;
        }
        Some(self.commits >= CHECKPOINT)
    }

    /// Keeps what was not written.
    fn keep(&self, batch: Batch<'_>) {
        let mut outcomes = lock(&self.outcomes);
        outcomes.waiting.splice(0..0, batch.ended);
        outcomes.waiting.truncate(MAX_LATE);
        outcomes.notes.splice(0..0, batch.notes);
        outcomes.notes.truncate(MAX_LATE);
    }

    /// Resumes the audit, and closes the calls of an earlier run.
    fn begin(&mut self) -> Result<(), NotWritten> {
        let closed = self.commit(&Batch::default(), |connection, chain| {
            call::update(&call::left_running(connection)?, connection, chain)
        });
        closed.map_err(|why| self.failed(&why))
    }

    fn prune(&mut self, segment: &Segment) -> Result<(), NotWritten> {
        let pruned = self.commit(&Batch::default(), |connection, chain| {
            audit::prune(segment, connection, chain)
        });
        pruned.map_err(|why| self.failed(&why))
    }

    fn failed(&mut self, why: &rusqlite::Error) -> NotWritten {
        // Another connection may fare better.
        self.open = None;
        NotWritten(why.to_string())
    }

    /// The database, and the key of its audit.
    fn place(&mut self) -> Result<(PathBuf, Arc<Key>), rusqlite::Error> {
        if self.pool.is_closed() {
            return Err(rusqlite::Error::InvalidPath(self.file.clone()));
        }
        let key = match &self.key {
            Some(key) => key.clone(),
            None => {
                let folder = self.file.parent().unwrap_or(Path::new("."));
                let failed = |error| {
                    rusqlite::Error::ToSqlConversionFailure(format!("audit: {error}").into())
                };
                self.key
                    .insert(Arc::new(Key::load(folder).map_err(failed)?))
                    .clone()
            }
        };
        Ok((self.file.clone(), key))
    }

    /// Writes a batch, and what else is to be in the same transaction.
    fn commit(
        &mut self,
        batch: &Batch<'_>,
        more: impl FnOnce(&Connection, &mut Chain<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), rusqlite::Error> {
        if self.pool.is_closed() {
            return Err(rusqlite::Error::InvalidPath(self.file.clone()));
        }
        if self.key.is_none() || self.open.is_none() {
            let (file, _) = self.place()?;
            self.open = Some(Open {
                connection: open(&file)?,
                mode: "",
                tip: None,
            });
        }
        let (Some(open), Some(key)) = (&mut self.open, &self.key) else {
            return Err(rusqlite::Error::InvalidPath(self.file.clone()));
        };
        let by_person = batch
            .rows
            .iter()
            .any(|row| row.call.decided_by == DecidedBy::Person);
        let wanted = if by_person { FULL } else { NORMAL };
        if open.mode != wanted {
            open.connection.pragma_update(None, "synchronous", wanted)?;
            open.mode = wanted;
        }
        // Until it is committed nobody knows where the audit ends: after a failure that is read again.
        let tip = open.tip.take();
        let transaction = Transaction::begin(&open.connection)?;
        let mut chain = Chain::resume(&open.connection, key, tip)?;
        call::insert(
            batch.rows.iter().map(AsRef::as_ref),
            &open.connection,
            &mut chain,
        )?;
        call::update(&batch.ended, &open.connection, &mut chain)?;
        for note in &batch.notes {
            chain.append_at(note.at.0, note.kind, None, &note.body, &Fixed::Nothing)?;
        }
        more(&open.connection, &mut chain)?;
        let tip = chain.end()?;
        transaction.commit()?;
        open.tip = Some(tip);
        key.settle();
        self.commits += 1;
        Ok(())
    }
}

/// Does on a thread of its own what takes long.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, rusqlite::Error> + Send + 'static,
) -> Result<T, NotWritten> {
    let done = tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| gone())?;
    done.map_err(|error| NotWritten(error.to_string()))
}

/// A transaction whose statements are prepared once, not each time. Dropped, it is rolled back.
struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    fn begin(connection: &'a Connection) -> Result<Self, rusqlite::Error> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    fn commit(self) -> Result<(), rusqlite::Error> {
        self.0.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // After a commit there is nothing to roll back.
        if !self.0.is_autocommit() {
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

fn open(file: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY)?;
    // Whoever commits must not have to wait for one; see [`checkpoint_where_due`].
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

fn gone() -> NotWritten {
    NotWritten("the journal has ended".into())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
