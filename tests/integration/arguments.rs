//! The arguments of a call: their validation, the rules that read them, and that they are sent
//! unchanged.

use std::fs;

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient,
    http::{Request, Url},
    paths,
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

/// Adds a server with one tool, `plan`, which has this input schema. Waits until it is synced.
fn add_plan_server<'a>(hub: &'a Hub<'a>, name: &str, schema: &Value) -> FaultyServer<'a> {
    let file = hub.home.file(&format!("{name}.tools"));
    fs::write(
        &file,
        json!([{"name": "plan", "inputSchema": schema}]).to_string(),
    )
    .expect("write the tools");
    FaultyServer::add(
        hub,
        name,
        &json!({}),
        &["--tools", &paths::path_text(&file)],
    )
    .wait_until_synced()
}

fn thinking_schema() -> Value {
    json!({"type": "object", "required": ["thoughtNumber"], "additionalProperties": false, "properties": {
        "thoughtNumber": {"type": "integer", "minimum": 1},
        "more": {"type": "boolean"},
        "branch": {"type": "string"},
        "options": {"anyOf": [{"type": "object", "properties": {"depth": {"type": "integer"}}}, {"type": "null"}]},
    }})
}

/// Returns the params of the last call that the server received.
fn last_call_params(server: &FaultyServer<'_>) -> Value {
    server.received_calls("plan").pop().expect("a call")["params"].clone()
}

fn set_field(home: &Home, server: &str, field: &str) {
    home.cli(&["servers", "set", server, field])
        .expect_success();
}

