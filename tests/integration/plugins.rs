//! Local plugins: manifests, registrations of sources, required variables, and the lifecycle of a
//! plugin's process.

use std::fs;

use drawbridge_tests::{
    DesktopSession, FaultyServer, Home, Hub, McpClient,
    http::{Request, Url},
    hub::{ADMIN_TOKEN, spec_file, write_spec},
    paths,
    ports::find_free_port,
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

/// Writes the folder of a plugin whose manifest has these packages. Returns its path.
fn write_plugin(home: &Home, packages: &Value) -> String {
    let folder = home.file("plugin");
    fs::create_dir_all(&folder).expect("create the plugin's folder");
    let manifest = json!({"name": "@desk/plugin", "version": "1.0.0", "packages": packages});
    fs::write(folder.join("plugin.json"), manifest.to_string()).expect("write the manifest");
    paths::path_text(&folder)
}

fn probe_program() -> String {
    paths::path_text(paths::built_binary("upstream-probe"))
}

#[track_caller]
fn post_server(hub: &Hub<'_>, body: &Value) -> (u16, Value) {
    let url = Url::parse(&hub.url).with_path("/registry/servers");
    let bearer = format!("Bearer {ADMIN_TOKEN}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let body = body.to_string();
    let request = Request {
        method: "POST",
        url: &url,
        headers: &headers,
        body: body.as_bytes(),
    };
    let response = request.send().expect("an answer");
    let (status, text) = (response.status, response.text().expect("a body"));
    (status, serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn a_plugin_that_serves_sse_is_started_and_its_tools_are_called() {
    let (home, port) = (Home::new(), find_free_port());
    let hub = Hub::serve(&home);
    let program = paths::path_text(paths::npm_file(
        "@modelcontextprotocol/server-everything/dist/index.js",
    ));
    let folder = write_plugin(
        &home,
        &json!([{
            "transport_type": "sse", "runtime": "node", "command": [program, "sse"],
            "environment_variables": [{"name": "PORT", "required": true}],
        }]),
    );
    let (url, variable) = (
        format!("url=http://127.0.0.1:{port}/sse"),
        format!("PORT={port}"),
    );
    let options = ["--manifest", &folder, "--set", &url, "--set", &variable];
    home.cli(&[&["servers", "add"], options.as_slice()].concat())
        .expect_success();
    hub.wait_until_synced("plugin");
    hub.set_policy("plugin", "allow");
    let client = hub.connect_client("desk");
    let answer = client.call("plugin__echo", r#"{"message":"over SSE"}"#);
    assert_eq!(answer.text(), "Echo: over SSE");
    assert_eq!(
        hub.show_server("plugin")["protocol_version"]
            .as_str()
            .map(str::len),
        Some("2025-11-25".len())
    );
}

#[test]
fn a_posted_registration_becomes_a_plugin_with_its_secret_in_the_keyring() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    let folder = write_plugin(
        &desktop,
        &json!([{
            "transport_type": "stdio", "command": [probe_program()],
            "environment_variables": [{"name": "PLUGIN_KEY", "required": true, "secret": true}],
        }]),
    );
    let secret = "correct-horse-battery-staple";
    let registration = json!({
        "name": "Desk plugin", "url": "mcp://desk-plugin", "source_type": "mcp",
        "mcp_plugin_dir": folder, "mcp_transport_type": "stdio",
        "mcp_env_vars": {"PLUGIN_KEY": secret},
    });
    let (status, refused) = post_server(
        &hub,
        &json!({"name": "x", "source_type": "mcp", "mcp_plugin_dir": folder}),
    );
    assert!(
        status == 400 && refused.to_string().contains("PLUGIN_KEY"),
        "a required value is missing: {status} {refused}"
    );
    let (status, added) = post_server(&hub, &registration);
    assert_eq!(
        (
            status,
            &added["id"],
            &added["acceptance"],
            &added["spec"]["lifecycle"]
        ),
        (
            201,
            &json!("desk-plugin"),
            &json!("new"),
            &json!("transient")
        ),
        "{added}"
    );
    assert_eq!(
        added["spec"]["env"]["PLUGIN_KEY"],
        "${keyring:desk-plugin.PLUGIN_KEY}"
    );
    let written =
        fs::read_to_string(spec_file(&desktop.data_dir(), "desk-plugin")).expect("a spec");
    assert!(!written.contains(secret), "{written}");

    desktop.accept_server("desk-plugin");
    hub.wait_until_synced("desk-plugin");
    hub.set_policy("desk-plugin", "allow");
    let client = hub.connect_client("desk");
    let tool = find_tool(&client, "variable");
    assert_eq!(
        client.call(&tool, r#"{"name":"PLUGIN_KEY"}"#).text(),
        secret
    );
}

/// Returns the exposed name of a tool.
#[track_caller]
fn find_tool(client: &McpClient, name: &str) -> String {
    let tools = client.list_tools();
    let matching = tools
        .iter()
        .find(|tool| tool.ends_with(&format!("__{name}")));
    matching
        .unwrap_or_else(|| panic!("no tool {name} in {tools:?}"))
        .clone()
}

#[test]
fn a_registration_is_added_from_a_file_and_read_from_pasted_text() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let folder = write_plugin(
        &home,
        &json!([{"command": [probe_program()], "environment_variables": [{"name": "MODE", "required": true}]}]),
    );
    let registration = json!({
        "name": "Filed", "source_type": "mcp", "mcp_plugin_dir": folder,
        "mcp_env_vars": {"MODE": "fast", "API_KEY": "0123456789abcdef0123"},
        "mcp_lifecycle_mode": "singleton",
    });
    let read = hub.run_verb(
        "servers.read_specs",
        &json!({"text": registration.to_string()}),
    );
    assert_eq!(
        (
            &read[0]["name"],
            &read[0]["problem"],
            &read[0]["likely_secrets"]
        ),
        (&json!("Filed"), &json!(""), &json!(["API_KEY"])),
        "{read}"
    );
    assert_eq!(read[0]["spec"]["env"]["MODE"], "fast");
    let (status, text) = hub.try_verb(
        "servers.read_specs",
        &json!({"text": r#"{"source_type":"mcp","mcp_plugin_dir":"/nowhere"}"#}),
    );
    assert!(
        status == 400 && text.contains("/nowhere"),
        "{status} {text}"
    );

    let mut registration = registration;
    registration["mcp_env_vars"] = json!({"MODE": "fast"});
    let file = home.file("registration.json");
    fs::write(&file, registration.to_string()).expect("write the registration");
    home.cli(&["servers", "add", "--manifest", &paths::path_text(&file)])
        .expect_success();
    hub.wait_until_synced("filed");
    let spec = hub.show_server("filed")["spec"].clone();
    assert_eq!(
        (&spec["command"], &spec["cwd"], &spec["required_env"]),
        (&json!(probe_program()), &json!(folder), &json!(["MODE"])),
        "{spec}"
    );
}

#[test]
fn a_server_without_a_required_variable_does_not_start_and_says_which_one_is_missing() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let spec = |env: &Value| {
        json!({
            "name": "needy", "command": probe_program(), "env": env, "required_env": ["REGION", "TEAM"],
            "retries": 0,
        })
    };
    hub.run_verb(
        "servers.add",
        &json!({"spec": spec(&json!({"REGION": "eu", "TEAM": "a"}))}),
    );
    hub.wait_until_synced("needy");
    write_spec(&home, "needy", &spec(&json!({"REGION": " "})).to_string());
    wait_until("the changed spec waits", || {
        some_if(hub.show_server("needy")["acceptance"] == "changed")
    });
    home.accept_server("needy");
    let shown = wait_until("the server is in error", || {
        let shown = hub.show_server("needy");
        some_if(shown["state"] == "error").map(|()| shown)
    });
    let reason = shown["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("REGION, TEAM"), "{reason}");
    assert!(
        shown["remedy"]
            .as_str()
            .unwrap_or_default()
            .contains("environment"),
        "{}",
        shown["remedy"]
    );
    assert!(home.server_processes().is_empty(), "nothing was started");

    hub.run_verb(
        "servers.update",
        &json!({"id": "needy", "spec": spec(&json!({"REGION": "us", "TEAM": "a"}))}),
    );
    wait_until("the server runs again", || {
        some_if(hub.show_server("needy")["state"] == "active")
    });
}

#[test]
fn a_running_server_that_becomes_transient_ends_at_once() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = FaultyServer::add(&hub, "worker", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    assert!(!client.call("worker__echo", r#"{"text":"a"}"#).is_error());
    assert_eq!(server.count_processes(), 1);

    let mut spec = server.show()["spec"].clone();
    spec["lifecycle"] = json!("transient");
    // A change of the file alone suffices, because it narrows what the server can do.
    write_spec(&home, "worker", &spec.to_string());
    wait_until("the process has ended", || {
        some_if(server.count_processes() == 0)
    });
    assert!(!client.call("worker__echo", r#"{"text":"b"}"#).is_error());
    wait_until("the process of the call has ended", || {
        some_if(server.count_processes() == 0)
    });
}
