//! Tests of the counts, the percentiles and the tokens of calls.

use std::sync::Arc;

use drawbridge_model::{
    call::{Call, DecidedBy, Decision, Outcome},
    ids::CallId,
    protocol::guarded::GuardedMethod,
    random,
};

use super::*;
use crate::table::{call::CallRow, token_usage::TokenUsageRow};

const MINUTE: i64 = 60_000;

/// Returns a call that began `micros` after `at`, with the number of that time.
fn row(at: i64, micros: i64, change: impl FnOnce(&mut Call)) -> Arc<CallRow> {
    let mut call = Call {
        id: CallId::new(random::encode_id((at * 1_000 + micros).cast_unsigned())),
        at: Timestamp(at),
        method: GuardedMethod::CallTool,
        client: ClientName::new("desk"),
        server: ServerId::new("files"),
        tool: "read".into(),
        exposed_name: "files__read".into(),
        decision: Decision::Allowed,
        decided_by: DecidedBy::Rule,
        rule: None,
        request_hooks: Vec::new(),
        result_hooks: Vec::new(),
        flags: Vec::new(),
        is_edited: false,
        reason: String::new(),
        outcome: Outcome::Ok,
        error: String::new(),
        waited_ms: 0,
        duration_ms: Some(10),
        arguments: None,
        extra: None,
        original_arguments: None,
    };
    change(&mut call);
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

#[tokio::test]
async fn calls_are_counted_by_time_client_server_and_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("a store");
    let journal = store.journal();
    let until = clock::now().0;
    let since = until - 10 * MINUTE;
    let mut rows: Vec<_> = (1..=100)
        .map(|number| {
            row(since + 1, number, |call| {
                call.duration_ms = u32::try_from(number).ok();
            })
        })
        .collect();
    rows.extend([
        row(since + 6 * MINUTE, 1, |call| {
            call.tool = "write".into();
            call.outcome = Outcome::ServerError;
            call.decided_by = DecidedBy::Person;
        }),
        row(since + 6 * MINUTE, 2, |call| {
            call.client = ClientName::new("phone");
            call.decision = Decision::TimedOut;
            call.decided_by = DecidedBy::Hub;
            (call.outcome, call.duration_ms) = (Outcome::NotSent, None);
        }),
        row(since + 6 * MINUTE, 3, |call| {
            call.decision = Decision::Denied;
            call.decided_by = DecidedBy::Person;
            (call.outcome, call.duration_ms) = (Outcome::NotSent, None);
        }),
        // Neither older calls nor other requests count.
        row(since - MINUTE, 1, |_| {}),
        row(since + 2, 1, |call| {
            call.method = GuardedMethod::ReadResource
        }),
    ]);
    for row in rows {
        journal.record_decision(row).await.expect("recorded");
    }
    let tokens = |tool: &str, sent| TokenUsageRow {
        client: ClientName::new("desk"),
        server: ServerId::new("files"),
        tool: tool.into(),
        sent,
        received: 1_000,
    };
    for _ in 0..2 {
        let rows = [tokens("read", 7), tokens("write", 5)];
        store
            .add_token_usage(Timestamp(until), &rows)
            .await
            .expect("stored");
    }

    let filter = CallStatsFilter {
        since: Timestamp(since),
        until: Timestamp(until + 5 * MINUTE),
        client: None,
        server: None,
        tool: None,
    };
    let all = store
        .call_stats(&filter, CallGroup::All)
        .await
        .expect("all");
    let expected = CallStats {
        calls: 103,
        errors: 1,
        cancelled: 0,
        not_allowed: 2,
        asked: 3,
        approved: 1,
        denied: 1,
        timed_out: 1,
        p50_ms: Some(50),
        p95_ms: Some(95),
        sent_tokens: 24,
        received_tokens: 4_000,
    };
    assert_eq!(all[""], expected);

    let steps = store.call_stats(&filter, CallGroup::Time(5 * MINUTE)).await;
    let steps = steps.expect("steps");
    assert_eq!((steps["0"].calls, steps["1"].calls), (100, 3));
    let clients = store.call_stats(&filter, CallGroup::Client).await;
    assert_eq!(clients.expect("clients")["phone"].timed_out, 1);
    let tools = store
        .call_stats(&filter, CallGroup::Tool)
        .await
        .expect("tools");
    assert_eq!(
        (
            tools["files write"].errors,
            tools["files write"].sent_tokens
        ),
        (1, 10)
    );
    let only = CallStatsFilter {
        tool: Some("write".into()),
        ..filter
    };
    let servers = store.call_stats(&only, CallGroup::Server).await;
    assert_eq!(servers.expect("servers")["files"].calls, 1);
}
