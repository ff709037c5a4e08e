//! Text that Drawbridge need not change is passed on byte for byte; lines that are not messages are
//! dropped.

use std::fs;

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, hub::received_calls, mcp::Events, paths,
};
use serde_json::{Value, json};

/// JSON that a typed proxy would write differently.
const UNUSUAL_JSON: &str = r#"{"structuredContent":{"z":1.0,"a":1e400,"big":12345678901234567890,"small":-0.0,"e":1E-7,"s":"\u00e9\/\ud83d\ude00 é"},"content":[{"type":"text","zzz":[1.10,{}],"text":"PAD"},{"type":"hologram","unheard":"of"}],"x-unknown":null,"_meta":{"vendor/key":0.1000}}"#;

#[test]
fn a_big_result_arrives_byte_for_byte() {
    let home = Home::new();
    let result = UNUSUAL_JSON.replace("PAD", &"0123456789 é\\n".repeat(150_000));
    let file = home.file("result.json");
    fs::write(&file, &result).expect("write the result");
    let hub = Hub::serve(&home);
    hub.add_probe(&["--result", &paths::path_text(&file)]);
    hub.set_policy("probe", "allow");
    let answer = hub.connect_client("desk").call("probe__verbatim", "{}");
    assert_eq!(
        answer.result_text().len(),
        result.len(),
        "the result has the same length"
    );
    assert!(
        answer.result_text() == result,
        "the result arrives byte for byte"
    );
}

#[test]
fn the_arguments_reach_the_server_byte_for_byte() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let arguments =
        r#"{"z":1.0,"a":{"y":[1E2,12345678901234567890],"x":"\u00e9\/é"},"m":-0.0,"":null}"#;
    assert!(
        !hub.connect_client("desk")
            .call("probe__echo", arguments)
            .is_error()
    );
    let calls = received_calls(&home);
    assert!(
        calls
            .iter()
            .any(|line| line.contains(&format!(r#""arguments":{arguments}"#))),
        "{calls:?}"
    );
    assert!(
        calls.iter().all(|line| !line.contains("Bearer")),
        "the server does not receive the client's token"
    );
}

#[test]
fn unknown_fields_of_a_definition_reach_the_client() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let tools = hub.connect_client("desk").request("tools/list", "{}");
    assert_eq!(
        tools.result()["tools"][0]["x-unknown"]["kept"],
        true,
        "{}",
        tools.raw
    );
}

#[test]
fn non_jsonrpc_lines_on_stdout_are_dropped_counted_and_logged() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--noisy"]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    for number in 0..3 {
        assert_eq!(
            client
                .call("probe__echo", &format!(r#"{{"n":{number}}}"#))
                .text(),
            format!(r#"{{"n":{number}}}"#)
        );
    }
    let server = hub.show_server("probe");
    assert!(
        server["non_jsonrpc_lines"]
            .as_u64()
            .is_some_and(|lines| lines >= 6),
        "{server}"
    );
    let logs = home
        .cli(&["logs", "--server", "probe", "--json"])
        .expect_json()
        .to_string();
    assert!(logs.contains("Welcome to the noisy server!"), "{logs}");
}

#[test]
fn an_error_arrives_with_all_its_members() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let file = home.file("error.script");
    let error_json =
        r#"{"code":-32000.0,"message":"busy","data":{"n":1.50},"retryAfter":1e1,"x":null}"#;
    fs::write(
        &file,
        format!(r#"{{"tools/call echo":{{"error":{error_json}}}}}"#),
    )
    .expect("write the error");
    let options = ["--script", &paths::path_text(&file)];
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &options).wait_until_synced();
    let client = McpClient::connect_with(
        &hub.url,
        &hub.add_client("desk"),
        &json!({"elicitation": {}}),
    );
    let answer = client.call("faulty__echo", "{}");
    let expected = error_json.replace("-32000.0", "-32000");
    assert!(
        answer.raw.contains(&expected),
        "the code is an integer, and the other members are unchanged: {}",
        answer.raw
    );

    let call = json!({"jsonrpc": "2.0", "id": 1_000, "method": "tools/call",
        "params": {"name": "faulty__ask", "arguments": {"ms": 20_000}}});
    let mut messages =
        Events::new(client.post(&call).expect("a stream")).map(|event| event.message());
    let elicitation = messages.next().expect("a question");
    let error_object = json!({"code": -1.0, "message": "no", "data": [1], "retryAfter": 5});
    let error = json!({"jsonrpc": "2.0", "id": elicitation["id"], "error": error_object});
    assert_eq!(client.post(&error).expect("an answer").status, 202);
    let result = messages.next().expect("the result of the call");
    let received: Value = serde_json::from_str(
        result["result"]["content"][0]["text"]
            .as_str()
            .expect("a text"),
    )
    .expect("JSON");
    assert_eq!(
        received,
        json!({"code": -1, "message": "no", "data": [1], "retryAfter": 5})
    );
    assert_eq!(faulty.received_calls("ask").len(), 1);
}
