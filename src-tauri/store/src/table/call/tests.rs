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
        row(1, "read_File", |_| {}),
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
    let asked = CallFilter {
        asked: true,
        ..CallFilter::default()
    };
    assert_eq!(
        found(asked).await,
        [6, 5],
        "nobody was asked about a call that Drawbridge denied by itself"
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
