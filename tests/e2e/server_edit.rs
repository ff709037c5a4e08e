//! The form of a server in a browser: a person edits the command, the variables, the secrets, the
//! limits, the names, the fallbacks, the URL and the headers of a server, and verifies the result
//! before saving it. The hub and its servers are real.

use std::{fs, os::unix::fs::PermissionsExt};

use drawbridge_tests::{DesktopSession, Home, Hub, McpClient, hub::received_lines, paths};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, expect_failed_verb, fill, press_key, select, take_steps, wait_for,
    wait_for_text, wait_for_value, wait_until_gone,
};

fn probe_program() -> String {
    paths::path_text(paths::built_binary("upstream-probe"))
}

/// Returns the steps that open the form of a server.
fn open_form(id: &str) -> Vec<Value> {
    vec![
        click("nav-servers"),
        click(&format!("server-row[data-server={id}]")),
        click("server-edit"),
        wait_for("server-dialog"),
    ]
}

/// Returns the steps that save the form.
fn save_form() -> [Value; 2] {
    [click("server-save"), wait_until_gone("server-dialog")]
}

/// Returns the steps that add a variable or a header.
fn add_row(key: &str, value: &str) -> [Value; 4] {
    [
        click("env-add"),
        fill("env-key:placeholder-shown", key),
        press_key("Tab"),
        json!({"do": "type", "text": value}),
    ]
}

/// Returns the value of a variable in the environment of the probe server.
fn read_variable(client: &McpClient, name: &str) -> String {
    let arguments = json!({"name": name}).to_string();
    client.call("probe__variable", &arguments).text()
}

#[test]
fn the_command_variables_and_secrets_of_a_server_are_edited_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let options = ["--secret", "API_KEY=old", "--env", "LEVEL=low"];
    hub.add_server("probe", &options, &[&probe_program()]);
    hub.wait_until_synced("probe");
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("claude-code");
    let read_variables = || ["API_KEY", "LEVEL", "REGION"].map(|name| read_variable(&client, name));
    assert_eq!(read_variables(), ["old", "low", ""]);
    let folder = desktop.file("home/work");
    fs::create_dir(&folder).expect("create the working folder");
    let record = paths::path_text(desktop.file("record"));

    let mut steps = open_form("probe");
    steps.extend([
        fill("server-name", ""),
        fill("server-command", ""),
        click("server-save"),
        wait_for("server-name[aria-invalid=true]"),
        wait_for("server-command[aria-invalid=true]"),
    ]);
    steps.extend(check_screen("server-form-invalid"));
    steps.extend([
        fill("server-name", "Probe of the tests"),
        fill(
            "server-command",
            &format!("\"{}\" --record {record}", probe_program()),
        ),
        click("env-replace"),
        fill("env-value[type=password]", "new"),
        // Removes the variable.
        click("server-dialog [aria-label$=LEVEL]"),
    ]);
    steps.extend(add_row("REGION", "north"));
    steps.extend([
        fill("server-cwd", &paths::path_text(&folder)),
        click("server-verify"),
        wait_for_text("verify-result", "upstream-probe"),
    ]);
    steps.extend(check_screen("server-form-verified"));
    steps.extend(save_form());
    steps.push(wait_for_text(
        "server-row[data-server=probe]",
        "Probe of the tests",
    ));
    take_steps(&desktop, steps);
    let shown = hub.show_server("probe");
    assert_eq!(shown["acceptance"], "accepted");
    assert_eq!(
        shown["spec"],
        json!({
            "name": "Probe of the tests", "command": probe_program(), "args": ["--record", record],
            "env": {"API_KEY": "${keyring:probe.API_KEY}", "REGION": "north"},
            "cwd": paths::path_text(&folder),
        })
    );
    assert_eq!(read_variables(), ["new", "", "north"]);
    assert!(
        !received_lines(&desktop).is_empty(),
        "the server was started with the new arguments"
    );
}

