//! Requests of servers that nobody answers, because the client disconnects or the server stops
//! waiting.

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, StatelessClient, mcp::Events, wait::some_if, wait_until,
};
use serde_json::{Value, json};

use super::read_outcomes;

const ACCEPTED: &str = r#"{"action":"accept"}"#;

fn elicitation_capability() -> Value {
    json!({"elicitation": {}})
}

fn ask_request(id: u64, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "faulty__ask", "arguments": arguments}})
}

fn begin_ask(
    client: &McpClient,
    id: u64,
    arguments: &Value,
) -> impl Iterator<Item = Value> + use<> {
    let response = client.post(&ask_request(id, arguments)).expect("a stream");
    Events::new(response).map(|event| event.message())
}

/// Checks that another client receives the server's request, answers it and gets the result, and
/// that it receives the server's log messages.
#[track_caller]
fn assert_another_client_is_served(client: &McpClient, id: u64) {
    let logged = client.request_messages(
        "tools/call",
        r#"{"name":"faulty__flood","arguments":{"kind":"message","count":1}}"#,
    );
    assert!(
        logged
            .iter()
            .any(|told| told["method"] == "notifications/message"),
        "the log reaches it: {logged:?}"
    );
    let mut told = begin_ask(client, id, &json!({"ms": 20_000}));
    let question = told.next().expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    assert_eq!(client.post(&answer).expect("an answer").status, 202);
    let result = told.find(|told| told["id"] == id).expect("an answer");
    assert_eq!(result["result"]["content"][0]["text"], ACCEPTED, "{result}");
}

#[test]
fn a_stateless_client_that_does_not_answer_blocks_no_other_and_gets_its_result_later() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let away = StatelessClient::new(&hub.url, &hub.add_client("away"), elicitation_capability());
    let here =
        McpClient::connect_with(&hub.url, &hub.add_client("here"), &elicitation_capability());
    for withdraw in [false, true] {
        let arguments = json!({"ms": 300, "withdraw": withdraw});
        let before = read_outcomes(&home, "ask").len();
        let required = away.call("faulty__ask", &arguments).result();
        assert_eq!(
            required["inputRequests"]["input-1"]["method"], "elicitation/create",
            "{required}"
        );
        wait_until("the server has answered without it", || {
            some_if(
                read_outcomes(&home, "ask")
                    .get(before)
                    .is_some_and(|outcome| outcome == "ok"),
            )
        });
        assert_another_client_is_served(&here, 7);
        let late = json!({"input-1": {"action": "accept"}});
        let result = away.retry_call("faulty__ask", &arguments, &required, &late);
        assert_eq!(
            result.text(),
            "nobody answered",
            "its late answer changes nothing: {}",
            result.raw
        );
        let again = away.retry_call("faulty__ask", &arguments, &required, &late);
        assert_eq!(again.error_code(), Some(-32602), "a result is fetched once");
    }
}

#[test]
fn a_client_with_a_session_is_notified_if_the_server_cancels_its_request() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let client =
        McpClient::connect_with(&hub.url, &hub.add_client("desk"), &elicitation_capability());
    let mut told = begin_ask(&client, 3, &json!({"ms": 100, "withdraw": true}));
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
fn revoking_a_client_with_a_pending_elicitation_cleans_up() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let away = StatelessClient::new(&hub.url, &hub.add_client("away"), elicitation_capability());
    let here =
        McpClient::connect_with(&hub.url, &hub.add_client("here"), &elicitation_capability());
    let required = away.call("faulty__ask", &json!({"ms": 60_000})).result();
    assert_eq!(required["resultType"], "input_required", "{required}");
    home.cli(&["clients", "revoke", "away"]).expect_success();
    wait_until("its call is cancelled at the server", || {
        some_if(faulty.received_by_method("notifications/cancelled").len() == 1)
    });
    wait_until("and written down", || {
        some_if(read_outcomes(&home, "ask") == ["cancelled"])
    });
    assert_another_client_is_served(&here, 8);
}

#[test]
fn a_client_that_disconnects_during_an_elicitation_blocks_no_other() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let away =
        McpClient::connect_with(&hub.url, &hub.add_client("away"), &elicitation_capability());
    let here =
        McpClient::connect_with(&hub.url, &hub.add_client("here"), &elicitation_capability());
    let mut told = begin_ask(&away, 4, &json!({"ms": 60_000}));
    assert_eq!(
        told.next().expect("a question")["method"],
        "elicitation/create"
    );
    drop(told);
    wait_until("its call is cancelled at the server", || {
        some_if(faulty.received_by_method("notifications/cancelled").len() == 1)
    });
    assert_another_client_is_served(&here, 9);
}
