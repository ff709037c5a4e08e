//! Requests of servers that nobody answers, because the client is silent, disconnects or is
//! revoked, or because the server stops waiting.

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
            .any(|message| message["method"] == "notifications/message"),
        "the client receives log messages: {logged:?}"
    );
    let mut messages = begin_ask(client, id, &json!({"ms": 20_000}));
    let elicitation = messages.next().expect("a question");
    assert_eq!(elicitation["method"], "elicitation/create", "{elicitation}");
    let answer = json!({"jsonrpc": "2.0", "id": elicitation["id"], "result": {"action": "accept"}});
    assert_eq!(client.post(&answer).expect("an answer").status, 202);
    let result = messages
        .find(|message| message["id"] == id)
        .expect("an answer");
    assert_eq!(result["result"]["content"][0]["text"], ACCEPTED, "{result}");
}

#[test]
fn a_stateless_client_that_does_not_answer_blocks_no_other_client_and_gets_its_result_later() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let silent_client =
        StatelessClient::new(&hub.url, &hub.add_client("away"), elicitation_capability());
    let other_client =
        McpClient::connect_with(&hub.url, &hub.add_client("here"), &elicitation_capability());
    for withdraw in [false, true] {
        let arguments = json!({"ms": 300, "withdraw": withdraw});
        let outcomes_before = read_outcomes(&home, "ask").len();
        let required = silent_client.call("faulty__ask", &arguments).result();
        assert_eq!(
            required["inputRequests"]["input-1"]["method"], "elicitation/create",
            "{required}"
        );
        wait_until("the server has answered without the client", || {
            some_if(
                read_outcomes(&home, "ask")
                    .get(outcomes_before)
                    .is_some_and(|outcome| outcome == "ok"),
            )
        });
        assert_another_client_is_served(&other_client, 7);
        let late_answers = json!({"input-1": {"action": "accept"}});
        let result = silent_client.retry_call("faulty__ask", &arguments, &required, &late_answers);
        assert_eq!(
            result.text(),
            "nobody answered",
            "a late answer changes nothing: {}",
            result.raw
        );
        let second_result =
            silent_client.retry_call("faulty__ask", &arguments, &required, &late_answers);
        assert_eq!(
            second_result.error_code(),
            Some(-32602),
            "a result can be fetched only once"
        );
    }
}

#[test]
fn a_client_with_a_session_is_notified_if_the_server_cancels_its_request() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let client =
        McpClient::connect_with(&hub.url, &hub.add_client("desk"), &elicitation_capability());
    let mut messages = begin_ask(&client, 3, &json!({"ms": 100, "withdraw": true}));
    let elicitation = messages.next().expect("a question");
    let cancelled = messages.next().expect("a cancellation");
    assert_eq!(
        cancelled["method"], "notifications/cancelled",
        "{cancelled}"
    );
    assert_eq!(
        cancelled["params"]["requestId"], elicitation["id"],
        "the cancellation names the request that the client received"
    );
    let result = messages.next().expect("an answer");
    assert_eq!(
        result["result"]["content"][0]["text"], "nobody answered",
        "{result}"
    );
}

#[test]
fn revoking_a_client_with_a_pending_elicitation_cancels_its_call() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let silent_client =
        StatelessClient::new(&hub.url, &hub.add_client("away"), elicitation_capability());
    let other_client =
        McpClient::connect_with(&hub.url, &hub.add_client("here"), &elicitation_capability());
    let required = silent_client
        .call("faulty__ask", &json!({"ms": 60_000}))
        .result();
    assert_eq!(required["resultType"], "input_required", "{required}");
    home.cli(&["clients", "revoke", "away"]).expect_success();
    wait_until("the call is cancelled at the server", || {
        some_if(faulty.received_by_method("notifications/cancelled").len() == 1)
    });
    wait_until("the outcome is recorded", || {
        some_if(read_outcomes(&home, "ask") == ["cancelled"])
    });
    assert_another_client_is_served(&other_client, 8);
}

#[test]
fn a_client_that_disconnects_during_an_elicitation_blocks_no_other_client() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let leaving_client =
        McpClient::connect_with(&hub.url, &hub.add_client("away"), &elicitation_capability());
    let other_client =
        McpClient::connect_with(&hub.url, &hub.add_client("here"), &elicitation_capability());
    let mut messages = begin_ask(&leaving_client, 4, &json!({"ms": 60_000}));
    assert_eq!(
        messages.next().expect("a question")["method"],
        "elicitation/create"
    );
    drop(messages);
    wait_until("the call is cancelled at the server", || {
        some_if(faulty.received_by_method("notifications/cancelled").len() == 1)
    });
    assert_another_client_is_served(&other_client, 9);
}
