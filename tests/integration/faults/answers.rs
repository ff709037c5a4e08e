//! Responses that break the rules of JSON-RPC, and responses with other text on their line.

use drawbridge_tests::{Faulty, Home, Hub, McpClient};
use serde_json::json;

use super::{AT_ONCE, timed};

/// Lets the server write a line instead of its answer. `$ID` stands for the id of the call.
fn say(client: &McpClient, line: &str) -> (drawbridge_tests::mcp::Answer, std::time::Duration) {
    timed(|| client.call("faulty__say", &json!({ "line": line }).to_string()))
}

#[test]
fn an_answer_that_breaks_the_rules_is_an_error_at_once_that_says_which_rule() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    for (line, rule) in [
        (
            r#"{"id":$ID,"result":{"content":[]}}"#,
            r#"has no "jsonrpc":"2.0""#,
        ),
        (
            r#"{"jsonrpc":"1.0","id":$ID,"result":{"content":[]}}"#,
            r#"has "jsonrpc":"1.0""#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"$ID","result":{"content":[]}}"#,
            "as a string",
        ),
        (
            r#"[{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}]"#,
            "inside an array",
        ),
        (
            r#"{"jsonrpc":"2.0","id":$ID}"#,
            "neither a result nor an error",
        ),
    ] {
        let (answer, took) = say(&client, line);
        assert!(took < AT_ONCE, "{line} took {took:?}");
        assert!(
            answer.is_error() && answer.text().contains(rule),
            "{line}: {}",
            answer.raw
        );
    }
    assert_eq!(
        client.call("faulty__echo", "{}").text(),
        "{}",
        "the next call is answered"
    );
}

#[test]
fn an_answer_that_shares_its_line_with_other_text_arrives() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    let message =
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"here"}]}}"#;
    for line in [
        format!("Loading the model... 100%{message}"),
        format!("{message}done"),
        format!(r#"{{half {{"level":"info"}} {message} and {{more}}"#),
    ] {
        let (answer, took) = say(&client, &line);
        assert!(took < AT_ONCE, "{line} took {took:?}");
        assert_eq!(answer.text(), "here", "{line}: {}", answer.raw);
    }
    assert_eq!(
        faulty.seen()["non_jsonrpc_lines"],
        3,
        "the other text is counted"
    );
    let log = home.cli(&["logs", "--server", "faulty"]).stdout();
    assert!(
        log.contains("Loading the model... 100%"),
        "the log keeps it: {log}"
    );
}
