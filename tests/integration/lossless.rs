//! Text that Drawbridge need not change is passed on byte for byte; lines that are not messages are
//! dropped.

use std::fs;

use drawbridge_tests::{Faulty, Home, Hub, McpClient, hub::calls_heard, mcp::Events, places};
use serde_json::{Value, json};

/// JSON that a typed proxy would write differently.
const ODD: &str = r#"{"structuredContent":{"z":1.0,"a":1e400,"big":12345678901234567890,"small":-0.0,"e":1E-7,"s":"\u00e9\/\ud83d\ude00 é"},"content":[{"type":"text","zzz":[1.10,{}],"text":"PAD"},{"type":"hologram","unheard":"of"}],"x-unknown":null,"_meta":{"vendor/key":0.1000}}"#;

#[test]
fn a_big_result_crosses_to_the_byte() {
    let home = Home::new();
    let result = ODD.replace("PAD", &"0123456789 é\\n".repeat(150_000));
    let file = home.file("result.json");
    fs::write(&file, &result).expect("write the result");
    let hub = Hub::serve(&home);
    hub.add_probe(&["--result", &places::text(&file)]);
    hub.policy("probe", "allow");
    let answer = hub.client("desk").call("probe__verbatim", "{}");
    assert_eq!(answer.result_text().len(), result.len(), "the same length");
    assert!(answer.result_text() == result, "byte for byte");
}

#[test]
fn the_arguments_reach_the_server_as_the_client_wrote_them() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("probe", "allow");
    let arguments =
        r#"{"z":1.0,"a":{"y":[1E2,12345678901234567890],"x":"\u00e9\/é"},"m":-0.0,"":null}"#;
    assert!(!hub.client("desk").call("probe__echo", arguments).is_error());
    let calls = calls_heard(&home);
    assert!(
        calls
            .iter()
            .any(|line| line.contains(&format!(r#""arguments":{arguments}"#))),
        "{calls:?}"
    );
    assert!(
        calls.iter().all(|line| !line.contains("Bearer")),
        "no token of the client comes along"
    );
}

#[test]
fn unknown_fields_of_a_definition_reach_the_client() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let tools = hub.client("desk").request("tools/list", "{}");
    assert_eq!(
        tools.result()["tools"][0]["x-unknown"]["kept"],
        true,
        "{}",
        tools.raw
    );
}

#[test]
fn noise_on_stdout_is_dropped_counted_and_kept_in_the_log() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--noisy"]);
    hub.policy("probe", "allow");
    let client = hub.client("desk");
    for n in 0..3 {
        assert_eq!(
            client
                .call("probe__echo", &format!(r#"{{"n":{n}}}"#))
                .text(),
            format!(r#"{{"n":{n}}}"#)
        );
    }
    let server = hub.server("probe");
    assert!(
        server["non_jsonrpc_lines"]
            .as_u64()
            .is_some_and(|lines| lines >= 6),
        "{server}"
    );
    let logs = home
        .cli(&["logs", "--server", "probe", "--json"])
        .json()
        .to_string();
    assert!(logs.contains("Welcome to the noisy server!"), "{logs}");
}

#[test]
fn an_error_reaches_the_other_side_with_every_member_it_was_sent_with() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let file = home.file("error.offer");
    let sent = r#"{"code":-32000.0,"message":"busy","data":{"n":1.50},"retryAfter":1e1,"x":null}"#;
    fs::write(
        &file,
        format!(r#"{{"tools/call echo":{{"error":{sent}}}}}"#),
    )
    .expect("write the error");
    let options = ["--offer", &places::text(&file)];
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &options).synced();
    let client = McpClient::connect_with(&hub.url, &hub.token("desk"), &json!({"elicitation": {}}));
    let answer = client.call("faulty__echo", "{}");
    let expected = sent.replace("-32000.0", "-32000");
    assert!(
        answer.raw.contains(&expected),
        "the code is an integer, the rest is as it was: {}",
        answer.raw
    );

    let call = json!({"jsonrpc": "2.0", "id": 1_000, "method": "tools/call",
        "params": {"name": "faulty__ask", "arguments": {"ms": 20_000}}});
    let mut told = Events::of(client.post(&call).expect("a stream")).map(|event| event.message());
    let question = told.next().expect("a question");
    let said = json!({"code": -1.0, "message": "no", "data": [1], "retryAfter": 5});
    let error = json!({"jsonrpc": "2.0", "id": question["id"], "error": said});
    assert_eq!(client.post(&error).expect("an answer").status, 202);
    let result = told.next().expect("the result of the call");
    let heard: Value = serde_json::from_str(
        result["result"]["content"][0]["text"]
            .as_str()
            .expect("a text"),
    )
    .expect("JSON");
    assert_eq!(
        heard,
        json!({"code": -1, "message": "no", "data": [1], "retryAfter": 5})
    );
    assert_eq!(faulty.calls("ask").len(), 1);
}
