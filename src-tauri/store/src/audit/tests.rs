//! Tests that the chain stays intact over restarts, crashes and pruning, and that `verify` finds
//! every change to the database and names its place. The tests change real files with SQLite.

use std::{path::Path, sync::Arc};

use drawbridge_model::{
    audit::{AuditBreak, AuditReport},
    call::{Call, DecidedBy, Decision, Outcome},
    ids::{CallId, ClientName, ServerId, Timestamp},
    protocol::guarded::GuardedMethod,
    random,
};
use tempfile::TempDir;

use super::*;
use crate::{
    Journal, Store,
    table::call::{CallFilter, CallRow},
};

const DATABASE: &str = "drawbridge.db";
const WRITE_AHEAD_LOG: &str = "drawbridge.db-wal";

struct AuditFixture {
    folder: TempDir,
    store: Store,
    journal: Journal,
}

impl AuditFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("make a folder");
        let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
            .await
            .expect("open");
        let journal = store.journal();
        journal.recover().await.expect("recover the journal");
        Self {
            folder,
            store,
            journal,
        }
    }

    async fn record_decision(&self, decision: Decision) -> CallId {
        let row = row(decision);
        self.journal
            .record_decision(row.clone())
            .await
            .expect("decided");
        row.call.id.clone()
    }

    async fn record_call(&self) -> CallId {
        let id = self.record_decision(Decision::Allowed).await;
        self.journal
            .record_outcome(id.clone(), Outcome::Ok, String::new(), Some(3));
        self.journal.flush().await;
        id
    }

    /// Closes the store and opens it again, as when the hub restarts.
    async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    async fn stop(&self) {
        self.journal.close().await;
        self.store.close().await;
    }

    async fn start(&mut self) {
        let (store, _) = Store::open(&self.folder.path().join("drawbridge.db"))
            .await
            .expect("open");
        self.journal = store.journal();
        self.store = store;
        self.journal.recover().await.expect("recover the journal");
    }

    /// Opens a store on a copy of these files, as a hub does after `kill -9`, and returns the break
    /// that `verify` finds.
    async fn verify_after_crash(&self, files: &[&str]) -> Option<AuditBreak> {
        let folder = tempfile::tempdir().expect("make a folder");
        for file in files {
            std::fs::copy(self.folder.path().join(file), folder.path().join(file))
                .unwrap_or_else(|e| panic!("copy {file}: {e}"));
        }
        let (store, _) = Store::open(&folder.path().join(DATABASE))
            .await
            .expect("open");
        let journal = store.journal();
        journal.recover().await.expect("recover the journal");
        let found = journal.verify().await.expect("verify").broken;
        let (reopened, _) = Store::open(&folder.path().join(DATABASE))
            .await
            .expect("open again");
        let journal = reopened.journal();
        journal.recover().await.expect("recover the journal");
        assert_eq!(
            journal.verify().await.expect("verify").broken,
            found,
            "the next hub finds the same break"
        );
        found
    }

    async fn verify(&self) -> AuditReport {
        self.journal.verify().await.expect("verify")
    }

    async fn find_break(&self) -> AuditBreak {
        self.verify().await.broken.expect("the audit log is broken")
    }

    /// Changes the database as a program with SQLite but without the key could.
    fn tamper(&self, sql: &str) {
        let connection = Connection::open(self.folder.path().join("drawbridge.db")).expect("open");
        connection
            .execute_batch(sql)
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    /// Runs `sql` on a copy of the database, and returns the break that `verify` finds there.
    fn verify_tampered_copy(&self, sql: &str) -> Option<AuditBreak> {
        verify_tampered_copy(self.folder.path(), sql)
    }
}

fn verify_tampered_copy(folder: &Path, sql: &str) -> Option<AuditBreak> {
    let copy = folder.join("copy.db");
    let _ = std::fs::remove_file(&copy);
    let connection = Connection::open(folder.join("drawbridge.db")).expect("open");
    connection
        .execute("VACUUM INTO ?", [copy.to_str()])
        .expect("copy the database");
    let mut copy = Connection::open(copy).expect("open the copy");
    copy.execute_batch(sql)
        .unwrap_or_else(|e| panic!("{sql}: {e}"));
    let key = AuditKey::load(folder).expect("the key");
    let head = head_file::read(folder, &key).expect("the head file");
    verify(&mut copy, &key, head).expect("verify").broken
}

