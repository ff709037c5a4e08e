//! The journal: the only writer of calls. A decision is committed before its call is forwarded.
//!
//! The journal writes over one connection, which its thread shares with a task that callers start.
//! The task commits a small batch of automatic decisions in place: the commit only writes to the
//! page cache, which takes less time than two threads waking each other. The thread commits
//! everything else. Decisions that arrive during a commit wait, and are committed together
//! afterwards, so that many concurrent calls need few commits, and threads are woken once per
//! commit.
//!
//! Outcomes are written in the background, with the next decisions or a moment later. If a crash
//! loses the outcome of a call, the next start closes the call as unknown. A batch that contains a
//! person's decision is synced to the disk (`synchronous = FULL`), so that it survives a power cut.
//! Automatic decisions survive a crash of Drawbridge; a power cut may lose the last few (`NORMAL`).
//!
//! Results of calls are written in the background too, if the settings say that they are kept. The
//! thread masks the results without the writer's lock, so that no decision waits for the masking.
//! If a result cannot be written, it is dropped.
//!
//! A second thread saves the head of the audit log in the head file, outside the database, soon
//! after a commit. It syncs the write-ahead log first, so that the head file never names an entry
//! that a power cut can lose.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use drawbridge_model::{
    audit::{AuditKind, AuditReport, CallAuditEntry},
    call::{DecidedBy, Decision, KeptResult, Outcome},
    clock,
    content::ContentFlag,
    ids::{CallId, Timestamp},
};
use rusqlite::{Connection, OpenFlags};
use sqlx::SqlitePool;
use tokio::sync::oneshot;

use super::{
    audit::{self, AuditKey, Chain, Sealed, Tip, head_file},
    table::call::{self, CallOutcome, CallRow, SessionPeriods},
};

/// The maximum number of rows, outcomes and notes together in a batch that is committed in place.
const MAX_IN_PLACE: usize = 4;
/// The values of `synchronous`. `FULL` syncs the disk at each commit; `NORMAL` does not.
const FULL: &str = "FULL";
const NORMAL: &str = "NORMAL";
/// The number of commits after which a checkpoint is due. A checkpoint syncs the disk, so only the
/// journal's thread runs checkpoints.
const CHECKPOINT_INTERVAL: u32 = 500;

/// The number of commits in the write-ahead log at which further commits wait for the end of a
/// checkpoint. Without a limit, the log would grow without bounds while a slow disk is synced.
const MAX_COMMITS_IN_LOG: u32 = 3 * CHECKPOINT_INTERVAL;
/// How long outcomes and notes wait for the next decisions, to be committed in the same
/// transaction. Results, which have a transaction of their own, wait as long.
const OUTCOME_DELAY: Duration = Duration::from_millis(100);
/// How long the outcomes and notes of a failed write wait for the next attempt, if nothing else is
/// written before.
const RETRY_DELAY: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 5_000 });
/// How long after a commit the new head of the audit log is saved in the head file.
const HEAD_DELAY: Duration = Duration::from_secs(2);
/// The maximum number of pending notes at any time, and of outcomes that are kept after a failed
/// write. If there are more, the newest are dropped. If an outcome is dropped, its call stays
/// `running` until a restart.
const MAX_PENDING: usize = 10_000;
/// The most bytes of results that wait to be masked and written. Further results are dropped.
const MAX_PENDING_RESULT_BYTES: usize = 4 << 20;
/// The pause between two batches of deletions.
const PRUNE_PAUSE: Duration = Duration::from_millis(20);
/// How long a commit waits if another program is writing to the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The error text of a call that its client cancelled or abandoned.
pub const CANCELLED_BY_CLIENT: &str = "the client cancelled the call or disconnected";