#[test]
fn arguments_that_a_server_coerces_are_forwarded_unchanged() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add_plan_server(&hub, "thinking", &thinking_schema());
    let client = hub.connect_client("desk");
    for arguments in [
        r#"{"thoughtNumber":"2"}"#,
        r#"{"thoughtNumber":" 3","more":"true","branch":7}"#,
        r#"{"thoughtNumber":1,"branch":null,"options":"{\"depth\": \"4\"}"}"#,
    ] {
        let answer = client.call("thinking__plan", arguments);
        assert!(!answer.is_error(), "{arguments}: {}", answer.raw);
        let expected: Value = serde_json::from_str(arguments).expect("JSON");
        assert_eq!(
            last_call_params(&server)["arguments"],
            expected,
            "the arguments are forwarded unchanged"
        );
    }
    let sent_calls = server.received_calls("plan").len();
    let rejection = client
        .call("thinking__plan", r#"{"thoughtNumber":"two"}"#)
        .text();
    assert!(
        rejection.contains("/thoughtNumber: ") && rejection.contains("schema keyword 'type'"),
        "{rejection}"
    );
    set_field(&home, "thinking", "validate=strict");
    let rejection = client
        .call("thinking__plan", r#"{"thoughtNumber":"2"}"#)
        .text();
    assert!(
        rejection.contains("/thoughtNumber: ") && rejection.contains("was not run"),
        "{rejection}"
    );
    assert_eq!(
        server.received_calls("plan").len(),
        sent_calls,
        "a call with invalid arguments is not sent"
    );
    set_field(&home, "thinking", "validate=off");
    assert!(
        !client
            .call("thinking__plan", r#"{"thoughtNumber":"two"}"#)
            .is_error(),
        "only the server validates the arguments"
    );
    assert_eq!(
        server.show()["acceptance"],
        "accepted",
        "a person who changes the validation setting need not accept the server again"
    );
}

#[test]
fn edited_arguments_are_validated_like_the_arguments_of_the_client() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add_plan_server(&hub, "thinking", &thinking_schema());
    hub.set_policy("thinking", "ask");
    let call = hub
        .connect_client("desk")
        .spawn_call("thinking__plan", r#"{"thoughtNumber":1}"#);
    let id = hub.wait_for_approval()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let approve_with =
        |arguments: &str| home.cli(&["approvals", "approve", &id, "--arguments", arguments]);
    let rejected = approve_with(r#"{"thoughtNumber":"two"}"#);
    assert!(
        rejected.exit_code() == 1 && rejected.stderr().contains("/thoughtNumber"),
        "{}",
        rejected.stderr()
    );
    approve_with(r#"{"thoughtNumber":"2"}"#).expect_success();
    assert!(!call.join().expect("the call ends").is_error());
    assert_eq!(
        last_call_params(&server)["arguments"],
        json!({"thoughtNumber": "2"})
    );
}

#[test]
fn other_spellings_of_arguments_do_not_evade_a_deny_or_widen_an_allow() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let schema = json!({"type": "object", "properties": {
        "amount": {"type": "integer"}, "force": {"type": "boolean"}, "paths": {"type": "array"},
        "options": {"type": "object", "properties": {"path": {"type": "string"}}}}});
    let server = add_plan_server(&hub, "bank", &schema);
    for condition in [
        "/amount between 101 -",
        "/force is true",
        "/options/path in /etc",
    ] {
        home.cli(&["policy", "add", "bank/plan", "deny", "--when", condition])
            .expect_success();
    }
    let client = hub.connect_client("desk");
    for arguments in [
        r#"{"amount":200}"#,
        r#"{"amount":"200"}"#,
        r#"{"force":"true"}"#,
        r#"{"options":{"path":"/etc/passwd"}}"#,
        r#"{"options":"{\"path\":\"/etc/passwd\"}"}"#,
    ] {
        let answer = client.call("bank__plan", arguments).text();
        assert!(
            answer.contains("The policy denied this call"),
            "{arguments}: {answer}"
        );
    }
    assert_eq!(server.received_calls("plan").len(), 0);
    assert!(
        !client
            .call(
                "bank__plan",
                r#"{"amount":"100","options":"{\"path\":\"/tmp/a\"}"}"#
            )
            .is_error()
    );
    hub.set_policy("bank", "deny");
    let allowed_folder = paths::path_text(home.file("home"));
    home.cli(&["policy", "remove", "bank"]).expect_success();
    home.cli(&["policy", "default", "deny"]).expect_success();
    home.cli(&[
        "policy",
        "add",
        "bank/plan",
        "allow",
        "--when",
        &format!("/paths in {allowed_folder}"),
    ])
    .expect_success();
    assert!(
        !client
            .call(
                "bank__plan",
                &json!({"paths": [format!("{allowed_folder}/a")]}).to_string()
            )
            .is_error()
    );
    for paths in [r#"["/opt/passwd"]"#, r#"["a","/opt/passwd"]"#] {
        let answer = client
            .call("bank__plan", &json!({"paths": paths}).to_string())
            .text();
        assert!(
            answer.contains("The policy denied this call"),
            "a list encoded as a string matches no path of the folder: {answer}"
        );
    }
}

#[test]
fn null_arguments_are_accepted_and_forwarded_as_null() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add_plan_server(
        &hub,
        "plain",
        &json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
    );
    let client = hub.connect_client("desk");
    assert!(!client.call("plain__plan", "null").is_error());
    assert_eq!(
        last_call_params(&server),
        json!({"name": "plan", "arguments": null}),
        "null is forwarded as null"
    );
    let record = home.cli(&["calls", "list", "--json"]).expect_json();
    let id = record[0]["id"].as_str().expect("an id");
    assert_eq!(
        home.cli(&["calls", "show", id, "--json"]).expect_json()["arguments"],
        "{}",
        "null arguments are recorded as an empty object"
    );
    hub.set_policy("plain", "ask");
    let call = client.spawn_call("plain__plan", "null");
    let request = hub.wait_for_approval();
    assert_eq!(
        request["arguments"], "{}",
        "the approval shows null arguments as an empty object"
    );
    let id = request["id"].as_str().expect("an id");
    home.cli(&["approvals", "approve", id, "--arguments", r#"{"n":1}"#])
        .expect_success();
    assert!(!call.join().expect("the call ends").is_error());
    assert_eq!(
        last_call_params(&server)["arguments"],
        json!({"n": 1}),
        "the edited arguments replace null"
    );
    assert_eq!(client.call("plain__plan", "[]").error_code(), Some(-32602));
    assert_eq!(
        client.call("plain__plan", "\"\"").error_code(),
        Some(-32602)
    );
}

#[test]
fn a_prompt_request_accepts_null_arguments() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let script = json!({
        "initialize": {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}},
            "serverInfo": {"name": "s", "version": "1"}}},
        "prompts/list": {"result": {"prompts": [{"name": "greet"}]}},
        "prompts/get": {"result": {"messages": []}},
    });
    let file = home.file("script");
    fs::write(&file, script.to_string()).expect("write the script");
    let server = FaultyServer::add(
        &hub,
        "polite",
        &json!({}),
        &["--script", &paths::path_text(&file)],
    )
    .wait_until_synced();
    let answer = hub.connect_client("desk").request(
        "prompts/get",
        r#"{"name":"polite__greet","arguments":null}"#,
    );
    assert_eq!(answer.result(), json!({"messages": []}));
    let request = server
        .received_by_method("prompts/get")
        .pop()
        .expect("the server receives the request");
    assert_eq!(
        request["params"],
        json!({"name": "greet", "arguments": null})
    );
}

