//! Tests of the journal: durable decisions and outcomes, concurrent writers, the size of the
//! write-ahead log, and the results of calls.

use drawbridge_model::{
    call::{Call, Decision},
    clock,
    ids::{ClientName, ServerId},
    protocol::guarded::GuardedMethod,
    random,
};
use tempfile::TempDir;

use super::*;
use crate::{Store, table::call::CallFilter};

async fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().expect("make a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("open");
    (folder, store)
}

fn row(decided_by: DecidedBy) -> Arc<CallRow> {
    let call = Call {
        id: CallId::new(random::ordered_id()),
        at: clock::now(),
        method: GuardedMethod::CallTool,
        client: ClientName::new("c"),
        session: None,
        server: ServerId::new("s"),
        tool: "t".into(),
        exposed_name: "s__t".into(),
        decision: Decision::Allowed,
        decided_by,
        rule: None,
        is_edited: false,
        reason: String::new(),
        outcome: Outcome::Running,
        error: String::new(),
        waited_ms: 0,
        duration_ms: None,
        arguments: None,
        extra: None,
        original_arguments: None,
        request_hooks: Vec::new(),
        result_hooks: Vec::new(),
        flags: Vec::new(),
        result: None,
    };
    Arc::new(CallRow {
        call,
        definition_digest: "d".into(),
        arguments_digest: "a".into(),
        arguments: None,
        extra: None,
        original_arguments: None,
        is_counted: false,
        new_rule: None,
    })
}

async fn calls(store: &Store) -> Vec<Call> {
    store
        .calls(&CallFilter {
            limit: 100_000,
            ..CallFilter::default()
        })
        .await
        .expect("read the calls")
}

#[tokio::test]
async fn concurrent_decisions_and_outcomes_are_all_written() {
    let (_folder, store) = store().await;
    let journal = store.journal();
    for round in 0..30_usize {
        let by = if round % 10 == 7 {
            DecidedBy::Person
        } else {
            DecidedBy::Rule
        };
        let rows: Vec<_> = (0..=round % 7).map(|_| row(by)).collect();
        let decided = rows.iter().map(|row| journal.record_decision(row.clone()));
        futures_util::future::try_join_all(decided)
            .await
            .expect("decided");
        let written = calls(&store).await;
        assert!(
            rows.iter().all(|row| written.contains(&row.call)),
            "each decision that was confirmed is in the database"
        );
        for row in rows {
            journal.record_outcome(row.call.id.clone(), Outcome::Ok, String::new(), Some(1));
        }
    }
    journal.flush().await;
    assert!(
        calls(&store)
            .await
            .iter()
            .all(|call| call.outcome == Outcome::Ok)
    );
}

