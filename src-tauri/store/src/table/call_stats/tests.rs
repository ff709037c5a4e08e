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
const FIVE_MINUTES: u32 = 300_000;

/// Returns a call that began `micros` after `at`. The id of the call encodes this time.
fn row(at: i64, micros: i64, change: impl FnOnce(&mut Call)) -> Arc<CallRow> {
    let mut call = Call {
        id: CallId::new(random::encode_id((at * 1_000 + micros).cast_unsigned())),
        at: Timestamp(at),
        method: GuardedMethod::CallTool,
        client: ClientName::new("desk"),
        session: None,
        server: ServerId::new("files"),
        tool: "read".into(),
        exposed_name: "files__read".into(),
        decision: Decision::Allowed,
        decided_by: DecidedBy::Rule,
        rule: None,
        request_hooks: Vec::new(),
        result_hooks: Vec::new(),
        flags: Vec::new(),
        result: None,
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
            call.waited_ms = 1_000;
        }),
        row(since + 6 * MINUTE, 2, |call| {
            call.client = ClientName::new("phone");
            call.decision = Decision::TimedOut;
            call.decided_by = DecidedBy::Hub;
            call.waited_ms = 50_000;
            (call.outcome, call.duration_ms) = (Outcome::NotSent, None);
        }),
        row(since + 6 * MINUTE, 3, |call| {
            call.decision = Decision::Denied;
            call.decided_by = DecidedBy::Person;
            call.waited_ms = 2_000;
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
        steps: 3,
        step_ms: FIVE_MINUTES,
        client: None,
        server: None,
        tool: None,
    };
    let by_client = store.call_stats(&filter, CallGroup::Client).await;
    let by_client = by_client.expect("stats by client");
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
        wait_p50_ms: Some(2_000),
        sent_tokens: 24,
        received_tokens: 4_000,
    };
    assert_eq!(by_client.total, expected);
    let calls = |series: &[CallStats]| series.iter().map(|step| step.calls).collect::<Vec<_>>();
    assert_eq!(calls(&by_client.series), [100, 3, 0]);
    let [desk, phone] = &by_client.groups[..] else {
        panic!("two clients: {:?}", by_client.groups)
    };
    assert_eq!((&*desk.key, calls(&desk.series)), ("desk", vec![100, 2, 0]));
    assert_eq!(desk.series[0].p95_ms, Some(95));
    assert_eq!((&*phone.key, phone.total.timed_out), ("phone", 1));

    let by_tool = store.call_stats(&filter, CallGroup::Tool).await;
    let by_tool = by_tool.expect("stats by tool");
    let write = by_tool
        .groups
        .iter()
        .find(|group| group.key == "files write");
    let write = write.expect("the tool");
    assert_eq!((write.total.errors, write.total.sent_tokens), (1, 10));
    let only = CallStatsFilter {
        tool: Some("write".into()),
        ..filter
    };
    let servers = store.call_stats(&only, CallGroup::Server).await;
    assert_eq!(servers.expect("stats by server").total.calls, 1);
}

#[tokio::test]
async fn only_the_groups_with_the_most_calls_have_a_series() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("a store");
    let journal = store.journal();
    let since = clock::now().0 - MINUTE;
    let mut number = 0;
    for tool in 0..=MAX_SERIES {
        for _ in 0..=tool {
            number += 1;
            let call = row(since, number, |call| call.tool = format!("tool{tool}"));
            journal.record_decision(call).await.expect("recorded");
        }
    }
    let filter = CallStatsFilter {
        since: Timestamp(since),
        steps: 1,
        step_ms: FIVE_MINUTES,
        client: None,
        server: None,
        tool: None,
    };
    let report = store.call_stats(&filter, CallGroup::Tool).await;
    let groups = report.expect("stats").groups;
    let smallest = groups.last().expect("a group");
    assert_eq!((&*smallest.key, smallest.total.calls), ("files tool0", 1));
    assert!(smallest.series.is_empty());
    let with_series = groups.iter().filter(|group| group.series.len() == 1);
    assert_eq!(with_series.count(), MAX_SERIES);
}
