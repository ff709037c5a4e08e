//! The arguments of a call: how strictly they are validated, how rules read them, and that they are
//! sent unchanged.

use std::fs;

use drawbridge_tests::{Faulty, Home, Hub, McpClient, places, until, wait::yes};
use serde_json::{Value, json};

/// Adds a server with one tool `plan` that has this schema.
fn add<'a>(hub: &'a Hub<'a>, name: &str, schema: &Value) -> Faulty<'a> {
    let file = hub.home.file(&format!("{name}.tools"));
    fs::write(
        &file,
        json!([{"name": "plan", "inputSchema": schema}]).to_string(),
    )
    .expect("write the tools");
    Faulty::add(hub, name, &json!({}), &["--tools", &places::text(&file)]).synced()
}

fn thinking() -> Value {
    json!({"type": "object", "required": ["thoughtNumber"], "additionalProperties": false, "properties": {
        "thoughtNumber": {"type": "integer", "minimum": 1},
        "more": {"type": "boolean"},
        "branch": {"type": "string"},
        "options": {"anyOf": [{"type": "object", "properties": {"depth": {"type": "integer"}}}, {"type": "null"}]},
    }})
}

/// Returns the params of the last call that the server received.
fn last(server: &Faulty<'_>) -> Value {
    server.calls("plan").pop().expect("a call")["params"].clone()
}

fn set(home: &Home, server: &str, field: &str) {
    home.cli(&["servers", "set", server, field]).ok();
}

#[test]
fn what_a_server_coerces_on_purpose_reaches_it_as_the_client_wrote_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add(&hub, "thinking", &thinking());
    let client = hub.client("desk");
    let identity = server.seen()["identity"].clone();
    for arguments in [
        r#"{"thoughtNumber":"2"}"#,
        r#"{"thoughtNumber":" 3","more":"true","branch":7}"#,
        r#"{"thoughtNumber":1,"branch":null,"options":"{\"depth\": \"4\"}"}"#,
    ] {
        let answer = client.call("thinking__plan", arguments);
        assert!(!answer.is_error(), "{arguments}: {}", answer.raw);
        let sent: Value = serde_json::from_str(arguments).expect("JSON");
        assert_eq!(
            last(&server)["arguments"],
            sent,
            "nothing is converted on the way"
        );
    }
    let sent = server.calls("plan").len();
    let refused = client
        .call("thinking__plan", r#"{"thoughtNumber":"two"}"#)
        .text();
    assert!(
        refused.contains("/thoughtNumber: ") && refused.contains("rule 'type'"),
        "{refused}"
    );
    set(&home, "thinking", "validate=strict");
    let refused = client
        .call("thinking__plan", r#"{"thoughtNumber":"2"}"#)
        .text();
    assert!(
        refused.contains("/thoughtNumber: ") && refused.contains("Nothing was sent"),
        "{refused}"
    );
    assert_eq!(
        server.calls("plan").len(),
        sent,
        "what does not fit is not sent"
    );
    set(&home, "thinking", "validate=off");
    assert!(
        !client
            .call("thinking__plan", r#"{"thoughtNumber":"two"}"#)
            .is_error(),
        "the server checks alone"
    );
    assert_eq!(
        server.seen()["identity"],
        identity,
        "how arguments are checked is no other server"
    );
}

#[test]
fn what_a_person_writes_in_place_of_the_arguments_is_checked_as_closely_as_the_client_s() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add(&hub, "thinking", &thinking());
    hub.policy("thinking", "ask");
    let call = hub
        .client("desk")
        .call_meanwhile("thinking__plan", r#"{"thoughtNumber":1}"#);
    let id = hub.approval()["id"].as_str().expect("an id").to_owned();
    let edit = |arguments: &str| home.cli(&["approvals", "approve", &id, "--arguments", arguments]);
    let refused = edit(r#"{"thoughtNumber":"two"}"#);
    assert!(
        refused.code() == 1 && refused.stderr().contains("/thoughtNumber"),
        "{}",
        refused.stderr()
    );
    edit(r#"{"thoughtNumber":"2"}"#).ok();
    assert!(!call.join().expect("the call ends").is_error());
    assert_eq!(last(&server)["arguments"], json!({"thoughtNumber": "2"}));
}

#[test]
fn a_deny_holds_however_the_arguments_are_written_and_an_allow_does_not_grow() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let schema = json!({"type": "object", "properties": {
        "amount": {"type": "integer"}, "force": {"type": "boolean"}, "paths": {"type": "array"},
        "options": {"type": "object", "properties": {"path": {"type": "string"}}}}});
    let server = add(&hub, "bank", &schema);
    for condition in [
        "/amount between 101 -",
        "/force is true",
        "/options/path in /etc",
    ] {
        home.cli(&["policy", "add", "bank/plan", "deny", "--when", condition])
            .ok();
    }
    let client = hub.client("desk");
    for arguments in [
        r#"{"amount":200}"#,
        r#"{"amount":"200"}"#,
        r#"{"force":"true"}"#,
        r#"{"options":{"path":"/etc/passwd"}}"#,
        r#"{"options":"{\"path\":\"/etc/passwd\"}"}"#,
    ] {
        let denied = client.call("bank__plan", arguments).text();
        assert!(denied.contains("Denied by policy"), "{arguments}: {denied}");
    }
    assert_eq!(server.calls("plan").len(), 0);
    assert!(
        !client
            .call(
                "bank__plan",
                r#"{"amount":"100","options":"{\"path\":\"/tmp/a\"}"}"#
            )
            .is_error()
    );
    hub.policy("bank", "deny");
    let work = places::text(home.file("home"));
    home.cli(&["policy", "remove", "bank"]).ok();
    home.cli(&["policy", "default", "deny"]).ok();
    home.cli(&[
        "policy",
        "add",
        "bank/plan",
        "allow",
        "--when",
        &format!("/paths in {work}"),
    ])
    .ok();
    assert!(
        !client
            .call(
                "bank__plan",
                &json!({"paths": [format!("{work}/a")]}).to_string()
            )
            .is_error()
    );
    for paths in [r#"["/opt/passwd"]"#, r#"["a","/opt/passwd"]"#] {
        let denied = client
            .call("bank__plan", &json!({"paths": paths}).to_string())
            .text();
        assert!(
            denied.contains("Denied by policy"),
            "a list in a text is no path in the folder: {denied}"
        );
    }
}

#[test]
fn no_arguments_may_be_written_as_null_and_are_sent_so() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add(
        &hub,
        "plain",
        &json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
    );
    let client = hub.client("desk");
    assert!(!client.call("plain__plan", "null").is_error());
    assert_eq!(
        last(&server),
        json!({"name": "plan", "arguments": null}),
        "null stays null"
    );
    let record = home.cli(&["calls", "list", "--json"]).json();
    let id = record[0]["id"].as_str().expect("an id");
    assert_eq!(
        home.cli(&["calls", "show", id, "--json"]).json()["arguments"],
        "{}",
        "it is recorded as what it means"
    );
    hub.policy("plain", "ask");
    let call = client.call_meanwhile("plain__plan", "null");
    let request = hub.approval();
    assert_eq!(request["arguments"], "{}", "and shown so");
    let id = request["id"].as_str().expect("an id");
    home.cli(&["approvals", "approve", id, "--arguments", r#"{"n":1}"#])
        .ok();
    assert!(!call.join().expect("the call ends").is_error());
    assert_eq!(
        last(&server)["arguments"],
        json!({"n": 1}),
        "what a person wrote takes its place"
    );
    assert_eq!(client.call("plain__plan", "[]").error_code(), Some(-32602));
    assert_eq!(
        client.call("plain__plan", "\"\"").error_code(),
        Some(-32602)
    );
}

#[test]
fn a_prompt_may_be_asked_for_with_null_in_place_of_arguments() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let offer = json!({
        "initialize": {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}},
            "serverInfo": {"name": "s", "version": "1"}}},
        "prompts/list": {"result": {"prompts": [{"name": "greet"}]}},
        "prompts/get": {"result": {"messages": []}},
    });
    let file = home.file("offer");
    fs::write(&file, offer.to_string()).expect("write the offer");
    let server = Faulty::add(
        &hub,
        "polite",
        &json!({}),
        &["--offer", &places::text(&file)],
    )
    .synced();
    let answer = hub.client("desk").request(
        "prompts/get",
        r#"{"name":"polite__greet","arguments":null}"#,
    );
    assert_eq!(answer.result(), json!({"messages": []}));
    let asked = server.heard_of("prompts/get").pop().expect("it was asked");
    assert_eq!(asked["params"], json!({"name": "greet", "arguments": null}));
}

