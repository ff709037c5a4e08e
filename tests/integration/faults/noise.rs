//! Servers that write non-JSON-RPC lines to stdout.

use drawbridge_tests::{Faulty, Home, Hub, until, wait::yes};
use serde_json::json;

use super::{AT_ONCE, outcomes, timed};

/// The kind of line, and how the server's log shows it.
const KINDS: [(&str, &str); 6] = [
    ("banner", "Welcome to the server! [ready] 100%"),
    ("bom", "a byte order mark, twice"),
    ("utf8", "invalid"),
    ("json", "JSON, but not JSON-RPC"),
    ("half", "resu"),
    ("nul", "[2J"),
];

#[test]
fn what_is_no_message_is_counted_and_logged_and_the_next_message_is_found() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    for (number, (kind, shown)) in (1_u64..).zip(KINDS) {
        let arguments = json!({"kind": kind, "lines": 3, "bom_before_answer": true});
        let answer = client.call("faulty__noise", &arguments.to_string());
        assert_eq!(answer.text(), "after the noise", "{kind}");
        assert_eq!(
            faulty.seen()["non_jsonrpc_lines"],
            3 * number,
            "each line of {kind} is counted"
        );
        let log = home
            .cli(&["logs", "--server", "faulty", "--text", shown, "--json"])
            .stdout();
        assert!(log.contains(shown), "{kind} is in the server's log: {log}");
        assert!(
            !log.contains('\u{1b}'),
            "nothing in it moves a cursor: {log}"
        );
    }
    assert_eq!(faulty.starts(), 1, "it runs still");
}

#[test]
fn a_hundred_lines_of_noise_in_a_row_are_borne_and_one_more_restarts_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    let noise = |lines: u32| {
        client.call(
            "faulty__noise",
            &json!({"kind": "banner", "lines": lines}).to_string(),
        )
    };
    // The counter starts again after each valid message.
    for _ in 0..2 {
        assert_eq!(noise(100).text(), "after the noise");
    }
    let waiting = client.call_meanwhile("faulty__hang", "{}");
    until("a call hangs", || yes(faulty.calls("hang").len() == 1));
    let (answer, took) = timed(|| noise(101));
    assert!(
        answer.is_error() && answer.text().contains("not JSON-RPC"),
        "it says why: {}",
        answer.raw
    );
    let other = waiting.join().expect("an answer");
    assert!(
        other.is_error() && other.text().contains("unknown"),
        "{}",
        other.raw
    );
    assert!(took <= AT_ONCE, "they heard of it after {took:?}");
    assert_eq!(
        client.call("faulty__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "the next call has a new process"
    );
    assert_eq!(
        (faulty.starts(), faulty.calls("noise").len()),
        (2, 3),
        "and nothing was sent again"
    );
    until("the old process is gone", || yes(faulty.processes() == 1));
    until("it is written down", || {
        yes(outcomes(&home, "noise") == ["ok", "ok", "unknown"])
    });
}
