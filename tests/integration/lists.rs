//! What clients ask of lists.

use drawbridge_tests::{
    Home, Hub,
    http::{Request, Url},
};
use serde_json::{Value, json};

const LISTS: [&str; 4] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

#[test]
fn a_cursor_that_was_never_given_out_is_refused_and_null_is_none() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = hub.client("desk");
    for method in LISTS {
        for params in [r#"{"cursor":"abc"}"#, r#"{"cursor":""}"#, r#"{"cursor":7}"#] {
            let answer = client.request(method, params);
            assert_eq!(answer.error_code(), Some(-32602), "{method} {params}: {}", answer.raw);
        }
        for params in ["{}", r#"{"cursor":null}"#] {
            assert_eq!(client.request(method, params).error(), None, "{method} {params}");
        }
    }
}

#[test]
fn a_cursor_that_was_never_given_out_is_refused_to_a_client_without_sessions() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (url, bearer) = (Url::of(&hub.url), format!("Bearer {}", hub.token("modern")));
    let ask = |method: &str, cursor: Value| {
        let mut params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}});
        params["cursor"] = cursor;
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        let response = Request { method: "POST", url: &url, headers: &headers, body: body.as_bytes() }.send();
        let text = response.expect("an answer").text().expect("a text");
        serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    };
    for method in LISTS {
        assert_eq!(ask(method, json!("abc"))["error"]["code"], -32602, "{method}");
        assert_eq!(ask(method, Value::Null)["result"]["resultType"], "complete", "{method}");
    }
}