#[test]
fn arguments_that_a_person_changed_are_what_a_fallback_is_decided_by_and_gets() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let spare = add(&hub, "spare", &json!({"type": "object"}));
    drop(add(&hub, "main", &json!({"type": "object"})));
    let mut spec = hub.server("main")["spec"].clone();
    let copy = home.file("program");
    fs::copy(spec["command"].as_str().expect("a command"), &copy).expect("copy it");
    spec["command"] = json!(places::text(&copy));
    spec["timeouts"] = json!({"idle_ms": 1});
    (spec["fallback"], spec["retries"]) = (json!(["spare"]), json!(0));
    hub.verb("servers.update", &json!({"id": "main", "spec": spec}));
    home.cli(&["servers", "sync", "main"]).ok();
    until(
        "it has ended",
        || yes(hub.server("main")["state"] == "idle"),
    );
    fs::remove_file(&copy).expect("remove it");
    hub.policy("main", "ask");
    hub.policy("spare", "ask");
    let call = hub
        .client("desk")
        .call_meanwhile("main__plan", r#"{"n":1}"#);
    let first = hub.approval();
    assert_eq!(first["server"], "main");
    home.cli(&[
        "approvals",
        "approve",
        first["id"].as_str().expect("an id"),
        "--arguments",
        r#"{"n":2}"#,
    ])
    .ok();
    let second = until("the fallback is asked about", || {
        Some(hub.approval()).filter(|one| one["server"] == "spare")
    });
    assert_eq!(
        second["arguments"], r#"{"n":2}"#,
        "what would be sent is what is shown"
    );
    home.cli(&[
        "approvals",
        "approve",
        second["id"].as_str().expect("an id"),
    ])
    .ok();
    assert!(!call.join().expect("the call ends").is_error());
    assert_eq!(last(&spare)["arguments"], json!({"n": 2}));
}

#[test]
fn a_tool_whose_schema_refers_to_itself_by_its_name_is_offered_and_checked() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let schema = json!({"$id": "https://example.com/s", "type": "object", "required": ["x"],
        "properties": {"x": {"$ref": "https://example.com/s#/$defs/x"}}, "$defs": {"x": {"type": "string", "minLength": 2}}});
    let server = add(&hub, "named", &schema);
    let client: McpClient = hub.client("desk");
    assert!(
        client.tools().contains(&"named__plan".to_owned()),
        "{}",
        server.seen()
    );
    assert!(
        client
            .call("named__plan", r#"{"x":"a"}"#)
            .text()
            .contains("minLength"),
        "the reference is followed"
    );
    assert!(!client.call("named__plan", r#"{"x":"ab"}"#).is_error());
}
