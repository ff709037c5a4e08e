//! Requests that a person sends by hand, and what the preflight check and a verification find out
//! about a server.

use std::fs;

use drawbridge_tests::{FaultyServer, Home, Hub, paths};
use serde_json::json;

/// Adds a server with a prompt, a resource and a resource template, and waits until it is synced.
fn add_library<'a>(hub: &'a Hub<'a>) -> FaultyServer<'a> {
    let script = json!({
        "initialize": {"result": {"protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "s", "version": "1"}}},
        "prompts/list": {"result": {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}},
        "prompts/get": {"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}]}},
        "resources/list": {"result": {"resources": [{"uri": "book://1", "name": "one"}]}},
        "resources/templates/list": {"result": {"resourceTemplates": [{"uriTemplate": "book://{id}", "name": "any"}]}},
        "resources/read": {"result": {"contents": [{"uri": "book://1", "text": "Once"}]}},
    });
    let file = hub.home.file("script");
    fs::write(&file, script.to_string()).expect("write the script");
    let arguments = ["--script", &paths::path_text(&file)];
    FaultyServer::add(hub, "library", &json!({}), &arguments).wait_until_synced()
}

#[test]
fn a_person_gets_a_prompt_and_reads_a_resource_through_the_policy() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add_library(&hub);
    let lists = hub.run_verb("servers.capabilities", &json!({"id": "library"}));
    let entries = lists["entries"].as_array().expect("a list");
    let names: Vec<_> = entries
        .iter()
        .map(|entry| (entry["kind"].clone(), entry["exposed_name"].clone()))
        .collect();
    assert_eq!(
        names,
        [
            (json!("prompts"), json!("library__greet")),
            (json!("resources"), json!("book://1")),
            (json!("templates"), json!("book://{id}")),
        ]
    );
    let get = json!({"name": "library__greet", "arguments": {"who": "Ada"}});
    let prompt = hub.run_verb("prompts.get", &get);
    assert_eq!(prompt["messages"][0]["content"]["text"], "Hello");
    let request = server.received_by_method("prompts/get").pop();
    assert_eq!(
        request.expect("the server receives the request")["params"]["arguments"],
        json!({"who": "Ada"})
    );
    let resource = hub.run_verb("resources.read", &json!({"uri": "book://1"}));
    assert_eq!(resource["contents"][0]["text"], "Once");

    let rule = json!({"server": "library", "kind": "prompts", "effect": "deny"});
    hub.run_verb("policy.set", &rule);
    let (status, text) = hub.try_verb("prompts.get", &get);
    assert_ne!(status, 200, "{text}");
    assert_eq!(server.received_by_method("prompts/get").len(), 1);
}

#[test]
fn the_command_line_gets_a_prompt_and_reads_a_resource() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add_library(&hub);
    let print = |arguments: &[&str]| home.cli(arguments).expect_success().stdout();
    let prompts = print(&["prompts", "list", "library"]);
    assert!(prompts.contains("library__greet"), "{prompts}");
    assert!(prompts.contains("[who]"), "{prompts}");
    let prompt = print(&[
        "prompts",
        "get",
        "library__greet",
        "--args",
        r#"{"who":"Ada"}"#,
    ]);
    assert_eq!(prompt.trim(), "user:\nHello");
    let request = server.received_by_method("prompts/get").pop();
    assert_eq!(
        request.expect("the server receives the request")["params"]["arguments"],
        json!({"who": "Ada"})
    );
    let resources = print(&["resources", "list", "library"]);
    for uri in ["book://1", "book://{id}"] {
        assert!(resources.contains(uri), "{resources}");
    }
    assert_eq!(print(&["resources", "read", "book://1"]).trim(), "Once");

    let count_reads = || server.received_by_method("resources/read").len();
    let reads = count_reads();
    let rule = json!({"server": "library", "kind": "resources", "effect": "deny"});
    hub.run_verb("policy.set", &rule);
    let denied = home.cli(&["resources", "read", "book://1"]);
    assert_eq!(denied.exit_code(), 1);
    assert_eq!(count_reads(), reads, "{}", denied.stderr());
}

#[test]
fn the_preflight_check_finds_a_missing_program_and_a_missing_secret() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.run_verb(
        "servers.add",
        &json!({"spec": {"name": "lost", "command": "no-such-program-at-all",
            "env": {"KEY": "${keyring:lost.KEY}"}}}),
    );
    let output = home.cli(&["servers", "preflight", "lost"]);
    let stdout = output.stdout();
    assert!(
        stdout.contains("no program `no-such-program-at-all`"),
        "{stdout}"
    );
    let checks = hub.run_verb("servers.preflight", &json!({"id": "lost"}));
    let failed: Vec<_> = checks
        .as_array()
        .expect("a list")
        .iter()
        .filter(|check| check["status"] == "failure")
        .map(|check| check["topic"].clone())
        .collect();
    assert_eq!(failed, ["program", "secrets"], "{checks}");
}

#[cfg(unix)]
#[test]
fn the_preflight_check_finds_a_program_that_was_not_there_when_its_server_was_accepted() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let program = home.file("late-server");
    hub.run_verb(
        "servers.add",
        &json!({"spec": {"name": "late", "command": paths::path_text(&program)}}),
    );
    fs::copy("/bin/cat", &program).expect("install the program");
    let checks = hub.run_verb("servers.preflight", &json!({"id": "late"}));
    let acceptance = checks
        .as_array()
        .expect("a list")
        .iter()
        .find(|check| check["topic"] == "acceptance")
        .expect("the check of the acceptance");
    assert_eq!(acceptance["status"], "failure", "{checks}");
    let text = acceptance["text"].as_str().expect("a text");
    assert!(text.contains("was not there when you accepted"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_failed_verification_shows_the_output_of_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let script = "echo starting >&2; echo 'error 404: package not found' >&2; echo 'see the log' >&2; exit 3";
    let spec = json!({"name": "broken", "command": "/bin/sh", "args": ["-c", script]});
    let (_, text) = hub.try_verb("servers.verify_spec", &json!({"spec": spec}));
    assert!(
        text.contains("The server printed “error 404: package not found”"),
        "{text}"
    );
    assert!(text.contains("starting\\nerror 404"), "{text}");
}
