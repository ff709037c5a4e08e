//! The journal: the one writer of calls. A decision is durable before its call is forwarded.
//!
//! It is a thread with a connection of its own. Decisions that arrive while a commit runs are
//! gathered and committed together with the next one, so that many calls at once cost few commits
//! and wake each thread once. What came of
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
    call::{DecidedBy, Outcome},
    ids::CallId,
};

/// How long outcomes wait for decisions to be written with.
const BEHIND: Duration = Duration::from_millis(100);
/// Outcomes kept for a database that cannot be written; the calls of later ones stay `running` until a restart.
const MAX_LATE: usize = 10_000;
/// How long a commit waits for another program that writes to the database.
const BUSY: Duration = Duration::from_secs(5);

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
}

/// Whoever waits for a commit.
type Waiter = oneshot::Sender<Result<(), NotWritten>>;

enum Entry {
    /// To be committed together, and with them the outcomes that wait.
    Decisions { rows: Vec<Arc<CallRow>>, written: Waiter },
    /// There are outcomes to be written behind.
    Ended,
}

/// Decisions that wait for the commit before theirs.
#[derive(Default)]
struct Gathered {
    rows: Vec<Arc<CallRow>>,
    waiters: Vec<Waiter>,
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
        let writer = Writer { file, pool, connection: None, outcomes: outcomes.clone() };
        // Without its thread every decision is refused.
        if let Err(error) = thread::Builder::new().name("journal".into()).spawn(move || writer.write_all(&inbox)) {
            tracing::error!("the journal cannot start: {error}");
        }
        Self { entries, gathered: Arc::default(), outcomes }
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
            gathered.rows.extend(row);
            gathered.waiters.push(waiter);
            std::mem::replace(&mut gathered.is_carried, true)
        };
        if !is_carried {
            tokio::spawn(self.clone().carry());
        }
        answer
    }

    /// Has what is gathered committed, until nothing is left.
    async fn carry(self) {
        loop {
            let (rows, waiters) = {
                let mut gathered = lock(&self.gathered);
                if gathered.waiters.is_empty() {
                    gathered.is_carried = false;
                    return;
                }
                (std::mem::take(&mut gathered.rows), std::mem::take(&mut gathered.waiters))
            };
            let (written, answer) = oneshot::channel();
            let result = match self.entries.send(Entry::Decisions { rows, written }) {
                Ok(()) => answer.await.unwrap_or_else(|_| Err(gone())),
                Err(_) => Err(gone()),
            };
            for waiter in waiters {
                let _ = waiter.send(result.clone());
            }
        }
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

struct Writer {
    file: PathBuf,
    pool: SqlitePool,
    /// Its own, and how durably it commits now: that is no matter of the others.
    connection: Option<(Connection, &'static str)>,
    outcomes: Arc<Mutex<Outcomes>>,
}

impl Writer {
    fn write_all(mut self, inbox: &mpsc::Receiver<Entry>) {
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(Entry::Decisions { rows, written }) => drop(written.send(self.write(&rows))),
                Ok(Entry::Ended) => {}
                Err(RecvTimeoutError::Timeout) => drop(self.write(&[])),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let _ = self.write(&[]);
    }

    /// How long to wait for an entry: for ever where no outcome is waiting.
    fn patience(&self) -> Duration {
        if lock(&self.outcomes).noticed { BEHIND } else { Duration::MAX }
    }

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
            let mut outcomes = lock(&self.outcomes);
            outcomes.noticed = false;
            outcomes.waiting.splice(0..0, ended);
            outcomes.waiting.truncate(MAX_LATE);
            NotWritten(why.to_string())
        })
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
        let wanted = if by_person { "FULL" } else { "NORMAL" };
        if *mode != wanted {
            connection.pragma_update(None, "synchronous", wanted)?;
            *mode = wanted;
        }
        let transaction = Transaction::begin(connection)?;
        call::insert(rows.iter().map(AsRef::as_ref), connection)?;
        call::update(ended, connection)?;
        transaction.commit()
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
    Ok(connection)
}

fn gone() -> NotWritten {
    NotWritten("the journal has ended".into())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