fn row(decision: Decision) -> Arc<CallRow> {
    let is_allowed = decision == Decision::Allowed;
    let call = Call {
        id: CallId::new(random::ordered_id()),
        at: clock::now(),
        method: GuardedMethod::CallTool,
        client: ClientName::new("c"),
        session: None,
        server: ServerId::new("s"),
        tool: "t".into(),
        exposed_name: "s__t".into(),
        decision,
        decided_by: DecidedBy::Rule,
        rule: None,
        is_edited: false,
        // Every reason is different, so that swapping two calls is detected.
        reason: format!("rule {}", random::id()),
        outcome: if is_allowed {
            Outcome::Running
        } else {
            Outcome::NotSent
        },
        error: String::new(),
        waited_ms: 1,
        duration_ms: None,
        arguments: None,
        extra: None,
        original_arguments: None,
        request_hooks: Vec::new(),
        result_hooks: Vec::new(),
        flags: Vec::new(),
        result: None,
    };
    let arguments = is_allowed.then(|| r#"{"a":1}"#.into());
    Arc::new(CallRow {
        call,
        definition_digest: "d".into(),
        arguments_digest: "a".into(),
        arguments,
        extra: None,
        original_arguments: None,
        is_counted: false,
        new_rule: None,
    })
}

fn number(id: &CallId) -> u64 {
    random::decode_id(id.as_str()).expect("an id")
}

fn columns(folder: &Path, table: &str) -> Vec<(String, String)> {
    let connection = Connection::open(folder.join("drawbridge.db")).expect("open");
    let mut statement = connection
        .prepare("SELECT name, type FROM pragma_table_info(?)")
        .expect("read the columns");
    let columns = statement
        .query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("read the columns");
    columns.collect::<Result<_, _>>().expect("read the columns")
}

/// Returns SQL for a value that differs from the value in that column.
fn other_value(column: &str, kind: &str) -> String {
    match kind {
        "INTEGER" => format!("coalesce({column}, 0) + 1000000"),
        "BLOB" => "randomblob(32)".into(),
        _ => format!("coalesce({column}, '') || 'x'"),
    }
}

#[tokio::test]
async fn the_chain_stays_intact_over_restarts() {
    let mut fixture = AuditFixture::new().await;
    let first = fixture.verify().await;
    assert_eq!(
        (first.entries, first.broken),
        (1, None),
        "a new chain has one entry, which states its beginning"
    );
    fixture.record_call().await;
    fixture.record_decision(Decision::Denied).await;
    fixture
        .journal
        .append_audit(AuditKind::PolicyChanged, &json!({ "effect": "allow" }));
    fixture.restart().await;
    let interrupted = fixture.record_decision(Decision::Allowed).await;
    fixture.restart().await;
    fixture.record_call().await;
    let report = fixture.verify().await;
    assert_eq!(
        (report.entries, report.broken),
        (1 + 2 + 1 + 1 + 2 + 2, None)
    );
    assert!(report.from <= report.to && report.from.is_some());
    let closed = fixture
        .store
        .call(&interrupted)
        .await
        .expect("read")
        .expect("the call is recorded");
    assert_eq!(
        closed.outcome,
        Outcome::Unknown,
        "the chain records the end of the interrupted call"
    );
}

#[tokio::test]
async fn concurrent_calls_form_one_chain() {
    let fixture = AuditFixture::new().await;
    for _ in 0..10 {
        let rows: Vec<_> = (0..20).map(|_| row(Decision::Allowed)).collect();
        let decided = rows
            .iter()
            .map(|row| fixture.journal.record_decision(row.clone()));
        futures_util::future::try_join_all(decided)
            .await
            .expect("decided");
        for row in rows {
            fixture.journal.record_outcome(
                row.call.id.clone(),
                Outcome::Ok,
                String::new(),
                Some(1),
            );
            fixture.journal.record_outcome(
                row.call.id.clone(),
                Outcome::Cancelled,
                "too late".into(),
                None,
            );
        }
    }
    let report = fixture.verify().await;
    assert_eq!(
        (report.entries, report.broken),
        (1 + 2 * 200, None),
        "only the first outcome of a call is recorded"
    );
}

#[tokio::test]
async fn a_change_of_any_column_of_a_call_is_detected() {
    let fixture = AuditFixture::new().await;
    let ended = fixture.record_call().await;
    let denied = fixture.record_decision(Decision::Denied).await;
    let running = fixture.record_decision(Decision::Allowed).await;
    fixture.journal.flush().await;
    assert_eq!(fixture.verify_tampered_copy(""), None);
    for (call, seq, end) in [(&ended, 2, 3), (&denied, 4, 4), (&running, 5, 5)] {
        for (column, kind) in columns(fixture.folder.path(), "call") {
            let sql = format!(
                "UPDATE call SET {column} = {} WHERE id = {}",
                other_value(&column, &kind),
                number(call)
            );
            let found = fixture
                .verify_tampered_copy(&sql)
                .unwrap_or_else(|| panic!("this change is not detected: {sql}"));
            let is_end = ["outcome", "error", "duration_ms", "result_hooks", "flags"]
                .contains(&column.as_str());
            assert_eq!(
                found.seq,
                if is_end { end } else { seq },
                "{sql}: {}",
                found.reason
            );
            assert!(
                found.reason.contains(call.as_str()),
                "{sql}: {}",
                found.reason
            );
        }
    }
    let set_null = format!(
        "UPDATE call SET arguments = NULL WHERE id = {}",
        number(&ended)
    );
    assert_eq!(
        fixture
            .verify_tampered_copy(&set_null)
            .map(|found| found.seq),
        Some(2),
        "NULL differs from the recorded text"
    );
}

#[tokio::test]
async fn a_change_of_any_column_of_an_entry_is_detected() {
    let fixture = AuditFixture::new().await;
    fixture.record_call().await;
    fixture
        .journal
        .append_audit(AuditKind::ServerAccepted, &json!({ "server": "s" }));
    fixture.record_decision(Decision::Denied).await;
    fixture.journal.flush().await;
    for seq in 1..=5 {
        for (column, kind) in columns(fixture.folder.path(), "audit") {
            let sql = format!(
                "UPDATE audit SET {column} = {} WHERE seq = {seq}",
                other_value(&column, &kind)
            );
            assert_eq!(
                fixture.verify_tampered_copy(&sql).map(|found| found.seq),
                Some(seq),
                "{sql}"
            );
        }
    }
}

#[tokio::test]
async fn moving_bytes_between_columns_or_rows_is_detected() {
    let fixture = AuditFixture::new().await;
    let (first, second) = (
        number(&fixture.record_call().await),
        number(&fixture.record_call().await),
    );
    let moved = format!(
        "UPDATE call SET client = client || 's', server = substr(server, 2) WHERE id = {first}"
    );
    assert_eq!(
        fixture.verify_tampered_copy(&moved).map(|found| found.seq),
        Some(2)
    );
    let entries = "UPDATE audit SET seq = -4 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = -4;";
    assert_eq!(
        fixture.verify_tampered_copy(entries).map(|found| found.seq),
        Some(2)
    );
    let calls = format!(
        "UPDATE call SET id = 1 WHERE id = {first}; UPDATE call SET id = {first} WHERE id = {second}; UPDATE call SET id = {second} WHERE id = 1;"
    );
    assert_eq!(
        fixture.verify_tampered_copy(&calls).map(|found| found.seq),
        Some(2)
    );
    let swapped_with_entries = format!("{calls} UPDATE call SET seq = 6 - seq;");
    assert_eq!(
        fixture
            .verify_tampered_copy(&swapped_with_entries)
            .map(|found| found.seq),
        Some(2),
        "swapped calls are detected even if they name the right entries"
    );
}

#[tokio::test]
async fn deleted_and_added_rows_are_detected() {
    let fixture = AuditFixture::new().await;
    let call = number(&fixture.record_call().await);
    fixture.record_call().await;
    let found = fixture
        .verify_tampered_copy(&format!("DELETE FROM call WHERE id = {call}"))
        .expect("the deletion is detected");
    assert_eq!(found.seq, 2);
    assert!(found.reason.contains("missing"), "{}", found.reason);
    for seq in 1..=4 {
        let found = fixture
            .verify_tampered_copy(&format!("DELETE FROM audit WHERE seq = {seq}"))
            .expect("the deletion is detected");
        assert_eq!(found.seq, seq);
        assert!(
            found.reason.contains(&format!("entry {seq} is missing")),
            "{}",
            found.reason
        );
    }
    let delete_both =
        format!("DELETE FROM call WHERE id = {call}; DELETE FROM audit WHERE call = {call};");
    assert_eq!(
        fixture
            .verify_tampered_copy(&delete_both)
            .map(|found| found.reason),
        Some("entries 2 to 3 are missing".into())
    );
    let columns = "at, client, server, tool, exposed_name, definition_digest, arguments_digest, decision, decided_by, reason, outcome, error, waited_ms, duration_ms, arguments";
    for seq in ["NULL", "2", "9"] {
        let added = format!(
            "INSERT INTO call (id, {columns}, seq) SELECT id + 1, {columns}, {seq} FROM call WHERE id = {call}"
        );
        let found = fixture
            .verify_tampered_copy(&added)
            .unwrap_or_else(|| panic!("the added call with the entry {seq} is not detected"));
        assert!(found.reason.contains("added"), "{}", found.reason);
    }
    let added =
        "INSERT INTO audit SELECT seq + 1, at, kind, call, body, hash FROM audit WHERE seq = 5";
    assert_eq!(
        fixture.verify_tampered_copy(added).map(|found| found.seq),
        Some(6)
    );
}

#[tokio::test]
async fn a_truncated_chain_is_detected_before_and_after_restarts() {
    let mut fixture = AuditFixture::new().await;
    fixture.record_call().await;
    fixture.record_call().await;
    let truncate = "DELETE FROM call WHERE id = (SELECT call FROM audit WHERE seq = 4); DELETE FROM audit WHERE seq > 3;";
    let expected = AuditBreak {
        seq: 4,
        reason: "the audit log was cut off at its end: entries 4 to 5 are gone".into(),
    };
    assert_eq!(
        fixture.verify_tampered_copy(truncate).as_ref(),
        Some(&expected)
    );
    assert_eq!(
        fixture
            .verify_tampered_copy("DELETE FROM audit WHERE seq = 5")
            .map(|found| found.seq),
        Some(5)
    );
    let with_head = format!("{truncate} UPDATE audit_head SET seq = 3");
    assert_eq!(
        fixture
            .verify_tampered_copy(&with_head)
            .map(|found| found.seq),
        Some(4),
        "a changed head does not hide the truncation"
    );
    assert!(
        fixture
            .verify_tampered_copy(&format!("{truncate} DELETE FROM audit_head"))
            .is_some()
    );
    assert!(
        fixture
            .verify_tampered_copy("DELETE FROM audit; DELETE FROM call; DELETE FROM audit_head")
            .is_some(),
        "deleting the whole audit log is detected"
    );

    fixture.tamper(truncate);
    assert_eq!(fixture.find_break().await, expected);
    fixture.record_call().await;
    assert_eq!(
        fixture.find_break().await.seq,
        4,
        "the running hub continues the chain after the gap"
    );
    fixture.restart().await;
    assert_eq!(fixture.find_break().await.seq, 4);

    let mut fixture = AuditFixture::new().await;
    fixture.record_call().await;
    fixture.record_call().await;
    fixture.store.close().await;
    fixture.tamper(truncate);
    fixture.restart().await;
    assert_eq!(
        fixture.find_break().await,
        expected,
        "the next hub does not hide the break"
    );
    fixture.record_call().await;
    fixture.restart().await;
    assert_eq!(fixture.find_break().await, expected);
    fixture.tamper("DELETE FROM audit; DELETE FROM audit_head; DELETE FROM call;");
    fixture.restart().await;
    assert!(
        fixture
            .find_break()
            .await
            .reason
            .contains("all entries are gone")
    );
}

#[tokio::test]
async fn an_entry_of_another_program_does_not_block_calls() {
    let fixture = AuditFixture::new().await;
    fixture.record_call().await;
    fixture.tamper(
        "INSERT INTO audit SELECT seq + 1, at, kind, call, body, hash FROM audit WHERE seq = 3",
    );
    assert!(
        fixture
            .journal
            .record_decision(row(Decision::Allowed))
            .await
            .is_ok(),
        "the second attempt reads the end of the chain again"
    );
    assert_eq!(fixture.find_break().await.seq, 4);
}

#[tokio::test]
async fn a_replaced_or_missing_key_is_detected_and_the_key_is_private() {
    let mut fixture = AuditFixture::new().await;
    fixture.record_call().await;
    let file = fixture.folder.path().join(KEY_FILE);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file)
            .expect("the key")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let key = std::fs::read_to_string(&file).expect("the key");
    let database =
        std::fs::read(fixture.folder.path().join("drawbridge.db")).expect("the database");
    let key_bytes = hex::decode(&key).expect("hex");
    assert!(memchr::memmem::find(&database, key.as_bytes()).is_none());
    assert!(memchr::memmem::find(&database, &key_bytes).is_none());
    std::fs::remove_file(&file).expect("remove the key");
    fixture.restart().await;
    assert_eq!(
        fixture.find_break().await.seq,
        1,
        "entries of another key count as changed"
    );
}

