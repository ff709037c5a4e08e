//! The options of a server in a browser: a person gives a server a sandbox and other options in its
//! form, edits its spec as text, enters an OAuth client, adds a program that listens on a URL and a
//! server with selected tools, and changes timeouts. The hub and its servers are real.

use std::fs;

use drawbridge_tests::{
    DesktopSession, Hub, paths, ports::find_free_port, wait::some_if, wait_until,
};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, expect_failed_verb, fill, open_route, select, take_steps, wait_for,
    wait_for_text, wait_for_value, wait_until_gone,
};

/// Returns the steps that open the form of a server.
fn open_form(id: &str) -> Vec<Value> {
    vec![
        click("nav-servers"),
        click(&format!("server-row[data-server={id}]")),
        click("server-edit"),
        wait_for("server-dialog"),
    ]
}

/// Returns the steps that first try to save two invalid sandboxes for the probe server, and then
/// change the server's options and give it a sandbox that allows this folder.
fn change_options(folder: &str) -> Vec<Value> {
    let mut steps = open_form("probe");
    steps.extend([
        select("server-isolation", "per_client"),
        click("advanced"),
        select("server-lifecycle", "transient"),
        click("server-program-changes"),
        select("server-sandbox", "readProject"),
        fill("server-sandbox-read", "notes"),
        click("server-save"),
        wait_for("server-sandbox-read[aria-invalid=true]"),
    ]);
    steps.extend(check_screen("server-sandbox-invalid"));
    steps.extend([
        select("server-sandbox", "custom"),
        fill("server-sandbox-read", folder),
        fill("server-sandbox-write", folder),
        select("server-sandbox-network", "listed"),
        fill("server-sandbox-connect", "https"),
        click("server-save"),
        wait_for("server-sandbox-connect[aria-invalid=true]"),
        fill("server-sandbox-connect", "443"),
        fill("server-sandbox-bind", "8080"),
        click("server-sandbox-sockets"),
        select("server-definitions", "keep"),
        select("server-validate", "strict"),
        select("server-content-defence", "mark"),
        select("server-revision", "2025-06-18"),
    ]);
    steps.extend(check_screen("server-options"));
    steps.extend([
        click("server-save"),
        wait_until_gone("server-dialog"),
        wait_for("server-sandboxed"),
        click("server-tab-details"),
        wait_for_text("server-sandbox-facts", "8080"),
    ]);
    steps.extend(check_screen("server-options-saved"));
    steps
}

#[test]
fn the_sandbox_and_the_options_of_a_server_are_edited_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    hub.add_server("probe", &[], &[&program]);
    hub.wait_until_synced("probe");
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("claude-code");
    let folder = paths::path_text(desktop.file("home/notes"));
    fs::create_dir(&folder).expect("create the folder");

    take_steps(&desktop, change_options(&folder));
    let spec = hub.show_server("probe")["spec"].clone();
    let expected = json!({
        "name": "probe", "command": program, "protocol_version": "2025-06-18",
        "program_changes": true, "lifecycle": "transient", "isolation": "per_client",
        "definitions": "keep", "validate": "strict", "content_defence": "mark",
        "sandbox": {
            "files": "listed", "read": [folder], "write": [folder], "network": "listed",
            "connect": [443], "bind": [8080], "local_sockets": true,
        },
    });
    assert_eq!(spec, expected);
    assert_eq!(
        client.call("probe__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#
    );

    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=probe]"),
        click("server-tab-spec"),
        fill("spec-text", "{\n  \"command\": \"x\",\n  \"colour\": 1\n}"),
        wait_for_text("spec-unknown", "colour"),
    ];
    steps.extend(check_screen("spec-unknown-member"));
    steps.extend([
        fill("spec-text", "{\n  \"command\" 1\n}"),
        click("spec-show-fault"),
        json!({"do": "wait_until_focused", "part": "spec-text"}),
        click("spec-reset"),
        wait_for_value("spec-text", "transient"),
        wait_until_gone("spec-fault"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(hub.show_server("probe")["spec"], expected);
}

#[test]
fn an_oauth_client_of_a_server_is_entered_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let spec = json!({"name": "office", "url": "http://127.0.0.1:9/mcp"});
    hub.run_verb("servers.add", &json!({"spec": spec}));
    let mut steps = open_form("office");
    steps.extend([
        click("oauth"),
        fill("oauth-client-secret", "not a secret"),
        click("server-save"),
        wait_for("oauth-client-id[aria-invalid=true]"),
        fill("oauth-client-id", "desk"),
        fill("oauth-callback-port", "port"),
        click("server-save"),
        wait_for("oauth-callback-port[aria-invalid=true]"),
    ]);
    steps.extend(check_screen("oauth-client-invalid"));
    steps.extend([
        fill("oauth-callback-port", "8181"),
        click("server-save"),
        wait_until_gone("server-dialog"),
        click("server-edit"),
        click("oauth"),
        wait_for_value("oauth-client-id", "desk"),
        click("oauth-secret-replace"),
        wait_for("oauth-client-secret"),
    ]);
    steps.extend(check_screen("oauth-client"));
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("office")["spec"]["oauth"],
        json!({"client_id": "desk", "client_secret": "${keyring:office.oauth_client}",
            "callback_port": 8181})
    );
}

/// Returns the steps that begin the form of a new local server.
fn begin_local_server(name: &str, command: &str) -> Vec<Value> {
    vec![
        click("nav-servers"),
        click("add-server"),
        click("server-form-tab"),
        click("server-kind-local"),
        fill("server-name", name),
        fill("server-command", command),
    ]
}

