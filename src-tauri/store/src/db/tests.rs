mod released;

use drawbridge_model::{
    acceptance::DefinitionKind,
    access_report::{AccessReport, AccessSummary, RecordedAccess},
    ids::{CallId, ServerId, Timestamp},
    policy::Lifetime,
};

use super::*;
use crate::{
    Store,
    table::{call::CallFilter, hook::HookRow},
};

/// Creates a database like that of an older version of Drawbridge, with the first
/// `migration_count` migrations.
async fn create_older_database(file: &Path, migration_count: usize) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true);
    let mut database = SqliteConnection::connect_with(&options)
        .await
        .expect("make a database");
    migrator(&MIGRATIONS[..migration_count])
        .run(&mut database)
        .await
        .expect("migrate to the older version");
    database
}

#[tokio::test]
async fn the_calls_of_an_older_database_keep_their_ids() {
    const ROW: &str = "INSERT INTO call VALUES (?, 5, 'c', 's', 't', 's_t', 'd', 'a', 'denied', 'rule', '', 'not_sent', '', 0, NULL)";
    let folder = tempfile::tempdir().expect("make a folder");
    let file = folder.path().join("drawbridge.db");
    let mut older = create_older_database(&file, 2).await;
    let ids = ["2222222223", "zzzzzzzzzz", "9abcdefghi"];
    for id in ids {
        sqlx::query(ROW)
            .bind(id)
            .execute(&mut older)
            .await
            .expect("write a call");
    }
    older.close().await.expect("close");

    let (store, moved) = Store::open(&file).await.expect("open the store");

    assert_eq!(moved, None);
    let newest_first = store
        .calls(&CallFilter {
            limit: 9,
            ..CallFilter::default()
        })
        .await
        .expect("read the calls");
    let found: Vec<_> = newest_first.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(found, ["zzzzzzzzzz", "9abcdefghi", "2222222223"]);
    for id in ids {
        let call = store
            .call(&CallId::new(id))
            .await
            .expect("read a call")
            .expect("the call is recorded");
        assert_eq!((call.id.as_str(), call.exposed_name.as_str()), (id, "s_t"));
    }
}

#[tokio::test]
async fn the_accepted_tools_of_an_older_database_stay_accepted() {
    let folder = tempfile::tempdir().expect("make a folder");
    let file = folder.path().join("drawbridge.db");
    let mut older = create_older_database(&file, 10).await;
    for sql in [
        "INSERT INTO server (id, sync_status) VALUES ('s', 'SYNCED')",
        "INSERT INTO definition VALUES ('s', 't', 'd', '{}', 5, 6)",
        "INSERT INTO definition VALUES ('s', 't', 'e', '{}', 7, NULL)",
    ] {
        sqlx::query(sql).execute(&mut older).await.expect("write");
    }
    older.close().await.expect("close the database");

    let (store, _) = Store::open(&file).await.expect("open the store");

    let versions = store.definitions(&ServerId::new("s")).await;
    let versions: Vec<_> = versions
        .expect("read the versions")
        .into_iter()
        .map(|row| (row.kind, row.digest, row.accepted_at))
        .collect();
    assert_eq!(
        versions,
        [
            (DefinitionKind::Tool, "e".into(), None),
            (DefinitionKind::Tool, "d".into(), Some(Timestamp(6))),
        ]
    );
}

#[tokio::test]
async fn the_rules_of_an_older_database_keep_their_lifetimes() {
    const ROW: &str = "INSERT INTO rule (id, server, tool, client, effect, life, created_at) VALUES (?, 's', 't', 'c', 'deny', ?, 5)";
    let folder = tempfile::tempdir().expect("make a folder");
    let file = folder.path().join("drawbridge.db");
    let mut older = create_older_database(&file, 9).await;
    for (id, lifetime) in [
        ("a", r#"{"kind":"until_revoked"}"#),
        ("b", r#"{"kind":"calls","count":3}"#),
    ] {
        sqlx::query(ROW)
            .bind(id)
            .bind(lifetime)
            .execute(&mut older)
            .await
            .expect("write a rule");
    }
    older.close().await.expect("close the database");

    let (store, _) = Store::open(&file).await.expect("open the store");

    let rules = store.rules().await.expect("read the rules");
    let lifetimes: Vec<_> = rules.iter().map(|rule| &rule.spec.lifetime).collect();
    assert_eq!(
        lifetimes,
        [&Lifetime::UntilDeleted, &Lifetime::Calls { count: 3 }]
    );
    let stored: Vec<String> =
        sqlx::query_scalar("SELECT lifetime ->> 'kind' FROM rule ORDER BY id")
            .fetch_all(&store.pool)
            .await
            .expect("read the stored lifetimes");
    assert_eq!(stored, ["until_deleted", "calls"]);
}

/// Sets the maximum number of pages of the file for each connection of the pool.
async fn limit_pages(store: &Store, pages: u32) {
    let mut connections = Vec::new();
    for _ in 0..store.pool.options().get_max_connections() {
        connections.push(store.pool.acquire().await.expect("a connection"));
    }
    for connection in &mut connections {
        let sql = format!("PRAGMA max_page_count = {pages}");
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .execute(&mut **connection)
            .await
            .expect("limit the pages");
    }
}

#[tokio::test]
async fn after_a_full_disk_no_connection_blocks_the_others() {
    let folder = tempfile::tempdir().expect("make a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("open the store");
    let hook = |length: usize| HookRow {
        name: "a".into(),
        spec: "x".repeat(length),
    };
    limit_pages(&store, 1).await;
    let error = store.put_hooks(&[hook(1 << 20)]).await;
    let error = error.expect_err("the file cannot grow");
    assert!(error.to_string().contains("full"), "{error}");
    for _ in 0..3 {
        // The pool may have replaced a connection. A new connection has no page limit, so these
        // writes may succeed or fail.
        let _ = store.put_hooks(&[hook(1 << 20)]).await;
    }
    limit_pages(&store, 1 << 20).await;
    for _ in 0..8 {
        let mut abandoned = store.pool.begin().await.expect("begin");
        sqlx::query("INSERT INTO setting VALUES ('a', 'b')")
            .execute(&mut *abandoned)
            .await
            .expect("write a setting");
    }

    store
        .check_writable()
        .await
        .expect("no connection holds the lock");
    store.put_hooks(&[hook(9)]).await.expect("write a hook");
    let journal = store.journal();
    journal.recover().await.expect("write the audit log");
    assert_eq!(store.setting("a").await.expect("read a setting"), None);
}

#[tokio::test]
async fn a_migrated_database_stores_the_latest_access_report_of_a_server() {
    let folder = tempfile::tempdir().expect("make a folder");
    let file = folder.path().join("drawbridge.db");
    let older = create_older_database(&file, MIGRATIONS.len() - 1).await;
    older.close().await.expect("close the database");
    let (store, _) = Store::open(&file).await.expect("open the store");
    let server = ServerId::new("s");
    let report = |identity: &str| AccessReport {
        identity: identity.to_owned(),
        recorded_at: Timestamp(5),
        sandbox: None,
        access: RecordedAccess::Summary(AccessSummary::default()),
        has_connected: true,
    };

    for identity in ["older", "newer"] {
        let written = store.put_access_report(&server, &report(identity)).await;
        written.expect("write a report");
    }

    let stored = store.access_reports().await.expect("read the reports");
    assert_eq!(stored, [(server.clone(), report("newer"))]);
    let deleted = store.delete_access_report(&server).await;
    deleted.expect("delete the report");
    let stored = store.access_reports().await.expect("read the reports");
    assert_eq!(stored, []);
}
