//! Requests of servers that nobody answers, because the client disconnects or the server stops
//! waiting.

use drawbridge_tests::{
    Faulty, Home, Hub, McpClient, StatelessClient, mcp::Events, until, wait::yes,
};
use serde_json::{Value, json};

use super::outcomes;

const ACCEPTED: &str = r#"{"action":"accept"}"#;

fn person() -> Value {
    json!({"elicitation": {}})
}

fn asking(id: u64, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "faulty__ask", "arguments": arguments}})
}

fn begin(client: &McpClient, id: u64, arguments: &Value) -> impl Iterator<Item = Value> + use<> {
    let response = client.post(&asking(id, arguments)).expect("a stream");
    Events::of(response).map(|event| event.message())
}

/// Checks that another client receives the server's request, answers it and gets the result, and
/// that it receives the server's log messages.
#[track_caller]
fn is_asked(client: &McpClient, id: u64) {
    let logged = client.stream(
        "tools/call",
        r#"{"name":"faulty__flood","arguments":{"kind":"message","count":1}}"#,
    );
    assert!(
        logged
            .iter()
            .any(|told| told["method"] == "notifications/message"),
        "the log reaches it: {logged:?}"
    );
    let mut told = begin(client, id, &json!({"ms": 20_000}));
    let question = told.next().expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    assert_eq!(client.post(&answer).expect("an answer").status, 202);
    let result = told.find(|told| told["id"] == id).expect("an answer");
    assert_eq!(result["result"]["content"][0]["text"], ACCEPTED, "{result}");
}

#[test]
fn a_client_without_sessions_that_does_not_answer_holds_up_nobody_and_finds_its_result_later() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let away = StatelessClient::new(&hub.url, &hub.token("away"), person());
    let here = McpClient::connect_with(&hub.url, &hub.token("here"), &person());
    for withdraw in [false, true] {
        let arguments = json!({"ms": 300, "withdraw": withdraw});
        let before = outcomes(&home, "ask").len();
        let required = away.call("faulty__ask", &arguments).result();
        assert_eq!(
            required["inputRequests"]["input-1"]["method"], "elicitation/create",
            "{required}"
        );
        until("the server has answered without it", || {
            yes(outcomes(&home, "ask")
                .get(before)
                .is_some_and(|outcome| outcome == "ok"))
        });
        is_asked(&here, 7);
        let late = json!({"input-1": {"action": "accept"}});
        let result = away.call_again("faulty__ask", &arguments, &required, &late);
        assert_eq!(
            result.text(),
            "nobody answered",
            "its late answer changes nothing: {}",
            result.raw
        );
        let again = away.call_again("faulty__ask", &arguments, &required, &late);
        assert_eq!(again.error_code(), Some(-32602), "a result is fetched once");
    }
}

#[test]
fn a_client_with_a_session_hears_that_the_server_took_its_question_back() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = McpClient::connect_with(&hub.url, &hub.token("desk"), &person());
    let mut told = begin(&client, 3, &json!({"ms": 100, "withdraw": true}));
    let question = told.next().expect("a question");
    let cancelled = told.next().expect("that it was taken back");
    assert_eq!(
        cancelled["method"], "notifications/cancelled",
        "{cancelled}"
    );
    assert_eq!(
        cancelled["params"]["requestId"], question["id"],
        "the question that the client knows"
    );
    let result = told.next().expect("an answer");
    assert_eq!(
        result["result"]["content"][0]["text"], "nobody answered",
        "{result}"
    );
}

#[test]
fn a_client_that_is_shut_out_while_it_is_asked_leaves_nothing_behind() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let away = StatelessClient::new(&hub.url, &hub.token("away"), person());
    let here = McpClient::connect_with(&hub.url, &hub.token("here"), &person());
    let required = away.call("faulty__ask", &json!({"ms": 60_000})).result();
    assert_eq!(required["resultType"], "input_required", "{required}");
    home.cli(&["clients", "revoke", "away"]).ok();
    until("its call is cancelled at the server", || {
        yes(faulty.heard_of("notifications/cancelled").len() == 1)
    });
    until("and written down", || {
        yes(outcomes(&home, "ask") == ["cancelled"])
    });
    is_asked(&here, 8);
}

#[test]
fn a_client_with_a_session_that_goes_away_while_it_is_asked_holds_up_nobody() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let away = McpClient::connect_with(&hub.url, &hub.token("away"), &person());
    let here = McpClient::connect_with(&hub.url, &hub.token("here"), &person());
    let mut told = begin(&away, 4, &json!({"ms": 60_000}));
    assert_eq!(
        told.next().expect("a question")["method"],
        "elicitation/create"
    );
    drop(told);
    until("its call is cancelled at the server", || {
        yes(faulty.heard_of("notifications/cancelled").len() == 1)
    });
    is_asked(&here, 9);
}