#[test]
fn a_verification_shows_the_last_output_of_a_server_that_does_not_start_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let command = hub.show_server("probe")["spec"]["command"].clone();
    let script = desktop.file("failing-server");
    let text = "#!/bin/sh\necho 'cannot read the configuration' >&2\nexit 3\n";
    fs::write(&script, text).expect("write the script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
        .expect("make the script executable");

    let mut steps = open_form("probe");
    steps.extend([
        fill("server-command", &paths::path_text(&script)),
        click("server-verify"),
        wait_for_text("dialog-error", "exit code 3"),
        wait_for_text("failure-output", "cannot read the configuration"),
        expect_failed_verb("servers.verify_spec"),
    ]);
    steps.extend(check_screen("server-form-verification-failed"));
    steps.extend([
        press_key("Escape"),
        wait_for("confirm-dialog"),
        click("confirm"),
        wait_until_gone("server-dialog"),
        click("server-check"),
        wait_for_text("server-detail verify-result", "upstream-probe"),
    ]);
    steps.extend(check_screen("server-verified"));
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("probe")["spec"]["command"],
        command,
        "the changes were discarded"
    );

    let spec = json!({"name": "failing", "command": paths::path_text(&script)});
    hub.run_verb("servers.add", &json!({"spec": spec}));
    take_steps(
        &desktop,
        vec![
            click("nav-servers"),
            click("server-row[data-server=failing]"),
            click("server-check"),
            expect_failed_verb("servers.verify"),
            wait_for_text("server-reason", "cannot read the configuration"),
        ],
    );
}

/// Returns the steps that change the limits, the names and the fallbacks of the probe server, after
/// an attempt with invalid limits.
fn change_limits() -> Vec<Value> {
    let mut steps = open_form("probe");
    steps.extend([
        click("advanced"),
        fill("server-time-call", "soon"),
        fill("server-retries", "-1"),
        click("tool-time-add"),
        fill("tool-time-name", "slow"),
        click("server-save"),
        wait_for("server-time-call[aria-invalid=true]"),
        wait_for("server-retries[aria-invalid=true]"),
    ]);
    steps.extend(check_screen("server-limits-invalid"));
    steps.extend([
        fill("server-time-call", "20"),
        fill("server-retries", "0"),
        fill("tool-time-seconds", "0.2"),
        select("server-prefix", "own"),
        fill("server-prefix-own", "mine"),
        select("server-allowed", "some"),
        // All tools are selected at first.
        json!({"do": "click_all", "part": "allowed-tool:checked", "most": 2}),
        select("server-fallback", "second"),
        select("server-fallback", "third"),
        wait_for_text("fallback-row", "1. second"),
        click("fallback-row [aria-label$=down]"),
        wait_for_text("fallback-row", "1. third"),
        click("fallback-row:last-child [aria-label^=Remove]"),
        count("fallback-row"),
        fill("server-cache-ttl", "90"),
        fill("server-cache-results", "5"),
    ]);
    steps.extend(check_screen("server-limits"));
    steps.extend(save_form());
    steps
}