/// The reason why the journal cannot read or write.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    #[error("the journal has ended")]
    Ended,
    #[error("the journal cannot use the database: {0}")]
    Database(#[source] Arc<rusqlite::Error>),
    #[error("the key of the audit log cannot be used: {0}")]
    Key(#[source] Arc<io::Error>),
    #[error(
        "the file audit.head in the data folder cannot be read: {0}; make it readable, or remove it"
    )]
    HeadFile(#[source] Arc<io::Error>),
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

/// Writes calls and audit entries. Cheap to clone.
#[derive(Clone)]
pub struct Journal {
    commands: mpsc::Sender<Command>,
    pending_decisions: Arc<Mutex<PendingDecisions>>,
    pending_writes: Arc<Mutex<PendingWrites>>,
    writer: Arc<Mutex<Writer>>,
    saved_head: Arc<Mutex<SavedHead>>,
}

/// The tip of the audit log that was last saved in the head file.
#[derive(Default)]
struct SavedHead {
    tip: Option<Tip>,
    /// Whether the last attempt failed, so that the failure is logged once.
    has_failed: bool,
}

/// Reports the result of a commit to the caller that waits for it.
type CommitSender = oneshot::Sender<Result<(), JournalError>>;

/// Writes rows and audit entries within a transaction.
type Work =
    Box<dyn FnOnce(&Connection, &mut Chain<'_>) -> Result<(), rusqlite::Error> + Send + 'static>;

enum Command {
    /// Decisions to commit together, along with the pending writes.
    Decisions {
        rows: Vec<Arc<CallRow>>,
        committed: CommitSender,
    },
    /// Wakes the thread for pending writes.
    Wake,
    /// Other rows to write, in a transaction of their own.
    Write { work: Work, committed: CommitSender },
    /// Runs a checkpoint if it is due.
    Checkpoint,
    /// Writes the pending results, and reports that they are written or dropped.
    WriteResults(oneshot::Sender<()>),
}

/// Decisions that wait until the current commit ends.
#[derive(Default)]
struct PendingDecisions {
    rows: Vec<Arc<CallRow>>,
    /// The senders that report the commit, each with the id of its call if the call is allowed.
    senders: Vec<(Option<CallId>, CommitSender)>,
    /// Whether a task is committing the pending decisions, one batch at a time.
    is_committing: bool,
}

/// Rows that the journal writes in the background.
#[derive(Default)]
struct PendingWrites {
    outcomes: Vec<CallOutcome>,
    notes: Vec<Note>,
    results: Vec<PendingResult>,
    /// Whether the thread writes these rows after [`OUTCOME_DELAY`], so that it needs no `Wake`.
    is_thread_awake: bool,
    /// Whether the last attempt to write decisions, outcomes or notes failed.
    has_failed: bool,
}

/// The result of a call, which waits to be masked and written.
struct PendingResult {
    call: CallId,
    at: Timestamp,
    bytes: usize,
    mask: Box<dyn FnOnce() -> KeptResult + Send>,
}

/// An audit entry that concerns no call.
struct Note {
    at: Timestamp,
    kind: AuditKind,
    /// JSON.
    body: String,
}

/// The content of one commit.
#[derive(Default)]
struct Batch<'a> {
    rows: &'a [Arc<CallRow>],
    outcomes: Vec<CallOutcome>,
    notes: Vec<Note>,
    /// Whether the disk is synced even if the batch has no decision of a person.
    is_synced: bool,
}

impl Journal {
    /// Starts the two threads. The journal writes to `file` as long as `pool` is open.
    pub(super) fn start(file: PathBuf, pool: SqlitePool) -> Self {
        let (commands, inbox) = mpsc::channel();
        let (head_changed, head_changes) = mpsc::sync_channel(1);
        let pending_writes = Arc::<Mutex<PendingWrites>>::default();
        let writer = Writer {
            file,
            pool,
            open: None,
            key: None,
            pending_writes: pending_writes.clone(),
            commits: 0,
            is_checkpoint_requested: false,
            head_changed,
        };
        let writer = Arc::new(Mutex::new(writer));
        let (thread_writer, thread_pending) = (writer.clone(), pending_writes.clone());
        // If the thread is missing, every decision that needs it is refused.
        if let Err(error) = thread::Builder::new()
            .name("journal".into())
            .spawn(move || run_thread(&thread_writer, &thread_pending, &inbox))
        {
            tracing::error!("the journal cannot start: {error}");
        }
        let saved_head = Arc::<Mutex<SavedHead>>::default();
        let (thread_head, weak_writer) = (saved_head.clone(), Arc::downgrade(&writer));
        if let Err(error) = thread::Builder::new()
            .name("audit-head".into())
            .spawn(move || run_head_thread(&weak_writer, &thread_head, &head_changes))
        {
            tracing::error!(
                "the head of the audit log is saved only when Drawbridge ends: {error}"
            );
        }
        Self {
            commands,
            pending_decisions: Arc::default(),
            pending_writes,
            writer,
            saved_head,
        }
    }

    /// Writes a call with its decision. Returns after the commit.
    ///
    /// # Errors
    /// Returns an error if the commit fails. The call must not be forwarded then.
    pub async fn record_decision(&self, row: Arc<CallRow>) -> Result<(), JournalError> {
        self.add_decision(Some(row))
            .await
            .map_err(|_| JournalError::Ended)?
    }

    /// Adds a decision to the next commit, and returns a receiver of the result of that commit. If
    /// `row` is `None`, adds no decision, and only waits for the commit.
    fn add_decision(
        &self,
        row: Option<Arc<CallRow>>,
    ) -> oneshot::Receiver<Result<(), JournalError>> {
        let (committed, answer) = oneshot::channel();
        let is_committing = {
            let mut pending = lock(&self.pending_decisions);
            let allowed = row
                .as_ref()
                .filter(|row| row.call.decision == Decision::Allowed);
            pending
                .senders
                .push((allowed.map(|row| row.call.id.clone()), committed));
            pending.rows.extend(row);
            std::mem::replace(&mut pending.is_committing, true)
        };
        if !is_committing {
            tokio::spawn(self.clone().commit_pending());
        }
        answer
    }

    /// Commits the pending decisions until none are left.
    async fn commit_pending(self) {
        let mut guard = CommitGuard {
            pending: self.pending_decisions.clone(),
            is_done: false,
        };
        loop {
            let (rows, senders) = {
                let mut pending = lock(&self.pending_decisions);
                if pending.senders.is_empty() {
                    pending.is_committing = false;
                    guard.is_done = true;
                    return;
                }
                (
                    std::mem::take(&mut pending.rows),
                    std::mem::take(&mut pending.senders),
                )
            };
            let result = match self.commit_in_place(&rows) {
                Some(()) => Ok(()),
                None => self.commit_on_thread(rows).await,
            };
            for (allowed, committed) in senders {
                let is_dropped = committed.send(result.clone()).is_err();
                // The caller has dropped the call. If the outcome was written before this row
                // existed, the outcome was lost. Record it again; the first outcome wins.
                if let (true, Ok(()), Some(id)) = (is_dropped, &result, allowed) {
                    self.record_outcome(id, Outcome::Cancelled, CANCELLED_BY_CLIENT.into(), None);
                }
            }
        }
    }

    /// Commits a small batch of automatic decisions in place. Returns `None` if the journal's
    /// thread has to commit the batch.
    fn commit_in_place(&self, rows: &[Arc<CallRow>]) -> Option<()> {
        let is_small =
            !rows.is_empty() && rows.len() + lock(&self.pending_writes).len() <= MAX_IN_PLACE;
        if !is_small
            || rows
                .iter()
                .any(|row| row.call.decided_by == DecidedBy::Person)
        {
            return None;
        }
        let requests_checkpoint = self.writer.try_lock().ok()?.try_write(rows)?;
        if requests_checkpoint {
            let _ = self.commands.send(Command::Checkpoint);
        }
        Some(())
    }

    async fn commit_on_thread(&self, rows: Vec<Arc<CallRow>>) -> Result<(), JournalError> {
        let (committed, answer) = oneshot::channel();
        self.commands
            .send(Command::Decisions { rows, committed })
            .map_err(|_| JournalError::Ended)?;
        answer.await.map_err(|_| JournalError::Ended)?
    }

    /// Records the outcome of a call. The journal writes it in the background.
    pub fn record_outcome(
        &self,
        id: CallId,
        outcome: Outcome,
        error: String,
        duration_ms: Option<u32>,
    ) {
        self.record_full_outcome(id, outcome, error, duration_ms, Vec::new(), Vec::new());
    }

    /// Records the outcome of a call, the hooks that replaced its result, and the flags of the
    /// result's content.
    pub fn record_full_outcome(
        &self,
        id: CallId,
        outcome: Outcome,
        error: String,
        duration_ms: Option<u32>,
        result_hooks: Vec<String>,
        flags: Vec<ContentFlag>,
    ) {
        let mut pending = lock(&self.pending_writes);
        pending.outcomes.push(CallOutcome {
            id,
            outcome,
            error,
            duration_ms,
            result_hooks,
            flags,
        });
        self.wake_thread(&mut pending);
    }

    /// Records the result of a call. The journal's thread calls `mask`, which returns the result as
    /// it may be stored, and writes it in the background. `bytes` is the length of the result. If
    /// too many results wait, the new result is dropped.
    pub fn record_result(
        &self,
        call: CallId,
        bytes: usize,
        mask: impl FnOnce() -> KeptResult + Send + 'static,
    ) {
        let mut pending = lock(&self.pending_writes);
        let waiting: usize = pending.results.iter().map(|result| result.bytes).sum();
        if waiting + bytes > MAX_PENDING_RESULT_BYTES {
            tracing::warn!("the result of call {call} is not kept, because too many results wait");
            return;
        }
        pending.results.push(PendingResult {
            call,
            at: clock::now(),
            bytes,
            mask: Box::new(mask),
        });
        self.wake_thread(&mut pending);
    }

    /// Wakes the thread for the pending writes, unless it is awake.
    fn wake_thread(&self, pending: &mut PendingWrites) {
        if !std::mem::replace(&mut pending.is_thread_awake, true) {
            let _ = self.commands.send(Command::Wake);
        }
    }

    /// Appends an audit entry that concerns no call. The journal writes it in the background.
    pub fn append_audit(&self, kind: AuditKind, body: &impl serde::Serialize) {
        let body = serde_json::to_string(body).expect("notes are plain data");
        let mut pending = lock(&self.pending_writes);
        if pending.notes.len() < MAX_PENDING {
            pending.notes.push(Note {
                at: clock::now(),
                kind,
                body,
            });
        } else {
            tracing::error!(
                "the audit log lacks an entry '{}', because too many entries wait to be written: {body}",
                kind.as_str()
            );
        }
        self.wake_thread(&mut pending);
    }

    /// Checks at the hub's start that the audit log ends as the table `audit_head` and the head
    /// file say, and closes the calls that an earlier run left open, with an unknown outcome.
    ///
    /// # Errors
    /// Returns an error if the audit log or the head file cannot be read, or if the result cannot
    /// be written.
    pub async fn recover(&self) -> Result<(), JournalError> {
        let (writer, saved_head) = (self.writer.clone(), self.saved_head.clone());
        run_blocking(move || {
            lock(&writer).recover()?;
            save_head(&writer, &saved_head);
            if lock(&saved_head).tip.is_some() {
                lock(&writer).record_head_file()?;
            }
            Ok(())
        })
        .await
    }

    /// Tries to write everything that is pending, and to save the head of the audit log in the head
    /// file.
    pub async fn close(&self) {
        self.flush().await;
        let (writer, saved_head) = (self.writer.clone(), self.saved_head.clone());
        // A panic while saving was already reported, and must not keep the hub from ending.
        let _ = tokio::task::spawn_blocking(move || save_head(&writer, &saved_head)).await;
    }

    /// Verifies the audit log, including everything that was recorded before this call.
    ///
    /// # Errors
    /// Returns an error if the audit log, its key or the head file cannot be read.
    pub async fn verify(&self) -> Result<AuditReport, JournalError> {
        self.flush().await;
        let writer = self.writer.clone();
        run_blocking(move || {
            let (file, key) = lock(&writer).path_and_key()?;
            let head = read_head_file(&file, &key)?;
            Ok(audit::verify(&mut open_connection(&file)?, &key, head)?)
        })
        .await
    }

    /// Verifies the audit entries about a call, without the rest of the audit log. Returns no entry
    /// if the call is older than the audit log.
    ///
    /// # Errors
    /// Returns an error if the audit log or its key cannot be read.
    pub async fn verify_call(&self, id: &CallId) -> Result<Vec<CallAuditEntry>, JournalError> {
        let Some(number) = call::row_id(id) else {
            return Ok(Vec::new());
        };
        self.flush().await;
        let writer = self.writer.clone();
        run_blocking(move || {
            let (file, key) = lock(&writer).path_and_key()?;
            Ok(audit::verify_call(
                &mut open_connection(&file)?,
                &key,
                number,
            )?)
        })
        .await
    }

    /// Writes rows and audit entries in one transaction, which is synced to the disk. Tries to
    /// write the pending outcomes and notes first.
    ///
    /// # Errors
    /// Returns an error if the transaction fails. Then none of these rows and entries is written.
    pub(super) async fn write(
        &self,
        work: impl FnOnce(&Connection, &mut Chain<'_>) -> Result<(), rusqlite::Error> + Send + 'static,
    ) -> Result<(), JournalError> {
        let (committed, answer) = oneshot::channel();
        let work = Box::new(work);
        self.commands
            .send(Command::Write { work, committed })
            .map_err(|_| JournalError::Ended)?;
        answer.await.map_err(|_| JournalError::Ended)?
    }

    /// Deletes the calls and audit entries that are older than `before`, in small batches, and the
    /// session periods that are older than every remaining call.
    ///
    /// # Errors
    /// Returns an error if the audit log cannot be read or written.
    pub async fn prune(&self, before: Timestamp) -> Result<(), JournalError> {
        let before = before.0.min(clock::now().0);
        loop {
            let writer = self.writer.clone();
            let segment = run_blocking(move || {
                let file = lock(&writer).file.clone();
                Ok(audit::find_segment(&open_connection(&file)?, before)?)
            });
            let segment = segment.await?;
            if segment.is_empty() {
                return Ok(());
            }
            self.write(move |connection, chain| {
                audit::prune(&segment, connection, chain)?;
                call::delete_old_periods(connection)
            })
            .await?;
            tokio::time::sleep(PRUNE_PAUSE).await;
        }
    }

    /// Deletes the results of calls that are older than `before`, in small batches.
    ///
    /// # Errors
    /// Returns an error if the database cannot be written.
    pub async fn prune_results(&self, before: Timestamp) -> Result<(), JournalError> {
        loop {
            let (deleted, has_deleted) = oneshot::channel();
            self.write(move |connection, _| {
                let _ = deleted.send(call::delete_old_results(before, connection)?);
                Ok(())
            })
            .await?;
            if !has_deleted.await.unwrap_or(false) {
                return Ok(());
            }
            tokio::time::sleep(PRUNE_PAUSE).await;
        }
    }

    /// Returns whether the last attempt to write decisions, outcomes or notes failed.
    pub fn is_failing(&self) -> bool {
        lock(&self.pending_writes).has_failed
    }

    /// Returns the number of decisions, outcomes and notes that wait to be written.
    pub fn waiting_writes(&self) -> usize {
        let decisions = lock(&self.pending_decisions).rows.len();
        let writes = lock(&self.pending_writes);
        decisions + writes.len()
    }

    /// Waits until the decisions, outcomes, notes and results that were recorded so far are
    /// written, or until writing them has failed.
    pub async fn flush(&self) {
        let _ = self.add_decision(None).await;
        let (written, are_written) = oneshot::channel();
        if self.commands.send(Command::WriteResults(written)).is_ok() {
            let _ = are_written.await;
        }
    }
}

/// Guards the loop that commits pending decisions. If the guard is dropped early, it drops the
/// waiting senders, and their receivers report that the journal has ended.
struct CommitGuard {
    pending: Arc<Mutex<PendingDecisions>>,
    is_done: bool,
}

impl Drop for CommitGuard {
    fn drop(&mut self) {
        if !self.is_done {
            *lock(&self.pending) = PendingDecisions::default();
        }
    }
}

/// Writes to the database over the journal's connection.
struct Writer {
    file: PathBuf,
    pool: SqlitePool,
    open: Option<OpenDatabase>,
    /// The key of the audit log, once it is loaded.
    key: Option<Arc<AuditKey>>,
    pending_writes: Arc<Mutex<PendingWrites>>,
    /// Commits since the end of the last checkpoint.
    commits: u32,
    /// Whether a [`Command::Checkpoint`] waits for the thread or runs. A second request would only
    /// fill the queue.
    is_checkpoint_requested: bool,
    /// Wakes the thread that saves the head of the audit log.
    head_changed: mpsc::SyncSender<()>,
}

/// The journal's own connection.
struct OpenDatabase {
    connection: Connection,
    /// The current value of `synchronous`, a setting of this connection only.
    mode: &'static str,
    /// The tip of the audit log, or `None` if it has to be read first.
    tip: Option<Tip>,
    /// The sessions whose current period is known to be stored. Empty after a failure, and after
    /// work that may delete periods.
    periods: SessionPeriods,
}

impl PendingWrites {
    /// Returns the number of outcomes and notes.
    fn len(&self) -> usize {
        self.outcomes.len() + self.notes.len()
    }

    /// Returns how long the thread waits for the next command before it writes.
    fn delay(&self) -> Duration {
        if self.is_thread_awake || !self.results.is_empty() {
            OUTCOME_DELAY
        } else if self.has_failed && self.len() > 0 {
            RETRY_DELAY
        } else {
            Duration::MAX
        }
    }

    /// Moves the pending outcomes and notes into a batch with `rows`.
    fn take_with<'a>(&mut self, rows: &'a [Arc<CallRow>]) -> Batch<'a> {
        Batch {
            rows,
            outcomes: std::mem::take(&mut self.outcomes),
            notes: std::mem::take(&mut self.notes),
            is_synced: false,
        }
    }
}

