//! Tests of the filters for calls.

use std::sync::Arc;

use drawbridge_model::{call::DecidedBy, protocol::guarded::GuardedMethod};

use super::*;

fn row(at: i64, tool: &str, change: impl FnOnce(&mut CallRow)) -> Arc<CallRow> {
    let call = Call {
        id: CallId::new(random::ordered_id()),
        at: Timestamp(at),
        method: GuardedMethod::CallTool,
        client: ClientName::new("c"),
        session: None,
        server: ServerId::new("s"),
        tool: tool.into(),
        exposed_name: format!("s__{tool}"),
        decision: Decision::Allowed,
        decided_by: DecidedBy::Rule,
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
    let mut row = CallRow {
        call,
        definition_digest: "d".into(),
        arguments_digest: "a".into(),
        arguments: None,
        extra: None,
        original_arguments: None,
        is_counted: false,
        new_rule: None,
    };
    change(&mut row);
    Arc::new(row)
}

#[tokio::test]
async fn calls_are_filtered_and_paged() {
    let folder = tempfile::tempdir().expect("make a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("open");
    let journal = store.journal();
    let rows = [
        row(1, "read_File", |row| {
            row.call.session = Some(SessionId::new("s1"))
        }),
        row(2, "b", |row| {
            row.arguments = Some(r#"{"path":"/Etc/Hosts"}"#.into())
        }),
        row(3, "c", |row| row.call.reason = "100% sure".into()),
        row(4, "d", |row| {
            (row.call.decision, row.call.outcome) = (Decision::Denied, Outcome::NotSent);
            row.call.error = r"back\slash".into();
        }),
        row(5, "e", |row| row.call.decided_by = DecidedBy::Person),
        row(6, "f", |row| {
            (row.call.decision, row.call.decided_by) = (Decision::TimedOut, DecidedBy::Hub);
        }),
        row(7, "g", |row| {
            (row.call.decision, row.call.decided_by) = (Decision::Denied, DecidedBy::Hub);
        }),
    ];
    for row in &rows {
        journal.record_decision(row.clone()).await.expect("decided");
    }
    let found = async |filter: CallFilter| {
        let calls = store
            .calls(&CallFilter { limit: 2, ..filter })
            .await
            .expect("read");
        assert!(
            calls.iter().all(|call| call.arguments.is_none()),
            "listed calls have no arguments"
        );
        calls.iter().map(|call| call.at.0).collect::<Vec<_>>()
    };
    let text = async |text: &str| {
        found(CallFilter {
            text: Some(text.into()),
            ..CallFilter::default()
        })
        .await
    };
    assert_eq!(text("READ_f").await, [1]);
    assert_eq!(text("S__b").await, [2]);
    assert_eq!(text("etc/hosts").await, [2]);
    assert_eq!(text("0%").await, [3]);
    assert_eq!(
        text("%").await,
        [3],
        "a LIKE wildcard in the text stands for itself"
    );
    assert_eq!(text("_File").await, [1]);
    assert_eq!(text(r"K\S").await, [4]);
    assert_eq!(text("nowhere").await, [0; 0]);
    assert_eq!(
        found(CallFilter {
            decision: Some(Decision::Denied),
            ..CallFilter::default()
        })
        .await,
        [7, 4]
    );
    assert_eq!(found(CallFilter::default()).await, [7, 6]);
    let of_session = async |session: &str| {
        found(CallFilter {
            session: Some(SessionId::new(session)),
            ..CallFilter::default()
        })
        .await
    };
    assert_eq!(of_session("s1").await, [1]);
    assert_eq!(of_session("s2").await, [0; 0]);
    let of_tool = CallFilter {
        tool: Some("b".into()),
        ..CallFilter::default()
    };
    assert_eq!(found(of_tool).await, [2], "the whole name has to match");
    let asked = CallFilter {
        needed_approval: true,
        ..CallFilter::default()
    };
    assert_eq!(
        found(asked).await,
        [6, 5],
        "a call that Drawbridge denied by itself needed no decision of a person"
    );
    let before = Some(rows[2].call.id.clone());
    assert_eq!(
        found(CallFilter {
            before,
            ..CallFilter::default()
        })
        .await,
        [2, 1]
    );
    let (since, until) = (Some(Timestamp(2)), Some(Timestamp(4)));
    assert_eq!(
        found(CallFilter {
            since,
            until,
            ..CallFilter::default()
        })
        .await,
        [3, 2]
    );
    let shown = store
        .call(&rows[1].call.id)
        .await
        .expect("read")
        .expect("the call is recorded");
    assert_eq!(
        shown.arguments, rows[1].arguments,
        "a single call has its arguments"
    );
    let first = store.call(&rows[0].call.id).await.expect("read");
    assert_eq!(
        first.and_then(|call| call.session),
        rows[0].call.session,
        "a call has its session"
    );
    let page = store
        .audited_calls(Some(&rows[0].call.id), since, until, 1)
        .await
        .expect("read");
    assert_eq!(page.len(), 1);
    assert_eq!(
        (&page[0].call.arguments, page[0].seq),
        (&rows[1].arguments, Some(3))
    );
    assert_eq!(page[0].hash.as_ref().map(String::len), Some(64));
}

/// Returns how SQLite runs a query, a step per line.
async fn plan_of(store: &Store, query: QueryBuilder<Sqlite>) -> String {
    let mut explained = QueryBuilder::<Sqlite>::new("EXPLAIN QUERY PLAN ");
    explained.push(query.sql().as_str());
    let rows = explained.build().fetch_all(&store.pool).await;
    let rows = rows.expect("explain the query");
    let steps = rows
        .iter()
        .map(|row| row.try_get::<String, _>("detail").expect("a step"));
    steps.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_calls_of_a_session_are_found_in_all_its_periods() {
    let folder = tempfile::tempdir().expect("make a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("open");
    // Two calls of each of three sessions in each of four periods.
    let number = |n: i64| ((n / 6) << PERIOD_BITS) + n;
    for n in 0..24 {
        let written = row(n, "t", |row| {
            row.call.id = call_id(number(n));
            row.call.session = Some(SessionId::new(format!("s{}", n % 3)));
        });
        store
            .journal()
            .record_decision(written)
            .await
            .expect("write");
    }
    let found = async |filter: CallFilter| {
        let filter = CallFilter {
            session: Some(SessionId::new("s1")),
            ..filter
        };
        let calls = store.calls(&filter).await.expect("read");
        calls.iter().map(|call| call.at.0).collect::<Vec<_>>()
    };
    let all = CallFilter {
        limit: 100,
        ..CallFilter::default()
    };
    assert_eq!(found(all.clone()).await, [22, 19, 16, 13, 10, 7, 4, 1]);
    let newest = CallFilter {
        limit: 3,
        ..all.clone()
    };
    assert_eq!(found(newest).await, [22, 19, 16]);
    // Pages that begin within a period, and between two periods.
    for (before, expected) in [
        (22, [19, 16]),
        (19, [16, 13]),
        (13, [10, 7]),
        (8, [7, 4]),
        (6, [4, 1]),
    ] {
        let page = CallFilter {
            before: Some(call_id(number(before))),
            limit: 2,
            ..all.clone()
        };
        assert_eq!(found(page).await, expected, "before {before}");
    }
    let between = CallFilter {
        since: Some(Timestamp(8)),
        until: Some(Timestamp(19)),
        ..all.clone()
    };
    assert_eq!(found(between).await, [16, 13, 10]);
}

#[tokio::test]
async fn a_filter_with_an_index_uses_it_and_no_list_is_sorted() {
    let folder = tempfile::tempdir().expect("make a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("open");
    sqlx::query(
        "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100000)
         INSERT INTO call (id, at, client, server, tool, exposed_name, definition_digest,
             arguments_digest, decision, decided_by, reason, outcome, waited_ms, session)
         SELECT n, n, 'c' || n % 3, 's' || n % 100, 't' || n % 1000, '', '', '', 'allowed', 'rule',
             '', 'ok', 0, n / 50 FROM number",
    )
    .execute(&store.pool)
    .await
    .expect("write many calls");
    // The planner sees the distribution of the values.
    sqlx::query("ANALYZE")
        .execute(&store.pool)
        .await
        .expect("analyze");
    let all = CallFilter {
        limit: 100,
        ..CallFilter::default()
    };
    let client = Some(ClientName::new("c1"));
    let cases = [
        (
            "session_period USING PRIMARY KEY (session_id=?",
            CallFilter {
                session: Some(SessionId::new("7")),
                ..all.clone()
            },
        ),
        (
            "INDEX call_tool",
            CallFilter {
                tool: Some("t1".into()),
                ..all.clone()
            },
        ),
        (
            "INDEX call_asked",
            CallFilter {
                needed_approval: true,
                ..all.clone()
            },
        ),
        (
            "INDEX call_decision",
            CallFilter {
                decision: Some(Decision::Denied),
                ..all.clone()
            },
        ),
        (
            "INDEX call_outcome",
            CallFilter {
                outcome: Some(Outcome::Unknown),
                ..all.clone()
            },
        ),
        (
            "INTEGER PRIMARY KEY (rowid<?)",
            CallFilter {
                before: Some(call_id(500)),
                ..all.clone()
            },
        ),
        (
            "INTEGER PRIMARY KEY (rowid>?)",
            CallFilter {
                since: Some(Timestamp(500)),
                ..all.clone()
            },
        ),
        (
            "call USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            CallFilter {
                client: client.clone(),
                session: Some(SessionId::new("7")),
                since: Some(Timestamp(5)),
                outcome: Some(Outcome::Ok),
                before: Some(call_id(500)),
                text: Some("x".into()),
                ..all.clone()
            },
        ),
    ];
    for (expected, filter) in cases {
        let plan = plan_of(&store, calls_query(&filter)).await;
        assert!(plan.contains(expected), "{filter:?}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
    }
    // Lists that no index narrows are read from the newest call on, up to the limit.
    for filter in [
        all.clone(),
        CallFilter {
            client,
            ..all.clone()
        },
        CallFilter {
            server: Some(ServerId::new("s1")),
            ..all.clone()
        },
        CallFilter {
            until: Some(Timestamp(500)),
            ..all.clone()
        },
        CallFilter {
            text: Some("x".into()),
            ..all.clone()
        },
        CallFilter {
            decision: Some(Decision::Allowed),
            outcome: Some(Outcome::Ok),
            ..all.clone()
        },
    ] {
        let plan = plan_of(&store, calls_query(&filter)).await;
        assert_eq!(plan, "SCAN call", "{filter:?}");
    }
    let past = PastCallFilter {
        tool: Some("t1".into()),
        limit: 100,
        ..PastCallFilter::default()
    };
    let plan = plan_of(&store, past_calls_query(&past)).await;
    assert!(plan.contains("INDEX call_tool"), "{plan}");
}
