//! Faults of the data folder: full, read-only, corrupt. An action that cannot be recorded is
//! refused; everything else works. Also backups and resets.

mod backup;
mod corrupt;
mod full;
mod locked;

use drawbridge_tests::{
    FaultyServer, Hub, McpClient,
    http::{Request, Url},
};
use serde_json::{Value, json};

/// Checks that the call is denied with a reason, and does not reach the server.
#[track_caller]
fn assert_denied(client: &McpClient, server: &FaultyServer<'_>) {
    let calls_before = server.received_calls("echo").len();
    let answer = client.call(&server.exposed_name("echo"), r#"{"n":1}"#);
    let text = answer.text();
    assert!(
        answer.is_error() && text.contains("Drawbridge denied this call"),
        "{}",
        answer.raw
    );
    assert!(
        text.contains("could not be recorded"),
        "the error names the reason: {text}"
    );
    assert_eq!(
        server.received_calls("echo").len(),
        calls_before,
        "the call did not reach the server"
    );
}

/// Checks that the call runs.
#[track_caller]
fn assert_runs(client: &McpClient, server: &FaultyServer<'_>) {
    assert_eq!(
        client
            .call(&server.exposed_name("echo"), r#"{"n":1}"#)
            .text(),
        r#"{"n":1}"#
    );
}

/// Checks that the screens can be served.
#[track_caller]
fn assert_screens_work(hub: &Hub<'_>) {
    let url = Url::parse(&hub.url);
    for path in ["/", "/health"] {
        let answer = Request {
            method: "GET",
            url: &url.with_path(path),
            headers: &[],
            body: &[],
        }
        .send();
        assert_eq!(answer.expect("an answer").status, 200, "{path}");
    }
    for (verb, params) in [
        ("servers.list", json!({})),
        ("servers.show", json!({"id": "faulty"})),
        ("approvals.list", json!({})),
        ("calls.list", json!({"limit": 10})),
        ("policy.list", json!({})),
        ("clients.list", json!({})),
        ("logs.list", json!({"limit": 10})),
        ("settings.show", json!({})),
    ] {
        hub.run_verb(verb, &params);
    }
}

/// Checks that a verb that writes is refused, with `expected_text` in its error.
#[track_caller]
fn assert_refused(hub: &Hub<'_>, verb: &str, params: &Value, expected_text: &str) {
    let (status, answer) = hub.try_verb(verb, params);
    assert!(
        (400..600).contains(&status) && answer.contains(expected_text),
        "{verb}: {status}: {answer}"
    );
}