fn run_thread(
    writer: &Mutex<Writer>,
    pending_writes: &Mutex<PendingWrites>,
    inbox: &mpsc::Receiver<Command>,
) {
    loop {
        let timeout = lock(pending_writes).delay();
        match inbox.recv_timeout(timeout) {
            Ok(Command::Decisions { rows, committed }) => {
                let result = lock(writer).write(&rows);
                let _ = committed.send(result);
                checkpoint_if_due(writer);
            }
            Ok(Command::Checkpoint) => checkpoint_if_due(writer),
            Ok(Command::Wake) => {}
            Ok(Command::Write { work, committed }) => {
                let result = lock(writer).write_other(work);
                let _ = committed.send(result);
                checkpoint_if_due(writer);
            }
            Ok(Command::WriteResults(written)) => {
                write_results(writer, pending_writes);
                let _ = written.send(());
            }
            Err(RecvTimeoutError::Timeout) => {
                let _ = lock(writer).write(&[]);
                write_results(writer, pending_writes);
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let _ = lock(writer).write(&[]);
    write_results(writer, pending_writes);
}

/// Masks and writes the pending results. If they cannot be written, they are dropped.
fn write_results(writer: &Mutex<Writer>, pending_writes: &Mutex<PendingWrites>) {
    let pending = std::mem::take(&mut lock(pending_writes).results);
    if pending.is_empty() {
        return;
    }
    let results: Vec<_> = pending
        .into_iter()
        .map(|pending| (pending.call, pending.at, (pending.mask)()))
        .collect();
    if let Err(error) = lock(writer).write_results(&results) {
        tracing::warn!(
            "the results of {} calls are not kept: {error}",
            results.len()
        );
    }
}

/// Copies the write-ahead log into the database over a separate connection, if enough commits were
/// made since the last time. Commits continue during the first pass. The second pass copies the
/// remainder under the writer's lock, because SQLite starts the log over only if the whole log is
/// copied.
fn checkpoint_if_due(writer: &Mutex<Writer>) {
    let file = {
        let writer = lock(writer);
        if writer.commits < CHECKPOINT_INTERVAL {
            return;
        }
        writer.file.clone()
    };
    let copy =
        |connection: &Connection| connection.pragma_update(None, "wal_checkpoint", "PASSIVE");
    let first_pass = open_connection(&file).and_then(|connection| {
        copy(&connection)?;
        Ok(connection)
    });
    let mut writer = lock(writer);
    let copied = first_pass.and_then(|connection| copy(&connection));
    (writer.commits, writer.is_checkpoint_requested) = (0, false);
    drop(writer);
    if let Err(error) = copied {
        tracing::warn!("cannot write a checkpoint of the database: {error}");
    }
}

/// Saves the head of the audit log after commits, until the journal ends.
fn run_head_thread(
    writer: &Weak<Mutex<Writer>>,
    saved_head: &Mutex<SavedHead>,
    changes: &mpsc::Receiver<()>,
) {
    while changes.recv().is_ok() {
        thread::sleep(HEAD_DELAY);
        // A commit from now on wakes the thread again.
        let _ = changes.try_recv();
        let Some(writer) = writer.upgrade() else {
            return;
        };
        save_head(&writer, saved_head);
    }
}

/// Saves the head of the audit log in the head file, if it has changed. On failure the head file
/// stays as it was, and the next change tries again.
fn save_head(writer: &Mutex<Writer>, saved_head: &Mutex<SavedHead>) {
    let mut saved = lock(saved_head);
    let (file, key, tip) = {
        let writer = lock(writer);
        let tip = writer.open.as_ref().and_then(|open| open.tip);
        let (Some(key), Some(tip)) = (&writer.key, tip) else {
            return;
        };
        (writer.file.clone(), key.clone(), tip)
    };
    if saved.tip == Some(tip) {
        return;
    }
    match sync_log(&file).and_then(|()| head_file::write(folder_of(&file), tip, &key)) {
        Ok(()) => {
            *saved = SavedHead {
                tip: Some(tip),
                has_failed: false,
            }
        }
        Err(error) => {
            if !std::mem::replace(&mut saved.has_failed, true) {
                tracing::warn!(
                    "cannot save the head of the audit log in {}: {error}; an older copy of the database may not be detected",
                    head_file::FILE_NAME
                );
            }
        }
    }
}

/// Syncs the write-ahead log to the disk. Commits that are not in the log are in the database,
/// which a checkpoint has synced.
fn sync_log(database: &Path) -> io::Result<()> {
    // Closing this file releases none of SQLite's locks, which are on the database and the `-shm`
    // file.
    match OpenOptions::new()
        .write(true)
        .open(database.with_extension("db-wal"))
    {
        Ok(log) => log.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn read_head_file(database: &Path, key: &AuditKey) -> Result<audit::HeadFile, JournalError> {
    head_file::read(folder_of(database), key)
        .map_err(|error| JournalError::HeadFile(Arc::new(error)))
}

fn folder_of(database: &Path) -> &Path {
    database.parent().expect("the database is in a folder")
}

impl Writer {
    /// Writes decisions together with the pending outcomes and notes.
    fn write(&mut self, rows: &[Arc<CallRow>]) -> Result<(), JournalError> {
        let batch = {
            let mut pending = lock(&self.pending_writes);
            let is_empty = rows.is_empty() && pending.len() == 0;
            // After a write the flag is set: the thread times out once more, finds nothing to
            // write, and clears the flag.
            pending.is_thread_awake = !is_empty;
            if is_empty {
                return Ok(());
            }
            pending.take_with(rows)
        };
        self.commit(&batch, |_, _| Ok(())).inspect_err(|error| {
            tracing::error!("cannot write the calls to the database: {error}");
            lock(&self.pending_writes).is_thread_awake = false;
            self.restore(batch);
            self.reset();
        })
    }

    /// Writes like [`Self::write`], but never waits. Returns whether the caller has to request
    /// a checkpoint, or `None` if the batch could not be written without waiting.
    fn try_write(&mut self, rows: &[Arc<CallRow>]) -> Option<bool> {
        if self.commits >= MAX_COMMITS_IN_LOG {
            return None;
        }
        let open = self
            .open
            .as_ref()
            .filter(|open| open.mode == NORMAL && open.tip.is_some())?;
        open.connection.busy_timeout(Duration::ZERO).ok()?;
        let batch = lock(&self.pending_writes).take_with(rows);
        let result = self.commit(&batch, |_, _| Ok(()));
        if let Some(open) = &self.open {
            let _ = open.connection.busy_timeout(BUSY_TIMEOUT);
        }
        if result.is_err() {
            // The thread tries again, and logs the error.
            self.restore(batch);
            return None;
        }
        let is_due = self.commits >= CHECKPOINT_INTERVAL;
        Some(is_due && !std::mem::replace(&mut self.is_checkpoint_requested, true))
    }

    /// Puts the outcomes and notes of a failed batch back.
    fn restore(&self, batch: Batch<'_>) {
        let mut pending = lock(&self.pending_writes);
        pending.has_failed = true;
        pending.outcomes.splice(0..0, batch.outcomes);
        pending.outcomes.truncate(MAX_PENDING);
        pending.notes.splice(0..0, batch.notes);
        pending.notes.truncate(MAX_PENDING);
    }

    /// Resumes the audit log, and closes the calls that an earlier run left open.
    fn recover(&mut self) -> Result<(), JournalError> {
        let closed = self.commit(&Batch::default(), |connection, chain| {
            call::write_outcomes(&call::interrupted_calls(connection)?, connection, chain)
        });
        closed.inspect_err(|_| self.reset())
    }

    /// Records in the database that the head file exists, so that a missing head file is detected.
    fn record_head_file(&self) -> Result<(), JournalError> {
        match &self.open {
            Some(open) => Ok(head_file::record_written(&open.connection)?),
            None => Ok(()),
        }
    }

    /// Writes the pending outcomes and notes, and then other rows.
    fn write_other(&mut self, work: Work) -> Result<(), JournalError> {
        let _ = self.write(&[]);
        let batch = Batch {
            is_synced: true,
            ..Batch::default()
        };
        let written = self.commit(&batch, work).inspect_err(|_| self.reset());
        if let Some(open) = &mut self.open {
            open.periods = SessionPeriods::default();
        }
        written
    }

    /// Writes results of calls in a transaction of their own, after the pending outcomes and notes.
    fn write_results(
        &mut self,
        results: &[(CallId, Timestamp, KeptResult)],
    ) -> Result<(), JournalError> {
        self.write(&[])?;
        self.commit(&Batch::default(), |connection, _| {
            results
                .iter()
                .try_for_each(|(id, at, result)| call::write_result(id, *at, result, connection))
        })
        .inspect_err(|_| self.reset())
    }

    /// Closes the connection after a failure. A new connection may work.
    fn reset(&mut self) {
        self.open = None;
    }

    /// Returns the path of the database and the key of its audit log.
    fn path_and_key(&mut self) -> Result<(PathBuf, Arc<AuditKey>), JournalError> {
        if self.pool.is_closed() {
            return Err(JournalError::Ended);
        }
        let key = match &self.key {
            Some(key) => key.clone(),
            None => {
                let key = AuditKey::load(folder_of(&self.file))
                    .map_err(|error| JournalError::Key(Arc::new(error)))?;
                self.key.insert(Arc::new(key)).clone()
            }
        };
        Ok((self.file.clone(), key))
    }

    /// Writes a batch, and the changes of `work`, in one transaction.
    fn commit(
        &mut self,
        batch: &Batch<'_>,
        work: impl FnOnce(&Connection, &mut Chain<'_>) -> Result<(), rusqlite::Error>,
    ) -> Result<(), JournalError> {
        let (file, key) = self.path_and_key()?;
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(OpenDatabase {
                connection: open_connection(&file)?,
                mode: "",
                tip: None,
                periods: SessionPeriods::default(),
            }),
        };
        let is_by_person = batch
            .rows
            .iter()
            .any(|row| row.call.decided_by == DecidedBy::Person);
        let mode = if is_by_person || batch.is_synced {
            FULL
        } else {
            NORMAL
        };
        if open.mode != mode {
            open.connection.pragma_update(None, "synchronous", mode)?;
            open.mode = mode;
        }
        // After a failure, the tip of the audit log is unknown, and the next commit reads it again.
        let tip = open.tip.take();
        let mut periods = std::mem::take(&mut open.periods);
        let transaction = Transaction::begin(&open.connection)?;
        let mut chain = match tip {
            Some(tip) => Chain::resume_at(&open.connection, &key, tip),
            None => Chain::resume(&open.connection, &key, read_head_file(&file, &key)?)?,
        };
        call::insert_decisions(
            batch.rows.iter().map(AsRef::as_ref),
            &mut periods,
            &open.connection,
            &mut chain,
        )?;
        call::write_outcomes(&batch.outcomes, &open.connection, &mut chain)?;
        for note in &batch.notes {
            chain.append_at(note.at.0, note.kind, None, &note.body, &Sealed::Nothing)?;
        }
        work(&open.connection, &mut chain)?;
        let tip = chain.finish()?;
        transaction.commit()?;
        (open.tip, open.periods) = (Some(tip), periods);
        key.persist_if_new();
        let _ = self.head_changed.try_send(());
        self.commits += 1;
        lock(&self.pending_writes).has_failed = false;
        Ok(())
    }
}

/// Runs slow work on a blocking thread.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| JournalError::Ended)?
}

/// A transaction with cached `BEGIN` and `COMMIT` statements. If it is dropped before the commit,
/// it is rolled back.
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

fn open_connection(file: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // A commit must not wait for a checkpoint; see [`checkpoint_if_due`].
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
