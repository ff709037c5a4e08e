//! The registry, the catalog, the approvals and the calls as plain HTTP routes, for scripts.

use drawbridge_tests::{
    Home, Hub,
    http::{Request, Url},
    hub::ADMIN_TOKEN,
    paths,
};
use serde_json::{Value, json};

/// Sends a request to a route. Returns the status and the body.
#[track_caller]
fn send_request(
    hub: &Hub<'_>,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let url = Url::parse(&hub.url).with_path(path);
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = Request {
        method,
        url: &url,
        headers: &headers,
        body: body.as_bytes(),
    };
    let response = request
        .send()
        .unwrap_or_else(|e| panic!("{method} {path}: {e}"));
    let (status, text) = (response.status, response.text().expect("a body"));
    (
        status,
        serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{method} {path}: no JSON ({e}): {text}")),
    )
}

#[test]
fn a_server_added_by_a_script_starts_nothing_until_accepted() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let admin = |method: &str, path: &str, body: Option<&Value>| {
        send_request(&hub, ADMIN_TOKEN, method, path, body)
    };
    let program = paths::path_text(paths::built_binary("upstream-faulty"));
    let spec = json!({"name": "Scripted", "command": program, "args": []});
    let (status, added) = admin("POST", "/registry/servers", Some(&spec));
    assert_eq!(
        (status, &added["id"], &added["acceptance"]),
        (201, &json!("scripted"), &json!("new")),
        "{added}"
    );
    assert_eq!(admin("POST", "/api/mcp/servers/scripted/sync", None).0, 409);
    assert_eq!(
        admin("POST", "/api/mcp/servers/scripted/verify", None).0,
        409
    );
    assert!(home.server_processes().is_empty(), "nothing was started");

    home.accept_server("scripted");
    let (status, verified) = admin("POST", "/api/mcp/servers/scripted/verify", None);
    assert_eq!(
        (status, &verified["server_name"]),
        (200, &json!("upstream-faulty")),
        "{verified}"
    );
    assert_eq!(admin("POST", "/api/mcp/servers/scripted/sync", None).0, 200);
    let (_, capabilities) = admin("GET", "/api/mcp/servers/scripted/capabilities", None);
    assert_eq!(
        (
            &capabilities["sync_status"],
            &capabilities["tools"][0]["name"]
        ),
        (&json!("SYNCED"), &json!("echo")),
        "{capabilities}"
    );

    let (status, patched) = admin(
        "PATCH",
        "/registry/servers/scripted",
        Some(&json!({"env": {"A": "1"}})),
    );
    assert_eq!(
        (status, &patched["acceptance"]),
        (200, &json!("changed")),
        "{patched}"
    );
    assert_eq!(
        patched["spec"]["command"], program,
        "the other fields are unchanged"
    );
    for (patch, acceptance) in [
        (json!({"env": null}), "accepted"),
        (json!({"name": "Other"}), "changed"),
        (json!({"name": "Scripted", "enabled": false}), "accepted"),
    ] {
        let (status, patched) = admin("PATCH", "/registry/servers/scripted", Some(&patch));
        assert_eq!(
            (status, &patched["acceptance"]),
            (200, &json!(acceptance)),
            "{patched}"
        );
    }
    let (status, replaced) = admin(
        "PUT",
        "/registry/servers/scripted",
        Some(&json!({"command": "other"})),
    );
    assert_eq!((status, &replaced["acceptance"]), (200, &json!("changed")));
    assert_eq!(admin("DELETE", "/registry/servers/scripted", None).0, 200);
    assert_eq!(admin("GET", "/registry/servers/scripted", None).0, 404);
}

#[test]
fn a_bad_body_is_an_error_that_names_the_field() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    for (body, expected_text) in [
        (json!({"name": "x", "command": 5}), "command"),
        (
            json!({"name": "x", "command": "y", "timeouts": {"call_ms": "long"}}),
            "timeouts.call_ms",
        ),
        (json!({"name": "x"}), "'command' (for a local server)"),
        (json!({"command": "y"}), "name"),
        (json!([]), "body"),
    ] {
        let (status, answer) =
            send_request(&hub, ADMIN_TOKEN, "POST", "/registry/servers", Some(&body));
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(
            status == 400 && message.contains(expected_text),
            "{body}: {status} {answer}"
        );
    }
}

#[test]
fn a_client_token_is_rejected_on_the_routes_for_scripts() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let token = hub.add_client("desk");
    for (method, path) in [
        ("GET", "/registry/servers"),
        ("POST", "/registry/servers"),
        ("DELETE", "/registry/servers/x"),
        ("GET", "/api/mcp/servers"),
        ("POST", "/api/mcp/servers/x/verify"),
        ("GET", "/api/tools"),
        ("GET", "/api/approvals"),
        ("POST", "/api/approvals/x"),
        ("GET", "/api/calls"),
    ] {
        assert_eq!(
            send_request(&hub, &token, method, path, None).0,
            403,
            "{method} {path}"
        );
        assert_eq!(
            send_request(&hub, "nobody", method, path, None).0,
            401,
            "{method} {path}"
        );
    }
}