/// Returns a time that is after every earlier entry, and not after any later entry.
fn next_moment() -> Timestamp {
    let before = clock::now();
    loop {
        let now = clock::now();
        if now.0 > before.0 {
            return now;
        }
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn pruning_deletes_old_entries_and_keeps_the_chain_intact() {
    let fixture = AuditFixture::new().await;
    for _ in 0..300 {
        fixture.record_call().await;
        fixture.record_decision(Decision::Denied).await;
    }
    let in_flight = fixture.record_decision(Decision::Allowed).await;
    let prune_before = next_moment();
    let new = fixture.record_call().await;
    fixture.journal.prune(prune_before).await.expect("prune");
    let remaining = fixture
        .store
        .calls(&CallFilter {
            limit: 1_000,
            ..CallFilter::default()
        })
        .await
        .expect("read");
    assert_eq!(
        remaining.iter().map(|call| &call.id).collect::<Vec<_>>(),
        [&new, &in_flight],
        "new calls and calls in flight remain"
    );
    let report = fixture.verify().await;
    assert_eq!(report.broken, None);
    assert!(report.entries < 10, "{} entries", report.entries);

    assert!(
        fixture
            .verify_tampered_copy("DELETE FROM audit WHERE seq = (SELECT min(seq) FROM audit)")
            .is_some()
    );
    assert!(
        fixture
            .verify_tampered_copy(
                "UPDATE audit SET body = replace(body, '9', '8') WHERE kind = 'pruned'"
            )
            .is_some()
    );
    assert!(
        fixture
            .verify_tampered_copy("DELETE FROM audit WHERE kind = 'pruned'")
            .is_some()
    );
    let delete_more =
        "DELETE FROM call; DELETE FROM audit WHERE seq < (SELECT max(seq) FROM audit)";
    assert!(
        fixture.verify_tampered_copy(delete_more).is_some(),
        "deleting more than the anchor states is detected"
    );

    fixture
        .journal
        .record_outcome(in_flight, Outcome::Ok, String::new(), None);
    fixture.journal.flush().await;
    fixture
        .journal
        .prune(next_moment())
        .await
        .expect("prune all");
    assert!(
        fixture
            .store
            .calls(&CallFilter {
                limit: 9,
                ..CallFilter::default()
            })
            .await
            .expect("read")
            .is_empty()
    );
    fixture.record_call().await;
    assert_eq!(fixture.verify().await.broken, None);
}

#[tokio::test]
async fn pruning_does_not_delete_evidence_of_tampering() {
    let fixture = AuditFixture::new().await;
    fixture.record_call().await;
    fixture.record_call().await;
    fixture.tamper("DELETE FROM call WHERE id = (SELECT call FROM audit WHERE seq = 2)");
    fixture
        .journal
        .prune(Timestamp(i64::MAX))
        .await
        .expect("prune");
    assert_eq!(fixture.find_break().await.seq, 2);
}

#[tokio::test]
async fn pruning_deletes_the_periods_that_ended_before_the_oldest_call() {
    let fixture = AuditFixture::new().await;
    fixture.tamper("INSERT INTO session_period VALUES ('s', 1), ('s', (1 << 20) - 1)");
    fixture.record_call().await;
    let prune_before = next_moment();
    fixture.record_call().await;
    fixture.journal.prune(prune_before).await.expect("prune");
    let remaining: Vec<i64> =
        sqlx::query_scalar("SELECT period FROM session_period WHERE session_id = 's'")
            .fetch_all(&fixture.store.pool)
            .await
            .expect("read the periods");
    assert_eq!(remaining, [(1 << 20) - 1]);
}

#[tokio::test]
async fn old_calls_from_before_the_audit_log_are_pruned() {
    let folder = tempfile::tempdir().expect("make a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("open");
    let old = "INSERT INTO call (id, at, client, server, tool, exposed_name, definition_digest, arguments_digest,
        decision, decided_by, reason, outcome, waited_ms) VALUES (?, 5, 'c', 's', 't', 's_t', 'd', 'a', 'allowed', 'rule', '', ?, 0)";
    let connection = Connection::open(folder.path().join("drawbridge.db")).expect("open");
    for (id, outcome) in [(7, "ok"), (8, "running")] {
        connection
            .execute(old, rusqlite::params![id, outcome])
            .expect("write a call");
    }
    let journal = store.journal();
    journal.recover().await.expect("recover the journal");
    let fixture = AuditFixture {
        folder,
        store,
        journal,
    };
    fixture.record_call().await;
    assert_eq!(fixture.verify().await.broken, None);
    let all = CallFilter {
        limit: 9,
        ..CallFilter::default()
    };
    let outcomes = fixture
        .store
        .calls(&all)
        .await
        .expect("read")
        .into_iter()
        .map(|call| call.outcome);
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [Outcome::Ok, Outcome::Unknown, Outcome::Ok]
    );
    fixture
        .journal
        .prune(Timestamp(1_000))
        .await
        .expect("prune");
    assert_eq!(fixture.store.calls(&all).await.expect("read").len(), 1);
    assert_eq!(fixture.verify().await.broken, None);
}

#[tokio::test]
async fn an_older_copy_of_the_database_is_detected() {
    let mut fixture = AuditFixture::new().await;
    fixture.record_call().await;
    fixture.stop().await;
    let (database, copy) = (
        fixture.folder.path().join(DATABASE),
        fixture.folder.path().join("copy.db"),
    );
    fixture.tamper("PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::copy(&database, &copy).expect("copy the database");
    fixture.start().await;
    for _ in 0..5 {
        fixture.record_call().await;
    }
    fixture.restart().await;
    assert_eq!(fixture.verify().await.broken, None);
    fixture.stop().await;
    fixture.tamper("PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::rename(&copy, &database).expect("put the copy back");
    fixture.start().await;
    let found = fixture.find_break().await;
    assert_eq!(found.seq, 4);
    assert_eq!(
        found.reason,
        "the database is older than the file audit.head: 10 entries (4 to 13) are missing"
    );
    fixture.record_call().await;
    fixture.restart().await;
    assert_eq!(
        fixture.find_break().await,
        found,
        "later entries do not hide the break"
    );
}

#[tokio::test]
async fn a_lost_write_ahead_log_is_detected_and_a_crash_is_no_loss() {
    let fixture = AuditFixture::new().await;
    fixture.record_call().await;
    fixture.tamper("PRAGMA wal_checkpoint(TRUNCATE)");
    for _ in 0..7 {
        fixture.record_call().await;
    }
    let saved_before = std::fs::read(fixture.folder.path().join(head_file::FILE_NAME))
        .expect("the hub saved the head of the audit log at its start");
    fixture.journal.close().await;
    let head = head_file::FILE_NAME;
    assert_eq!(
        fixture
            .verify_after_crash(&[DATABASE, WRITE_AHEAD_LOG, KEY_FILE, head])
            .await,
        None
    );
    let found = fixture
        .verify_after_crash(&[DATABASE, KEY_FILE, head])
        .await;
    assert_eq!(
        found.expect("the loss is found").reason,
        "the database is older than the file audit.head: 14 entries (4 to 17) are missing"
    );
    std::fs::write(fixture.folder.path().join(head), saved_before).expect("restore the file");
    assert_eq!(
        fixture
            .verify_after_crash(&[DATABASE, WRITE_AHEAD_LOG, KEY_FILE, head])
            .await,
        None,
        "the file may lag behind the database"
    );
}

#[tokio::test]
async fn a_changed_missing_or_foreign_head_file_is_detected() {
    let mut fixture = AuditFixture::new().await;
    fixture.record_call().await;
    fixture.journal.close().await;
    let (head, other) = (
        fixture.folder.path().join(head_file::FILE_NAME),
        fixture.folder.path().join("other"),
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&head).expect("the file").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
    let saved = std::fs::read_to_string(&head).expect("the head file");

    // A hub on a copy of the folder records another call.
    fixture.tamper("PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::create_dir(&other).expect("make a folder");
    for file in [DATABASE, KEY_FILE, head_file::FILE_NAME] {
        std::fs::copy(fixture.folder.path().join(file), other.join(file)).expect("copy");
    }
    let (store, _) = Store::open(&other.join(DATABASE)).await.expect("open");
    let journal = store.journal();
    journal.recover().await.expect("recover the journal");
    journal
        .record_decision(row(Decision::Denied))
        .await
        .expect("decided");
    journal.close().await;
    fixture.record_decision(Decision::Denied).await;
    assert_eq!(fixture.verify().await.broken, None);
    std::fs::copy(other.join(head_file::FILE_NAME), &head).expect("copy");
    let found = fixture.find_break().await;
    assert_eq!(found.seq, 4);
    assert!(found.reason.contains("entry 4 differs"), "{}", found.reason);

    std::fs::write(&head, saved.replacen('3', "2", 1)).expect("change the file");
    assert!(
        fixture
            .find_break()
            .await
            .reason
            .contains("audit.head was changed")
    );
    std::fs::remove_file(&head).expect("remove the file");
    assert!(
        fixture
            .find_break()
            .await
            .reason
            .contains("audit.head is missing")
    );
    std::fs::write(&head, saved).expect("restore the file");
    assert_eq!(fixture.verify().await.broken, None);
    std::fs::remove_file(&head).expect("remove the file");
    fixture.start().await;
    assert!(
        fixture
            .find_break()
            .await
            .reason
            .contains("audit.head is missing"),
        "a start records the loss"
    );
}

#[tokio::test]
async fn the_head_file_is_written_soon_after_a_call() {
    let fixture = AuditFixture::new().await;
    let head = fixture.folder.path().join(head_file::FILE_NAME);
    let before = std::fs::read(&head).expect("the head file");
    fixture.record_call().await;
    while std::fs::read(&head).expect("the head file") == before {
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.verify().await.broken, None);
}

#[tokio::test]
async fn the_entries_of_a_call_are_verified_on_their_own() {
    let fixture = AuditFixture::new().await;
    let denied = fixture.record_decision(Decision::Denied).await;
    let ended = fixture.record_call().await;
    let entries = async |id: &CallId| {
        let entries = fixture.journal.verify_call(id).await.expect("verified");
        entries
            .into_iter()
            .map(|entry| (entry.kind, entry.fault.is_none(), entry.hash.len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(entries(&denied).await, [(AuditKind::Decided, true, 64)]);
    let intact = [(AuditKind::Decided, true, 64), (AuditKind::Ended, true, 64)];
    assert_eq!(entries(&ended).await, intact);

    let number = number(&ended);
    fixture.tamper(&format!(
        "UPDATE call SET error = 'another' WHERE id = {number}"
    ));
    let changed = [
        (AuditKind::Decided, true, 64),
        (AuditKind::Ended, false, 64),
    ];
    assert_eq!(entries(&ended).await, changed);
    assert_eq!(entries(&denied).await, [(AuditKind::Decided, true, 64)]);
    let unknown = CallId::new(random::ordered_id());
    assert_eq!(entries(&unknown).await, []);

    fixture.tamper(&format!(
        "UPDATE audit SET body = CAST(x'ff' AS TEXT) WHERE call = {number} AND kind = 'ended'"
    ));
    let unreadable = [
        (AuditKind::Decided, true, 64),
        (AuditKind::Broken, false, 0),
    ];
    assert_eq!(entries(&ended).await, unreadable);
}