#[test]
fn a_program_that_listens_on_a_url_is_added_and_changed_to_stdio_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let program = paths::path_text(paths::built_binary("upstream-conformance"));
    let port = find_free_port().to_string();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let mut steps = begin_local_server("lighthouse", &format!("{program} {port}"));
    steps.extend([
        click("server-listens"),
        click("server-save"),
        wait_for("server-url[aria-invalid=true]"),
        // An address of another computer.
        fill("server-url", "http://192.0.2.1/mcp"),
        click("server-save"),
        wait_for_text("server-dialog", "The program listens on this computer"),
    ]);
    steps.extend(check_screen("server-listens-invalid"));
    steps.extend([
        fill("server-url", &url),
        click("server-verify"),
        wait_for_text("verify-result", "test_simple_text"),
    ]);
    steps.extend(check_screen("server-listens"));
    steps.extend([
        // The list of the tools is long, and scrolls with the keyboard.
        json!({"do": "tab_to", "part": "verify-tools", "back": true}),
        click("server-save"),
        wait_until_gone("server-dialog"),
        wait_for("tool-row[data-tool=test_simple_text]"),
    ]);
    take_steps(&desktop, steps);
    let spec = || hub.show_server("lighthouse")["spec"].clone();
    assert_eq!(
        spec(),
        json!({"name": "lighthouse", "command": program, "args": [port], "url": url,
            "transport": "http"})
    );
    hub.set_policy("lighthouse", "allow");
    let client = hub.connect_client("claude-code");
    let call = || client.call("lighthouse__test_simple_text", "{}").text();
    assert!(call().contains("a simple text response"), "over the URL");

    let mut steps = open_form("lighthouse");
    steps.extend([
        wait_for("server-listens:checked"),
        wait_for_value("server-url", &url),
        fill("server-command", &format!("{program} --stdio")),
        click("server-listens"),
        wait_until_gone("server-url"),
        click("server-save"),
        wait_until_gone("server-dialog"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(
        spec(),
        json!({"name": "lighthouse", "command": program, "args": ["--stdio"]})
    );
    assert!(call().contains("a simple text response"), "over stdio");
}

#[test]
fn the_tools_of_a_new_server_are_selected_by_their_names_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    let mut steps = begin_local_server("probe", &program);
    steps.extend([
        click("advanced"),
        select("server-allowed", "some"),
        wait_for_text("server-dialog", "No tool is selected"),
        fill("allowed-text", " echo \n\nnow\necho\nsing"),
        wait_for_text("server-dialog", "can neither see nor call the other tools"),
    ]);
    steps.extend(check_screen("server-allowed-names"));
    steps.extend([
        click("server-save"),
        wait_until_gone("server-dialog"),
        wait_for_text("tool-row[data-tool=slow]", "Hidden from clients"),
        // The tools are known now, so they can be ticked. One of the names is no tool.
        click("server-edit"),
        click("advanced"),
        count("allowed-tool"),
        count("allowed-tool:checked"),
        wait_for_text("server-dialog", "not offered now"),
    ]);
    steps.extend(check_screen("server-allowed-tools"));
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([8, 3]));
    assert_eq!(
        hub.show_server("probe")["spec"]["allowed_tools"],
        json!(["echo", "now", "sing"])
    );
    let tools = hub.connect_client("claude-code").list_tools();
    let own: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool.strip_prefix("probe__"))
        .collect();
    assert_eq!(own, ["echo", "now"]);
}

#[test]
fn the_timeouts_of_a_server_are_edited_in_a_browser() {
    const TIMEOUTS: [(&str, &str, u32); 6] = [
        ("initialize", "15", 15_000),
        ("call", "20", 20_000),
        ("total", "300", 300_000),
        ("idle", "0.4", 400),
        ("ping", "0", 0),
        ("stop", "2.5", 2_500),
    ];
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let mut steps = open_form("probe");
    steps.push(click("advanced"));
    for name in ["initialize", "total"] {
        steps.push(fill(&format!("server-time-{name}"), "0"));
    }
    for name in ["idle", "ping", "stop"] {
        steps.push(fill(&format!("server-time-{name}"), "soon"));
    }
    steps.push(click("server-save"));
    for name in ["initialize", "total", "idle", "ping", "stop"] {
        steps.push(wait_for(&format!("server-time-{name}[aria-invalid=true]")));
    }
    steps.extend(check_screen("server-times-invalid"));
    steps.extend(TIMEOUTS.map(|(name, text, _)| fill(&format!("server-time-{name}"), text)));
    steps.extend([
        click("server-save"),
        wait_until_gone("server-dialog"),
        open_route("#/servers"),
    ]);
    steps.extend(open_form("probe"));
    steps.push(click("advanced"));
    steps.extend(
        TIMEOUTS.map(|(name, text, _)| wait_for_value(&format!("server-time-{name}"), text)),
    );
    take_steps(&desktop, steps);
    let timeouts = hub.show_server("probe")["spec"]["timeouts"].clone();
    for (name, _, milliseconds) in TIMEOUTS {
        assert_eq!(timeouts[format!("{name}_ms")], milliseconds, "{name}");
    }
    let client = hub.connect_client("claude-code");
    assert!(!client.call("probe__echo", "{}").is_error());
    wait_until("the server stops after the idle timeout", || {
        some_if(hub.show_server("probe")["state"] == "idle")
    });
}

#[test]
fn a_new_server_that_does_not_start_within_its_timeout_is_reported_in_the_form_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let _hub = Hub::serve(&desktop);
    let mut steps = begin_local_server("mute", "sleep 600");
    steps.extend([
        click("advanced"),
        fill("server-time-initialize", "0.3"),
        click("server-verify"),
        wait_for_text(
            "server-dialog",
            "The server did not answer initialize within 0.3 s",
        ),
        expect_failed_verb("servers.verify_spec"),
    ]);
    steps.extend(check_screen("server-mute"));
    take_steps(&desktop, steps);
}