#[test]
fn the_catalog_is_exported_as_function_tools_and_a_tool_is_called() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let entry = paths::path_text(paths::npm_file(
        "@modelcontextprotocol/server-everything/dist/index.js",
    ));
    hub.add_server("everything", &[], &["node", &entry]);
    hub.wait_until_synced("everything");
    let (status, tools) = send_request(&hub, ADMIN_TOKEN, "GET", "/api/tools?format=openai", None);
    assert_eq!(status, 200);
    let tools = tools.as_array().expect("tools");
    let echo = tools
        .iter()
        .find(|tool| tool["function"]["name"] == "everything__echo")
        .expect("echo");
    assert_eq!(
        (&echo["type"], &echo["function"]["parameters"]["type"]),
        (&json!("function"), &json!("object"))
    );
    assert!(
        tools
            .iter()
            .all(|tool| tool["function"]["parameters"].get("$schema").is_none()),
        "{tools:?}"
    );
    assert_eq!(
        home.cli(&["tools", "list", "--format", "openai"])
            .expect_json()
            .as_array()
            .map(Vec::len),
        Some(tools.len())
    );
    assert_eq!(
        send_request(&hub, ADMIN_TOKEN, "GET", "/api/tools?format=xml", None).0,
        400
    );
    hub.set_policy("everything", "allow");
    let output = home
        .cli(&[
            "tools",
            "call",
            "everything__echo",
            "--args",
            r#"{"message":"by hand"}"#,
        ])
        .expect_success();
    assert_eq!(output.stdout().trim(), "Echo: by hand");
    let record = home.cli(&["calls", "list", "--json"]).expect_json();
    assert_eq!(
        record[0]["client"], "command-line",
        "the call is recorded like any other: {record}"
    );
}

#[test]
fn a_script_lists_and_decides_pending_calls_and_reads_their_outcome() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let admin = |method: &str, path: &str, body: Option<&Value>| {
        send_request(&hub, ADMIN_TOKEN, method, path, body)
    };
    let client = hub.connect_client("desk");
    let call = client.spawn_call("probe__echo", r#"{"n":1}"#);
    let id = hub.wait_for_approval()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let (_, approvals) = admin("GET", "/api/approvals", None);
    assert_eq!(approvals[0]["arguments"], r#"{"n":1}"#, "{approvals}");
    let path = format!("/api/approvals/{id}");
    let (_, details) = admin("GET", &path, None);
    for (body, status, expected_text) in [
        (
            json!({"digest": "another", "verdict": {"kind": "approve_once"}}),
            409,
            "has changed since it was shown",
        ),
        (
            json!({"digest": details["digest"], "verdict": {"kind": "approve"}}),
            400,
            "verdict",
        ),
        (
            json!({"digest": details["digest"], "verdict": {"kind": "deny"}, "conditions": []}),
            400,
            "conditions",
        ),
        (json!({"verdict": {"kind": "deny"}}), 400, "digest"),
    ] {
        let (answer_status, answer) = admin("POST", &path, Some(&body));
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(
            answer_status == status && message.contains(expected_text),
            "{body}: {answer_status} {answer}"
        );
    }
    let conditions = json!([{"pointer": "/n", "is": {"equals": 1}}]);
    let decision = json!({"digest": details["digest"], "verdict": {"kind": "approve_always", "conditions": conditions}});
    let (status, decided) = admin("POST", &path, Some(&decision));
    assert_eq!(
        (status, &decided["decision"]),
        (200, &json!("allowed")),
        "{decided}"
    );
    assert_eq!(call.join().expect("the call ends").text(), r#"{"n":1}"#);
    assert_eq!(
        admin("POST", &path, Some(&decision)).0,
        409,
        "a decided call cannot be decided again"
    );
    assert_eq!(admin("GET", &path, None).0, 404);
    assert_eq!(
        client.call("probe__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "the saved rule allows the call"
    );

    let (_, calls) = admin(
        "GET",
        "/api/calls?client=desk&decision=allowed&limit=1",
        None,
    );
    assert_eq!(
        (calls.as_array().map(Vec::len), &calls[0]["decided_by"]),
        (Some(1), &json!("rule")),
        "{calls}"
    );
    let (_, asked_calls) = admin("GET", "/api/calls?needed_approval=true&since=0", None);
    assert_eq!(
        (asked_calls.as_array().map(Vec::len), &asked_calls[0]["id"]),
        (Some(1), &json!(id)),
        "{asked_calls}"
    );
    let (_, details) = admin("GET", &format!("/api/calls/{id}"), None);
    assert_eq!(details["arguments"], r#"{"n":1}"#, "{details}");
    for bad_query in ["limit=many", "decision=maybe", "colour=red"] {
        let (status, answer) = admin("GET", &format!("/api/calls?{bad_query}"), None);
        assert!(
            status == 400 && answer.to_string().contains("query"),
            "{bad_query}: {answer}"
        );
    }
    assert_eq!(admin("GET", "/api/calls/none", None).0, 404);
}
