//! Servers that write non-JSON-RPC lines to stdout.

use drawbridge_tests::{FaultyServer, Home, Hub, wait::some_if, wait_until};
use serde_json::json;

use super::{long_timeouts, read_outcomes};

/// The kinds of lines, each with a text that the server's log then contains.
const KINDS: [(&str, &str); 6] = [
    ("banner", "Welcome to the server! [ready] 100%"),
    ("bom", "a byte order mark, twice"),
    ("utf8", "invalid"),
    ("json", "JSON, but not JSON-RPC"),
    ("half", "resu"),
    ("nul", "[2J"),
];

#[test]
fn non_jsonrpc_lines_are_counted_and_logged_and_the_next_message_is_read() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    for (number, (kind, logged_text)) in (1_u64..).zip(KINDS) {
        let arguments = json!({"kind": kind, "lines": 3, "bom_before_answer": true});
        let answer = client.call("faulty__non_jsonrpc_lines", &arguments.to_string());
        assert_eq!(answer.text(), "after the lines", "{kind}");
        assert_eq!(
            faulty.show()["non_jsonrpc_lines"],
            3 * number,
            "each line of {kind} is counted"
        );
        let log = home
            .cli(&[
                "logs",
                "--server",
                "faulty",
                "--text",
                logged_text,
                "--json",
            ])
            .stdout();
        assert!(
            log.contains(logged_text),
            "{kind} is in the server's log: {log}"
        );
        assert!(
            !log.contains('\u{1b}'),
            "the log contains no escape sequence: {log}"
        );
    }
    assert_eq!(faulty.count_starts(), 1, "the server was not restarted");
}

#[test]
fn a_hundred_non_jsonrpc_lines_are_tolerated_and_one_more_restarts_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &long_timeouts(), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let call_with_lines = |lines: u32| {
        client.call(
            "faulty__non_jsonrpc_lines",
            &json!({"kind": "banner", "lines": lines}).to_string(),
        )
    };
    // The counter starts again after each valid message.
    for _ in 0..2 {
        assert_eq!(call_with_lines(100).text(), "after the lines");
    }
    let hanging_call = client.spawn_call("faulty__hang", "{}");
    wait_until("a call hangs", || {
        some_if(faulty.received_calls("hang").len() == 1)
    });
    let answer = call_with_lines(101);
    assert!(
        answer.is_error() && answer.text().contains("not JSON-RPC"),
        "the error says why the session ended: {}",
        answer.raw
    );
    let hanging_answer = hanging_call.join().expect("an answer");
    assert!(
        hanging_answer.is_error() && hanging_answer.text().contains("unknown"),
        "{}",
        hanging_answer.raw
    );
    assert_eq!(
        client.call("faulty__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "the next call reaches a new process"
    );
    assert_eq!(
        (
            faulty.count_starts(),
            faulty.received_calls("non_jsonrpc_lines").len()
        ),
        (2, 3),
        "the server restarted once, and no call was sent twice"
    );
    wait_until("the old process is gone", || {
        some_if(faulty.count_processes() == 1)
    });
    wait_until("the outcomes are recorded", || {
        some_if(read_outcomes(&home, "non_jsonrpc_lines") == ["ok", "ok", "unknown"])
    });
}
