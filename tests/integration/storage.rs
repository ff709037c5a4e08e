//! Faults of the data folder: full, read-only, corrupt. An action that cannot be recorded is
//! refused; everything else works.

mod corrupt;
mod full;
mod locked;

use drawbridge_tests::{
    Faulty, Hub, McpClient,
    http::{Request, Url},
};
use serde_json::{Value, json};

/// Checks that the call is denied with a reason, and does not reach the server.
#[track_caller]
fn is_denied(client: &McpClient, server: &Faulty<'_>) {
    let before = server.calls("echo").len();
    let answer = client.call(&server.tool("echo"), r#"{"n":1}"#);
    let said = answer.text();
    assert!(
        answer.is_error() && said.contains("Denied by Drawbridge"),
        "{}",
        answer.raw
    );
    assert!(said.contains("could not be written"), "it says why: {said}");
    assert_eq!(
        server.calls("echo").len(),
        before,
        "it never reached the server"
    );
}

/// Checks that the call runs.
#[track_caller]
fn is_done(client: &McpClient, server: &Faulty<'_>) {
    assert_eq!(
        client.call(&server.tool("echo"), r#"{"n":1}"#).text(),
        r#"{"n":1}"#
    );
}

/// Checks that the screens can be served.
#[track_caller]
fn screens_work(hub: &Hub<'_>) {
    let url = Url::of(&hub.url);
    for path in ["/", "/health"] {
        let answer = Request {
            method: "GET",
            url: &url.at(path),
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
        hub.verb(verb, &params);
    }
}

/// Checks that a verb that writes is refused, with `why` in its error.
#[track_caller]
fn is_refused(hub: &Hub<'_>, verb: &str, params: &Value, why: &str) {
    let (status, said) = hub.try_verb(verb, params);
    assert!(
        (400..600).contains(&status) && said.contains(why),
        "{verb}: {status}: {said}"
    );
}
