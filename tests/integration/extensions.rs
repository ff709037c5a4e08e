//! Extensions of the protocol in the capabilities of clients and servers, in both eras.

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, StatelessClient, wait::some_if, wait_until,
};
use serde_json::{Value, json};

const UI: &str = "io.modelcontextprotocol/ui";
const TASKS: &str = "io.modelcontextprotocol/tasks";

fn ui_settings() -> Value {
    json!({"mimeTypes": ["text/html;profile=mcp-app"]})
}

fn add_server<'a>(hub: &'a Hub<'a>, name: &str, options: &[&str]) -> FaultyServer<'a> {
    FaultyServer::add(hub, name, &json!({}), options).wait_until_synced()
}

/// Waits until a message with this method tells the server of the UI extension. `pointer` is the
/// place of the extensions in the message. Returns the settings of the extension.
#[track_caller]
fn wait_until_told(server: &FaultyServer<'_>, method: &str, pointer: &str) -> Value {
    wait_until(format!("{} is told of the extension", server.name), || {
        let messages = server.received_by_method(method);
        messages
            .iter()
            .find_map(|message| message.pointer(pointer)?.get(UI).cloned())
    })
}

#[test]
fn a_client_learns_of_the_extensions_of_the_servers_in_its_scope() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let ui = json!({UI: ui_settings()}).to_string();
    add_server(&hub, "apps", &["--extensions", &ui]);
    // With `--in-two-steps`, the server is modern.
    add_server(
        &hub,
        "modern",
        &[
            "--in-two-steps",
            "--extensions",
            r#"{"com.example/x":{"level":2},"io.modelcontextprotocol/tasks":{}}"#,
        ],
    );
    add_server(&hub, "plain", &[]);

    let token = hub.add_client("desk");
    let read_extensions = |url: &str| {
        let client = McpClient::connect(url, &token);
        client.server_capabilities()["extensions"].clone()
    };
    let both_extensions = json!({UI: ui_settings(), "com.example/x": {"level": 2}});
    assert_eq!(read_extensions(&hub.url), both_extensions);
    assert_eq!(
        read_extensions(&format!("{}/apps", hub.url)),
        json!({UI: ui_settings()})
    );
    assert_eq!(read_extensions(&format!("{}/plain", hub.url)), Value::Null);

    let discover = |capabilities: Value| {
        let client = StatelessClient::new(&hub.url, &token, capabilities);
        let answer = client.request("server/discover", &json!({}));
        answer.result()["capabilities"]["extensions"].clone()
    };
    let mut modern = both_extensions.clone();
    modern[TASKS] = json!({});
    assert_eq!(discover(json!({})), modern);

    home.cli(&["profiles", "set", "work", "plain", "modern"])
        .expect_success();
    home.cli(&["clients", "profile", "desk", "work"])
        .expect_success();
    assert_eq!(
        read_extensions(&hub.url),
        json!({"com.example/x": {"level": 2}})
    );
    hub.home
        .cli(&["servers", "disable", "modern"])
        .expect_success();
    assert_eq!(read_extensions(&hub.url), Value::Null);
}

#[test]
fn a_legacy_server_is_told_of_the_extensions_of_all_clients_that_share_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add_server(&hub, "apps", &[]);
    assert!(
        server.received_by_method("initialize")[0]["params"]["capabilities"]
            .get("extensions")
            .is_none(),
        "no client has declared an extension"
    );
    let capabilities = json!({"extensions": {UI: ui_settings(), TASKS: {}}});
    McpClient::connect_with(&hub.url, &hub.add_client("desk"), &capabilities);
    let extensions = "/params/capabilities/extensions";
    assert_eq!(
        wait_until_told(&server, "initialize", extensions),
        ui_settings()
    );
    let last = server
        .received_by_method("initialize")
        .pop()
        .expect("a start");
    assert_eq!(
        last.pointer(extensions),
        Some(&json!({UI: ui_settings()})),
        "Drawbridge translates tasks itself"
    );

    // The next session is also told of the extensions of a modern client.
    let pdf = json!({"extensions": {UI: {"mimeTypes": ["application/pdf"]}}});
    let modern = StatelessClient::new(&hub.url, &hub.add_client("modern"), pdf);
    modern.request("tools/list", &json!({}));
    let joined = json!({"mimeTypes": ["text/html;profile=mcp-app", "application/pdf"]});
    wait_until("the server is told of both clients", || {
        let last = server.received_by_method("initialize").pop()?;
        some_if(last.pointer(extensions)? == &json!({UI: joined}))
    });
}

#[test]
fn a_session_that_a_client_uses_is_not_ended_for_another_clients_extensions() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = add_server(&hub, "apps", &[]);
    let first_client = hub.connect_client("first");
    assert!(
        !first_client
            .call("apps__echo", r#"{"text":"a"}"#)
            .is_error()
    );
    let starts = server.count_starts();
    let lists = server.received_by_method("tools/list").len();

    let capabilities = json!({"extensions": {UI: ui_settings()}});
    let second_client = McpClient::connect_with(&hub.url, &hub.add_client("second"), &capabilities);
    wait_until("the lists are read again", || {
        some_if(server.received_by_method("tools/list").len() > lists)
    });
    assert!(
        !second_client
            .call("apps__echo", r#"{"text":"b"}"#)
            .is_error()
    );
    assert_eq!(server.count_starts(), starts, "the server may keep state");

    home.cli(&["servers", "restart", "apps"]).expect_success();
    wait_until_told(&server, "initialize", "/params/capabilities/extensions");
}

#[test]
fn a_session_of_one_client_is_told_of_that_clients_extensions_alone() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = FaultyServer::add(&hub, "apps", &json!({}), &[]).wait_until_synced();
    let mut spec = server.show()["spec"].clone();
    spec["isolation"] = json!("per_client");
    hub.run_verb("servers.update", &json!({"id": "apps", "spec": spec}));
    let with_ui = json!({"extensions": {UI: ui_settings()}});
    let other_capabilities = json!({"extensions": {"com.example/x": {}}});
    let _other = McpClient::connect_with(&hub.url, &hub.add_client("other"), &other_capabilities);
    let desk = McpClient::connect_with(&hub.url, &hub.add_client("desk"), &with_ui);
    assert!(!desk.call("apps__echo", r#"{"text":"a"}"#).is_error());
    wait_until("the client's own session is told of its extensions", || {
        let messages = server.received_by_method("initialize");
        let expected = json!({UI: ui_settings()});
        some_if(
            messages
                .iter()
                .any(|message| message["params"]["capabilities"]["extensions"] == expected),
        )
    });
}

#[test]
fn a_modern_server_gets_the_extensions_with_each_request() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    // With this option, the server is modern.
    let server = add_server(&hub, "apps", &["--in-two-steps"]);
    let capabilities = json!({"extensions": {UI: ui_settings()}});
    let client = McpClient::connect_with(&hub.url, &hub.add_client("desk"), &capabilities);
    let in_meta = "/params/_meta/io.modelcontextprotocol~1clientCapabilities/extensions";
    // Drawbridge reads the lists itself.
    assert_eq!(
        wait_until_told(&server, "tools/list", in_meta),
        ui_settings()
    );
    assert!(!client.call("apps__echo", r#"{"text":"a"}"#).is_error());
    assert_eq!(
        wait_until_told(&server, "tools/call", in_meta),
        ui_settings()
    );
}
