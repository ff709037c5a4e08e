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

use super::table::call::{self, CallRow, Ended};
use crate::model::{
    call::{DecidedBy, Decision, Outcome},
    ids::CallId,
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
/// How long a commit waits for another program that writes to the database.
const BUSY: Duration = Duration::from_secs(5);

/// What is written of a call that its client did not wait for.
pub const CANCELLED: &str = "the client cancelled it or left";

/// The journal took no entry: it cannot write, or has ended.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the decision could not be written: {0}")]
pub struct NotWritten(String);

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
    Decisions { rows: Vec<Arc<CallRow>>, written: Waiter },
    /// There are outcomes to be written behind.
    Ended,
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

/// Outcomes that are not written yet.
#[derive(Default)]
struct Outcomes {
    waiting: Vec<Ended>,
    /// The journal will look at them by itself.
    noticed: bool,
}

impl Journal {
    /// Writes to `file` as long as `pool` is open.
    pub(super) fn start(file: PathBuf, pool: SqlitePool) -> Self {
        let (entries, inbox) = mpsc::channel();
        let outcomes = Arc::<Mutex<Outcomes>>::default();
        let writer = Writer { file, pool, connection: None, outcomes: outcomes.clone(), commits: 0 };
        let writer = Arc::new(Mutex::new(writer));
        let writes = writer.clone();
        // Without its thread every decision is refused.
        if let Err(error) = thread::Builder::new().name("journal".into()).spawn(move || write_all(&writes, &inbox)) {
            tracing::error!("the journal cannot start: {error}");
        }
        Self { entries, gathered: Arc::default(), outcomes, writer }
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
            let allowed = row.as_ref().filter(|row| row.call.decision == Decision::Allowed);
            gathered.waiters.push((allowed.map(|row| row.call.id.clone()), waiter));
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
        let mut carrying = Carrying { gathered: self.gathered.clone(), is_done: false };
        loop {
            let (rows, waiters) = {
                let mut gathered = lock(&self.gathered);
                if gathered.waiters.is_empty() {
                    gathered.is_carried = false;
                    carrying.is_done = true;
                    return;
                }
                (std::mem::take(&mut gathered.rows), std::mem::take(&mut gathered.waiters))
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
        let is_small = !rows.is_empty() && rows.len() + lock(&self.outcomes).waiting.len() <= AT_ONCE;
        if !is_small || rows.iter().any(|row| row.call.decided_by == DecidedBy::Person) {
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
        self.entries.send(Entry::Decisions { rows, written }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Writes what came of a call, behind the call: nobody waits for it.
    pub fn ended(&self, id: CallId, outcome: Outcome, error: String, duration_ms: Option<u32>) {
        let mut outcomes = lock(&self.outcomes);
        outcomes.waiting.push(Ended { id, outcome, error, duration_ms });
        if !std::mem::replace(&mut outcomes.noticed, true) {
            let _ = self.entries.send(Entry::Ended);
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
    /// Its own, and how durably it commits now: that is no matter of the others.
    connection: Option<(Connection, &'static str)>,
    outcomes: Arc<Mutex<Outcomes>>,
    /// Since the last checkpoint.
    commits: u32,
}

fn write_all(writer: &Mutex<Writer>, inbox: &mpsc::Receiver<Entry>) {
    loop {
        // For ever where no outcome is waiting.
        let patience = if lock(&lock(writer).outcomes).noticed { BEHIND } else { Duration::MAX };
        match inbox.recv_timeout(patience) {
            Ok(Entry::Decisions { rows, written }) => {
                let result = lock(writer).write(&rows);
                let _ = written.send(result);
                checkpoint_where_due(writer);
            }
            Ok(Entry::Checkpoint) => checkpoint_where_due(writer),
            Ok(Entry::Ended) => {}
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
    /// Writes decisions, and the outcomes that wait.
    fn write(&mut self, rows: &[Arc<CallRow>]) -> Result<(), NotWritten> {
        let ended = {
            let mut outcomes = lock(&self.outcomes);
            // With nothing to write twice in a row, the next outcome has to say that it is there.
            outcomes.noticed = !(rows.is_empty() && outcomes.waiting.is_empty());
            std::mem::take(&mut outcomes.waiting)
        };
        if rows.is_empty() && ended.is_empty() {
            return Ok(());
        }
        self.commit(rows, &ended).map_err(|why| {
            tracing::error!("the database cannot write the calls: {why}");
            // Another connection may fare better.
            self.connection = None;
            lock(&self.outcomes).noticed = false;
            self.keep(ended);
            NotWritten(why.to_string())
        })
    }

    /// The same without waiting for anything; nothing where that cannot be. Whether a checkpoint is due then.
    fn write_at_once(&mut self, rows: &[Arc<CallRow>]) -> Option<bool> {
        let (connection, _) = self.connection.as_ref().filter(|(_, mode)| *mode == NORMAL)?;
        connection.busy_timeout(Duration::ZERO).ok()?;
        let ended = std::mem::take(&mut lock(&self.outcomes).waiting);
        let committed = self.commit(rows, &ended);
        if let Some((connection, _)) = &self.connection {
            let _ = connection.busy_timeout(BUSY);
        }
        if committed.is_err() {
            // The thread tries again, and says what is wrong.
            self.keep(ended);
            return None;
        }
        Some(self.commits >= CHECKPOINT)
    }

    /// Keeps outcomes that were not written.
    fn keep(&self, ended: Vec<Ended>) {
        let mut outcomes = lock(&self.outcomes);
        outcomes.waiting.splice(0..0, ended);
        outcomes.waiting.truncate(MAX_LATE);
    }

    fn commit(&mut self, rows: &[Arc<CallRow>], ended: &[Ended]) -> Result<(), rusqlite::Error> {
        if self.pool.is_closed() {
            return Err(rusqlite::Error::InvalidPath(self.file.clone()));
        }
        let (connection, mode) = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert((open(&self.file)?, "")),
        };
        let by_person = rows.iter().any(|row| row.call.decided_by == DecidedBy::Person);
        let wanted = if by_person { FULL } else { NORMAL };
        if *mode != wanted {
            connection.pragma_update(None, "synchronous", wanted)?;
            *mode = wanted;
        }
        let transaction = Transaction::begin(connection)?;
        call::insert(rows.iter().map(AsRef::as_ref), connection)?;
        call::update(ended, connection)?;
        transaction.commit()?;
        self.commits += 1;
        Ok(())
    }
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
