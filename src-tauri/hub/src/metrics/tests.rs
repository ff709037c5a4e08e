//! Tests that the number of series is bounded, and that counted tokens can be taken and returned.

use drawbridge_model::{
    call::DecidedBy,
    ids::{CallId, Timestamp},
};
use prometheus::TextEncoder;

use super::*;

fn call(server: &str, tool: &str, decision: Decision) -> Call {
    Call {
        id: CallId::new("id"),
        at: Timestamp(0),
        method: GuardedMethod::CallTool,
        client: ClientName::new("desk"),
        session: None,
        server: ServerId::new(server),
        tool: tool.into(),
        exposed_name: tool.into(),
        decision,
        decided_by: DecidedBy::Rule,
        rule: None,
        is_edited: false,
        request_hooks: Vec::new(),
        result_hooks: Vec::new(),
        flags: Vec::new(),
        result: None,
        reason: String::new(),
        outcome: Outcome::Running,
        error: String::new(),
        waited_ms: 0,
        duration_ms: None,
        arguments: None,
        extra: None,
        original_arguments: None,
    }
}

fn text(metrics: &Metrics) -> String {
    TextEncoder::new()
        .encode_to_string(&metrics.gather())
        .expect("metrics")
}

#[test]
fn tools_beyond_the_bound_are_counted_together() {
    let metrics = Metrics::new();
    for number in 0..MAX_SERIES + 20 {
        let call = call("s", &format!("tool{number}"), Decision::Allowed);
        metrics.count_end(&call, Outcome::Ok, Some(10));
    }
    let text = text(&metrics);
    let series = text
        .lines()
        .filter(|line| line.starts_with("drawbridge_tool_calls_total{"));
    assert_eq!(series.count(), MAX_SERIES + 1);
    let other = r#"drawbridge_tool_calls_total{client="other",outcome="ok",server="other",tool="other"} 20"#;
    assert!(text.contains(other), "{text}");
}

#[test]
fn names_that_clients_make_up_share_one_label() {
    let metrics = Metrics::new();
    for name in ["a", "b", "c\"} 1"] {
        let call = call("", name, Decision::Denied);
        metrics.count_end(&call, Outcome::NotSent, None);
    }
    let text = text(&metrics);
    let expected =
        r#"drawbridge_tool_calls_total{client="desk",outcome="denied",server="",tool="unknown"} 3"#;
    assert!(text.contains(expected), "{text}");
}

#[test]
fn tokens_are_taken_once_and_can_be_returned() {
    let metrics = Metrics::new();
    let call = call("s", "t", Decision::Allowed);
    metrics.count_tokens(&call, 8, 400);
    let taken = metrics.take_tokens();
    assert_eq!((taken.len(), taken[0].sent, taken[0].received), (1, 2, 100));
    assert!(metrics.take_tokens().is_empty(), "the tokens were taken");
    metrics.return_tokens(taken.clone());
    metrics.count_tokens(&call, 4, 0);
    let again = metrics.take_tokens();
    assert_eq!((again[0].sent, again[0].received), (3, 100));
}