#[test]
fn the_limits_names_and_fallbacks_of_a_server_are_edited_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    for server in ["probe", "second", "third"] {
        hub.add_server(server, &[], &[&probe_program()]);
        hub.wait_until_synced(server);
        hub.set_policy(server, "allow");
    }
    let client = hub.connect_client("claude-code");

    let mut steps = change_limits();
    steps.extend([
        click("server-tab-details"),
        wait_for_text("server-detail", "slow"),
    ]);
    steps.extend(check_screen("server-limits-saved"));
    let report = take_steps(&desktop, steps);
    assert_eq!(report.0["counts"], json!([1]), "one fallback is left");
    let spec = hub.show_server("probe")["spec"].clone();
    assert_eq!(
        (&spec["timeouts"]["call_ms"], &spec["timeouts"]["tools"]),
        (&json!(20_000), &json!({"slow": 200}))
    );
    assert_eq!(
        (&spec["retries"], &spec["fallback"]),
        (&json!(0), &json!(["third"]))
    );
    assert_eq!(
        (&spec["cache_ttl_ms"], &spec["cache_results_ms"]),
        (&json!(90_000), &json!(5_000))
    );
    let tools = client.list_tools();
    let own: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool.strip_prefix("mine__"))
        .collect();
    assert_eq!(own, ["decision", "variable", "now", "slow", "crash"]);
    let answer = client.call("mine__slow", r#"{"ms":5000}"#);
    assert!(
        answer.is_error() && answer.text().contains("within 0.2 s"),
        "{}",
        answer.raw
    );

    let mut steps = open_form("probe");
    steps.extend([
        click("advanced"),
        select("server-visibility", "deferred"),
        select("server-prefix", "bare"),
        select("server-allowed", "all"),
        // Removes the timeout of the tool.
        click("server-dialog [aria-label^=Remove][aria-label$=slow]"),
    ]);
    steps.extend(save_form());
    steps.push(wait_for_text("server-detail", "no tokens"));
    take_steps(&desktop, steps);
    let tools = client.list_tools();
    assert!(
        tools.contains(&"tool_search".to_owned()) && !tools.contains(&"slow".to_owned()),
        "the tools can be found only by a search: {tools:?}"
    );
    let answer = client.call("tool_call", r#"{"name":"slow","arguments":{"ms":300}}"#);
    assert_eq!(answer.text(), "at last", "the timeout was removed");
}

#[test]
fn the_url_and_headers_of_a_remote_server_are_edited_in_a_browser() {
    let office = Home::new();
    let other_hub = Hub::serve(&office);
    other_hub.add_probe(&[]);
    other_hub.set_policy("probe", "allow");
    let token = other_hub.add_client("desk");
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let spec = json!({"name": "office", "url": "http://127.0.0.1:9/mcp",
        "headers": {"Authorization": "Bearer unknown"}});
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.set_policy("office", "allow");

    let mut steps = open_form("office");
    steps.extend([
        fill("server-url", "office.example"),
        click("server-save"),
        wait_for("server-url[aria-invalid=true]"),
        fill("server-url", &other_hub.url),
        click("server-verify"),
        wait_for_text("dialog-error", "the token is wrong"),
        expect_failed_verb("servers.verify_spec"),
    ]);
    steps.extend(check_screen("remote-server-refused"));
    steps.extend([
        fill("env-value", &format!("Bearer {token}")),
        click("env-secret"),
        wait_for("env-value[type=password]"),
    ]);
    steps.extend(add_row("X-Office", "north"));
    steps.extend([
        click("server-verify"),
        wait_for_text("verify-result", "drawbridge"),
    ]);
    steps.extend(check_screen("remote-server-verified"));
    steps.extend(save_form());
    steps.push(wait_for("tool-row[data-tool=probe__echo]"));
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("office")["spec"],
        json!({
            "name": "office", "url": other_hub.url,
            "headers": {"Authorization": "${keyring:office.Authorization}", "X-Office": "north"},
        })
    );
    let client = hub.connect_client("claude-code");
    let answer = client.call("office__probe__echo", r#"{"a":1}"#);
    assert_eq!(answer.text(), r#"{"a":1}"#);

    let mut steps = open_form("office");
    steps.extend([
        select("server-transport", "sse"),
        click("server-verify"),
        wait_for_text("dialog-error", "choose the transport 'http'"),
        expect_failed_verb("servers.verify_spec"),
        click("server-kind-local"),
        fill("server-command", &probe_program()),
    ]);
    steps.extend(save_form());
    steps.push(wait_for("tool-row[data-tool=echo]"));
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("office")["spec"],
        json!({"name": "office", "command": probe_program()}),
        "a local server has no URL and no headers"
    );
}

#[test]
fn a_secret_in_a_spec_is_moved_to_the_keyring_in_a_browser() {
    const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let spec = json!({"name": "probe", "command": probe_program(), "env": {"API_KEY": SECRET}});
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced("probe");
    hub.set_policy("probe", "allow");
    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=probe]"),
        wait_for_text("server-literals", "API_KEY"),
    ];
    steps.extend(check_screen("server-literal-secret"));
    steps.extend([
        click("server-move-literals"),
        wait_until_gone("server-literals"),
        click("server-tab-spec"),
        wait_for_value("spec-text", "${keyring:probe.API_KEY}"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("probe")["spec"]["env"],
        json!({"API_KEY": "${keyring:probe.API_KEY}"})
    );
    let client = hub.connect_client("claude-code");
    assert_eq!(read_variable(&client, "API_KEY"), SECRET);
}