#[tokio::test]
async fn a_last_outcome_is_written_without_another_decision() {
    let (_folder, store) = store().await;
    let journal = store.journal();
    for _ in 0..3 {
        let row = row(DecidedBy::Rule);
        journal.record_decision(row.clone()).await.expect("decided");
        journal.record_outcome(row.call.id.clone(), Outcome::Ok, String::new(), Some(1));
        while calls(&store)
            .await
            .iter()
            .any(|call| call.outcome == Outcome::Running)
        {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn an_outcome_that_could_not_be_written_is_written_later_without_another_command() {
    let (folder, store) = store().await;
    let journal = store.journal();
    let row = row(DecidedBy::Rule);
    journal.record_decision(row.clone()).await.expect("decided");
    let (file, away) = (
        folder.path().join("drawbridge.db"),
        folder.path().join("away.db"),
    );
    // The journal has to open the file again.
    lock(&journal.writer).reset();
    std::fs::rename(&file, &away).expect("move the file away");
    journal.record_outcome(row.call.id.clone(), Outcome::Ok, String::new(), Some(1));
    while !journal.is_failing() {
        tokio::task::yield_now().await;
    }
    std::fs::rename(&away, &file).expect("restore the file");
    while calls(&store).await[0].outcome == Outcome::Running {
        tokio::task::yield_now().await;
    }
    // The journal notes its success after the commit.
    while journal.is_failing() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_waits_for_another_writer_and_is_not_lost() {
    let (folder, store) = store().await;
    let journal = store.journal();
    journal
        .record_decision(row(DecidedBy::Rule))
        .await
        .expect("record the first decision, which opens the connection");
    let other =
        Connection::open(folder.path().join("drawbridge.db")).expect("open a second connection");
    other
        .execute_batch("BEGIN IMMEDIATE")
        .expect("take the lock");
    let decide = |decided_by: DecidedBy| {
        let journal = journal.clone();
        tokio::spawn(async move { journal.record_decision(row(decided_by)).await })
    };
    // A person's decision is committed only by the thread, which locks the writer while it waits.
    let waiting = decide(DecidedBy::Person);
    while journal.writer.try_lock().is_ok() {
        tokio::task::yield_now().await;
    }
    let next = decide(DecidedBy::Rule);
    while lock(&journal.pending_decisions).rows.is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(
        !waiting.is_finished() && !next.is_finished(),
        "neither decision is confirmed before it is written"
    );
    other.execute_batch("COMMIT").expect("release the lock");
    for waiting in [waiting, next] {
        waiting.await.expect("the task ends").expect("decided");
    }
    assert_eq!(calls(&store).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_cannot_be_committed_in_place_is_left_to_the_thread() {
    let (folder, store) = store().await;
    let journal = store.journal();
    journal
        .record_decision(row(DecidedBy::Rule))
        .await
        .expect("record the first decision, which opens the connection");
    let other =
        Connection::open(folder.path().join("drawbridge.db")).expect("open a second connection");
    other
        .execute_batch("BEGIN IMMEDIATE")
        .expect("take the lock");
    assert!(
        journal.commit_in_place(&[row(DecidedBy::Rule)]).is_none(),
        "the commit does not wait for the lock"
    );
    let deciding = journal.record_decision(row(DecidedBy::Rule));
    let release = async { other.execute_batch("COMMIT").expect("release the lock") };
    let (decided, ()) = tokio::join!(deciding, release);
    decided.expect("decided");
    assert_eq!(calls(&store).await.len(), 2);
}

#[tokio::test]
async fn the_write_ahead_log_stays_bounded() {
    let (folder, store) = store().await;
    let journal = store.journal();
    for _ in 0..8 * CHECKPOINT_INTERVAL {
        journal
            .record_decision(row(DecidedBy::Rule))
            .await
            .expect("decided");
    }
    let log = std::fs::metadata(folder.path().join("drawbridge.db-wal"))
        .expect("the log")
        .len();
    // A commit of one row writes one or two pages of 4 KiB.
    assert!(
        log < u64::from(4 * CHECKPOINT_INTERVAL) * 2 * 4096,
        "the log has {log} bytes"
    );
    assert_eq!(calls(&store).await.len(), 8 * CHECKPOINT_INTERVAL as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_commits_since_a_checkpoint_wait_for_the_next() {
    let (_folder, store) = store().await;
    let journal = store.journal();
    journal
        .record_decision(row(DecidedBy::Rule))
        .await
        .expect("record the first decision, which opens the connection");
    lock(&journal.writer).commits = MAX_COMMITS_IN_LOG;
    assert!(
        journal.commit_in_place(&[row(DecidedBy::Rule)]).is_none(),
        "only the thread commits, when its checkpoint has ended"
    );
    journal
        .record_decision(row(DecidedBy::Rule))
        .await
        .expect("decided by the thread");
    journal.flush().await;
    assert!(journal.commit_in_place(&[row(DecidedBy::Rule)]).is_some());
    assert_eq!(calls(&store).await.len(), 3);
}

#[tokio::test]
async fn decisions_are_refused_until_the_file_can_be_opened() {
    let (folder, store) = store().await;
    let journal = store.journal();
    let (file, away) = (
        folder.path().join("drawbridge.db"),
        folder.path().join("away.db"),
    );
    std::fs::rename(&file, &away).expect("move the file away");
    for _ in 0..3 {
        assert!(journal.record_decision(row(DecidedBy::Rule)).await.is_err());
    }
    std::fs::rename(&away, &file).expect("restore the file");
    journal
        .record_decision(row(DecidedBy::Rule))
        .await
        .expect("decided");
    assert_eq!(calls(&store).await.len(), 1);
    assert_eq!(journal.verify().await.expect("verified").broken, None);
}

#[tokio::test]
async fn results_are_written_in_the_background_and_deleted_if_old_or_with_their_call() {
    let (_folder, store) = store().await;
    let journal = store.journal();
    let kept = |text: &str| KeptResult {
        text: text.into(),
        is_cut: false,
        bytes: 9,
    };
    let rows: Vec<_> = (0..2).map(|_| row(DecidedBy::Rule)).collect();
    for row in &rows {
        journal.record_decision(row.clone()).await.expect("decided");
        let id = row.call.id.clone();
        let result = kept(id.as_str());
        journal.record_result(id, 9, move || result);
    }
    let unknown = CallId::new(random::ordered_id());
    journal.record_result(unknown.clone(), 9, move || kept("of no call"));
    journal.flush().await;

    let result = async |id: &CallId| {
        let call = store.call(id).await.expect("read a call");
        call.and_then(|call| call.result).map(|kept| kept.text)
    };
    for row in &rows {
        let id = &row.call.id;
        assert_eq!(result(id).await.as_deref(), Some(id.as_str()));
    }
    let exported = store.audited_calls(None, None, None, 9).await;
    let exported = exported.expect("read the calls");
    assert!(exported.iter().all(|audited| audited.call.result.is_some()));
    assert!(calls(&store).await.iter().all(|call| call.result.is_none()));

    let first = &rows[0].call.id;
    sqlx::query("UPDATE call_result SET at = 5 WHERE text = ?")
        .bind(first.as_str())
        .execute(&store.pool)
        .await
        .expect("make a result old");
    journal.prune_results(Timestamp(6)).await.expect("pruned");
    assert_eq!(result(first).await, None);
    let second = &rows[1].call.id;
    assert!(result(second).await.is_some(), "the result is not old yet");
    sqlx::query("DELETE FROM call")
        .execute(&store.pool)
        .await
        .expect("delete the calls");
    let remaining: i64 = sqlx::query_scalar("SELECT count(*) FROM call_result")
        .fetch_one(&store.pool)
        .await
        .expect("count the results");
    assert_eq!(remaining, 0, "a result is deleted with its call");
}

#[tokio::test]
async fn results_that_need_too_much_memory_are_dropped() {
    let (_folder, store) = store().await;
    let journal = store.journal();
    let row = row(DecidedBy::Rule);
    journal.record_decision(row.clone()).await.expect("decided");
    let too_many = MAX_PENDING_RESULT_BYTES + 1;
    journal.record_result(row.call.id.clone(), too_many, || {
        unreachable!("a dropped result is not masked")
    });
    journal.flush().await;
    let call = store.call(&row.call.id).await.expect("read a call");
    assert_eq!(call.and_then(|call| call.result), None);
}