#[test]
fn a_fallback_is_decided_with_the_edited_arguments_and_receives_them() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let spare_server = add_plan_server(&hub, "spare", &json!({"type": "object"}));
    drop(add_plan_server(&hub, "main", &json!({"type": "object"})));
    let mut spec = hub.show_server("main")["spec"].clone();
    let program = home.file("program");
    fs::copy(spec["command"].as_str().expect("a command"), &program).expect("copy the program");
    spec["command"] = json!(paths::path_text(&program));
    spec["timeouts"] = json!({"idle_ms": 1});
    (spec["fallback"], spec["retries"]) = (json!(["spare"]), json!(0));
    hub.run_verb("servers.update", &json!({"id": "main", "spec": spec}));
    home.cli(&["servers", "sync", "main"]).expect_success();
    wait_until("the server is idle", || {
        some_if(hub.show_server("main")["state"] == "idle")
    });
    fs::remove_file(&program).expect("remove the program");
    hub.set_policy("main", "ask");
    hub.set_policy("spare", "ask");
    let call = hub
        .connect_client("desk")
        .spawn_call("main__plan", r#"{"n":1}"#);
    let main_approval = hub.wait_for_approval();
    assert_eq!(main_approval["server"], "main");
    home.cli(&[
        "approvals",
        "approve",
        main_approval["id"].as_str().expect("an id"),
        "--arguments",
        r#"{"n":2}"#,
    ])
    .expect_success();
    let spare_approval = wait_until("the call of the fallback is pending", || {
        Some(hub.wait_for_approval()).filter(|request| request["server"] == "spare")
    });
    assert_eq!(
        spare_approval["arguments"], r#"{"n":2}"#,
        "the approval shows the edited arguments"
    );
    home.cli(&[
        "approvals",
        "approve",
        spare_approval["id"].as_str().expect("an id"),
    ])
    .expect_success();
    assert!(!call.join().expect("the call ends").is_error());
    assert_eq!(
        last_call_params(&spare_server)["arguments"],
        json!({"n": 2})
    );
}

#[test]
fn a_tool_with_a_self_referencing_schema_is_listed_and_validated() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let schema = json!({"$id": "https://example.com/s", "type": "object", "required": ["x"],
        "properties": {"x": {"$ref": "https://example.com/s#/$defs/x"}}, "$defs": {"x": {"type": "string", "minLength": 2}}});
    let server = add_plan_server(&hub, "named", &schema);
    let client: McpClient = hub.connect_client("desk");
    assert!(
        client.list_tools().contains(&"named__plan".to_owned()),
        "{}",
        server.show()
    );
    assert!(
        client
            .call("named__plan", r#"{"x":"a"}"#)
            .text()
            .contains("minLength"),
        "the hub resolves the reference"
    );
    assert!(!client.call("named__plan", r#"{"x":"ab"}"#).is_error());
}

#[test]
fn a_costly_schema_does_not_delay_other_calls() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    // Each level of the arguments doubles the number of checks.
    let level = json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "required": ["zz"]});
    let recursive =
        json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [level, level]}}});
    let costly = add_plan_server(&hub, "costly", &recursive);
    let plain = add_plan_server(&hub, "plain", &json!({"type": "object"}));
    hub.set_policy("costly", "allow");
    hub.set_policy("plain", "allow");
    let (client, other) = (hub.connect_client("desk"), hub.connect_client("other"));
    let arguments = format!("{}{{}}{}", r#"{"x":"#.repeat(60), "}".repeat(60));
    let calls: Vec<_> = (0..4)
        .map(|_| client.spawn_call("costly__plan", &arguments))
        .collect();
    let health = Url::parse(&hub.url).with_path("/health");
    for _ in 0..10 {
        assert!(!other.call("plain__plan", "{}").is_error());
        let answer = Request {
            method: "GET",
            url: &health,
            headers: &[],
            body: &[],
        }
        .send()
        .expect("/health answers");
        assert_eq!(answer.status, 200);
    }
    assert!(
        calls.iter().any(|call| !call.is_finished()),
        "/health and the other client's calls are answered meanwhile"
    );
    for call in calls {
        let answer = call.join().expect("the call ends");
        assert!(
            !answer.is_error(),
            "the server checks arguments if their validation takes too long: {}",
            answer.raw
        );
    }
    assert_eq!(costly.received_calls("plan").len(), 4);
    assert!(!plain.received_calls("plan").is_empty());
}

#[test]
fn a_schema_that_expands_too_much_excludes_its_tool() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut definitions = json!({"a0": {"required": ["zz"]}});
    for i in 1..=30 {
        let before = json!({"$ref": format!("#/$defs/a{}", i - 1)});
        definitions[format!("a{i}")] = json!({"anyOf": [before, before]});
    }
    let schema = json!({"type": "object", "$ref": "#/$defs/a30", "$defs": definitions});
    let file = hub.home.file("exploding.tools");
    let tools = json!([{"name": "plan", "inputSchema": schema}]);
    fs::write(&file, tools.to_string()).expect("write the tools");
    let options = ["--tools", &paths::path_text(&file)];
    let server = FaultyServer::add(&hub, "exploding", &json!({}), &options);
    wait_until("the tool is excluded with the reason", || {
        let shown = server.show().to_string();
        some_if(shown.contains("its schema is too complex"))
    });
    let client = hub.connect_client("desk");
    let listed = client.list_tools();
    let name = server.exposed_name("plan");
    assert!(
        !listed.contains(&name),
        "the tool is not offered: {listed:?}"
    );
}
