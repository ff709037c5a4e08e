//! Responses that break the rules of JSON-RPC, and responses with other text on their line.

use drawbridge_tests::{FaultyServer, Home, Hub, McpClient, mcp::Answer};
use serde_json::json;

use super::long_timeouts;

/// Makes the server write `line` instead of its response. `$ID` is replaced by the id of the call.
fn answer_with_line(client: &McpClient, line: &str) -> Answer {
    client.call("faulty__say", &json!({ "line": line }).to_string())
}

#[test]
fn a_malformed_answer_is_an_error_before_the_timeout_and_names_the_violation() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = FaultyServer::add(&hub, "faulty", &long_timeouts(), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    for (line, expected_text) in [
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
        let answer = answer_with_line(&client, line);
        assert!(
            answer.is_error() && answer.text().contains(expected_text),
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
fn an_answer_on_a_line_with_other_text_arrives() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &long_timeouts(), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let message =
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"here"}]}}"#;
    for line in [
        format!("Loading the model... 100%{message}"),
        format!("{message}done"),
        format!(r#"{{half {{"level":"info"}} {message} and {{more}}"#),
    ] {
        let answer = answer_with_line(&client, &line);
        assert_eq!(answer.text(), "here", "{line}: {}", answer.raw);
    }
    assert_eq!(
        faulty.show()["non_jsonrpc_lines"],
        3,
        "the other text is counted"
    );
    let log = home.cli(&["logs", "--server", "faulty"]).stdout();
    assert!(
        log.contains("Loading the model... 100%"),
        "the log contains the other text: {log}"
    );
}
