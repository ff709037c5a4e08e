//! The ways to add a server in a browser: a bundle, pasted JSON and command lines, a manifest, a
//! link, and a spec file that another program wrote. The hub and its servers are real.

use std::{fs, io::Write as _};

use drawbridge_tests::{DesktopSession, Hub, McpClient, hub::write_spec, paths};
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::steps::{
    check_screen, choose_file, click, expect_failed_verb, fill, open_route, press_key, select,
    take_steps, wait_for, wait_for_text, wait_for_value, wait_until_enabled, wait_until_focused,
    wait_until_gone,
};

/// A value that looks like a secret.
const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

fn probe_program() -> String {
    paths::path_text(paths::built_binary("upstream-probe"))
}

/// Returns the steps that open the form of a new server on a tab.
fn open_form(tab: &str) -> Vec<Value> {
    vec![
        click("nav-servers"),
        click("add-server"),
        click(&format!("server-{tab}-tab")),
    ]
}

/// Returns the value of a variable in the environment of a probe server.
fn read_variable(client: &McpClient, server: &str, name: &str) -> String {
    let arguments = json!({"name": name}).to_string();
    client
        .call(&format!("{server}__variable"), &arguments)
        .text()
}

/// Writes a bundle whose server needs a secret and the path of a file. Returns the bundle's path.
fn write_bundle(desktop: &DesktopSession) -> String {
    let manifest = json!({
        "manifest_version": "0.3", "name": "shop", "display_name": "Shop", "version": "1.2.3",
        "description": "Sells things", "author": {"name": "Ada"},
        "server": {
            "type": "binary", "entry_point": "server/run",
            "mcp_config": {
                "command": "${__dirname}/server/run", "args": ["${user_config.record}"],
                "env": {"API_KEY": "${user_config.key}"},
            },
        },
        "tools": [{"name": "echo", "description": "Says what it was told"}],
        "user_config": {
            "key": {"type": "string", "title": "Key", "description": "of your account",
                "required": true, "sensitive": true},
            "record": {"type": "file", "title": "Record", "description": "of all requests",
                "required": true},
        },
    });
    let script = format!("#!/bin/sh\nexec '{}' --record \"$1\"\n", probe_program());
    let bundle = paths::path_text(desktop.file("shop.mcpb"));
    let mut zip = ZipWriter::new(fs::File::create(&bundle).expect("create the bundle"));
    for (name, content) in [
        ("manifest.json", manifest.to_string()),
        ("server/run", script),
    ] {
        zip.start_file(name, SimpleFileOptions::default())
            .expect("an entry");
        zip.write_all(content.as_bytes()).expect("its content");
    }
    zip.finish().expect("an archive");
    bundle
}

#[test]
fn the_server_of_a_bundle_is_added_and_accepted_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let bundle = write_bundle(&desktop);
    let other_file = paths::path_text(desktop.file("other.mcpb"));
    fs::write(&other_file, "no archive").expect("write the file");
    let record = paths::path_text(desktop.file("record"));

    let mut steps = open_form("bundle");
    steps.extend([
        wait_for("bundle-add[aria-disabled=true]"),
        choose_file("bundle-file", &other_file),
        wait_for_text("bundle-error", "not an MCP bundle"),
        expect_failed_verb("bundles.open"),
        choose_file("bundle-file", &bundle),
        wait_for_text("bundle", "Sells things"),
        wait_until_gone("bundle-error"),
        click("bundle-add"),
        wait_for("manifest-input[data-input=key][aria-invalid=true]"),
    ]);
    steps.extend(check_screen("bundle-incomplete"));
    steps.extend([
        fill("manifest-input[data-input=key]", "not a secret"),
        fill("manifest-input[data-input=record]", &record),
        fill("manifest-name", "corner shop"),
        click("bundle-add"),
        wait_until_gone("server-dialog"),
        wait_until_enabled("server-accept"),
    ]);
    steps.extend(check_screen("bundle-waits"));
    steps.extend([click("server-accept"), wait_for("tool-row[data-tool=echo]")]);
    take_steps(&desktop, steps);
    hub.set_policy("corner-shop", "allow");
    let client = hub.connect_client("claude-code");
    assert_eq!(
        read_variable(&client, "corner-shop", "API_KEY"),
        "not a secret"
    );
    assert!(fs::exists(record).expect("look for the record"));
}

#[test]
fn servers_are_added_from_pasted_json_and_a_command_line_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let pasted = format!(
        r#"{{
            // from the file of another client
            "mcpServers": {{
                "broken": {{"command": 5}},
                "probe": {{"url": "http://127.0.0.1:9/mcp"}},
                "shop": {{"command": "{}", "env": {{"API_KEY": "{SECRET}", "LEVEL": "low"}}}},
            }}
        }}"#,
        probe_program()
    );

    let mut steps = open_form("paste");
    steps.extend([
        wait_for("paste-read[aria-disabled=true]"),
        fill("paste-text", "{\"mcpServers\": "),
        click("paste-read"),
        wait_for_text("dialog-error", "not valid JSON: line 1, column 15"),
        expect_failed_verb("servers.read_specs"),
        fill("paste-text", &pasted),
        click("paste-read"),
        wait_for_text("paste-skipped", "1 of 3"),
        wait_for_text("paste-entry", "broken"),
        // The variable whose value looks like a secret is marked as a secret.
        wait_for("paste-entry:last-child env-secret:checked"),
    ]);
    steps.extend(check_screen("paste-read"));
    steps.extend([
        click("server-save"),
        wait_for_text("paste-entry dialog-error", "'probe' already exists"),
        expect_failed_verb("servers.add"),
        wait_for("server-row[data-server=shop]"),
    ]);
    steps.extend(check_screen("paste-partly-added"));
    steps.extend([
        // Opens the form of the server that was not added.
        click("paste-entry:last-child :is(button)"),
        wait_for("server-kind-remote:checked"),
        wait_for_value("server-url", "http://127.0.0.1:9/mcp"),
        fill("server-name", "office"),
        click("server-save"),
        wait_until_gone("server-dialog"),
        wait_for("server-row[data-server=office]"),
    ]);
    steps.extend(open_form("paste"));
    steps.extend([
        fill("paste-text", &format!("{} --noisy", probe_program())),
        click("paste-read"),
        wait_for_text("paste-entry", "--noisy"),
        click("server-verify"),
        wait_for_text("verify-result", "upstream-probe"),
    ]);
    steps.extend(check_screen("paste-verified"));
    steps.extend([
        click("server-save"),
        wait_until_gone("server-dialog"),
        wait_for("server-row[data-server=upstream-probe]"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("shop")["spec"],
        json!({"name": "shop", "command": probe_program(),
            "env": {"API_KEY": "${keyring:shop.API_KEY}", "LEVEL": "low"}})
    );
    assert_eq!(
        hub.show_server("office")["spec"],
        json!({"name": "office", "url": "http://127.0.0.1:9/mcp"})
    );
    hub.wait_until_synced("shop");
    hub.set_policy("shop", "allow");
    let client = hub.connect_client("claude-code");
    assert_eq!(read_variable(&client, "shop", "API_KEY"), SECRET);
}

#[test]
fn a_server_is_added_from_a_manifest_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let manifest = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.example/shop", "description": "Sells things", "version": "1.0.0",
        "packages": [{
            "registryType": "npm", "identifier": "@example/shop", "version": "1.0.0",
            "transport": {"type": "stdio"},
            "environmentVariables": [
                {"name": "API_KEY", "description": "The key", "isRequired": true, "isSecret": true},
                {"name": "LEVEL", "choices": ["low", "high"]},
            ],
            "packageArguments": [
                {"type": "named", "name": "--fast", "format": "boolean", "default": "false"},
            ],
        }],
        "remotes": [{"type": "streamable-http", "url": "https://shop.example/mcp"}],
    });

    let mut steps = open_form("manifest");
    steps.extend([
        fill("manifest-text", "{"),
        click("manifest-read"),
        wait_for_text("dialog-error", "not valid JSON"),
        expect_failed_verb("servers.read_manifest"),
        fill("manifest-text", &manifest.to_string()),
        click("manifest-read"),
        wait_for_text("manifest-preview", "npx -y @example/shop@1.0.0"),
        // The remote server needs no values.
        click("manifest-choice:not(:checked)"),
        wait_for_text("manifest-preview", "https://shop.example/mcp"),
        wait_until_gone("manifest-input"),
        click("manifest-choice:not(:checked)"),
        click("manifest-add"),
        wait_for("manifest-input[data-input=API_KEY][aria-invalid=true]"),
    ]);
    steps.extend(check_screen("manifest-incomplete"));
    steps.extend([
        fill("manifest-input[data-input=API_KEY]", "not a secret"),
        select("manifest-input[data-input=LEVEL]", "high"),
        click("manifest-input[data-input=--fast]"),
        click("manifest-add"),
        wait_until_gone("server-dialog"),
        wait_for("server-row[data-server=shop]"),
    ]);
    take_steps(&desktop, steps);
    let spec = hub.show_server("shop")["spec"].clone();
    assert_eq!(
        (&spec["args"], &spec["env"]),
        (
            &json!(["-y", "@example/shop@1.0.0", "--fast"]),
            &json!({"API_KEY": "${keyring:shop.API_KEY}", "LEVEL": "high"})
        )
    );
}

#[test]
fn a_person_goes_back_from_a_preset_to_the_search_and_stores_a_value_as_a_secret() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let manifest = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.example/shop", "description": "Sells things", "version": "1.0.0",
        "packages": [{
            "registryType": "npm", "identifier": "@example/shop", "version": "1.0.0",
            "transport": {"type": "stdio"},
            "environmentVariables": [
                {"name": "ACCOUNT", "description": "The account", "isRequired": true},
            ],
        }],
    });
    let preset = "preset-card[data-preset=filesystem]";
    let mut steps = vec![
        click("nav-servers"),
        click("add-server"),
        wait_for("preset-card[data-preset=git]"),
        fill("find-text", "file"),
        wait_until_gone("preset-card[data-preset=git]"),
        click(preset),
        wait_for("manifest-preview"),
        wait_until_focused("find-back"),
        press_key("Enter"),
        wait_for(preset),
        wait_until_focused("find-text"),
        wait_until_gone("manifest-preview"),
        // The search is kept.
        wait_for_value("find-text", "file"),
        wait_until_gone("preset-card[data-preset=git]"),
        click("server-manifest-tab"),
        fill("manifest-text", &manifest.to_string()),
        click("manifest-read"),
        fill("manifest-input[data-input=ACCOUNT]", "ada 4711"),
        wait_for("manifest-input[type=text]"),
        click("manifest-secret"),
        wait_for("manifest-input[type=password]"),
    ];
    steps.extend(check_screen("manifest-value-as-secret"));
    steps.extend([
        click("manifest-add"),
        wait_until_gone("server-dialog"),
        wait_for("server-row[data-server=shop]"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("shop")["spec"]["env"],
        json!({"ACCOUNT": "${keyring:shop.ACCOUNT}"})
    );
    let items = desktop.keyring().items();
    assert!(items.iter().any(|item| item.value == "ada 4711"));
}

/// Encodes a text for a URL.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[test]
fn a_link_fills_in_the_form_of_a_server_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let query = format!(
        "name=shop&command={}&arg=--describe&arg={}&env=API_KEY",
        encode(&probe_program()),
        encode("Sells things")
    );
    let open_link = |query: &str| open_route(&format!("#/servers?add={}", encode(query)));

    let mut steps = vec![
        open_link("name=shop&command=a&url=http://b"),
        wait_for_text("link-refused", "either a command or a URL"),
    ];
    steps.extend(check_screen("link-refused"));
    steps.extend([
        click("link-close"),
        wait_until_gone("link-refused"),
        open_link(&query),
        wait_for_text("server-link", "Sells things"),
        wait_for_value("env-key", "API_KEY"),
        wait_for("env-value[type=password]"),
    ]);
    steps.extend(check_screen("link-form"));
    let report = take_steps(&desktop, steps);
    assert_eq!(report.screenshots().len(), 2);
    let (status, _) = hub.try_verb("servers.show", &json!({"id": "shop"}));
    assert_ne!(status, 200, "the link itself adds nothing");

    take_steps(
        &desktop,
        vec![
            open_link(&query),
            fill("env-value", "not a secret"),
            click("server-save"),
            wait_until_gone("server-dialog"),
            wait_for_text("tool-row[data-tool=echo]", "Sells things"),
        ],
    );
    hub.set_policy("shop", "allow");
    let client = hub.connect_client("claude-code");
    assert_eq!(read_variable(&client, "shop", "API_KEY"), "not a secret");
}

#[test]
fn the_secret_of_another_server_is_granted_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let options = ["--secret", "API_KEY=not a secret"];
    hub.add_server("probe", &options, &[&probe_program()]);
    hub.wait_until_synced("probe");
    let spec = json!({"command": probe_program(), "env": {"TOKEN": "${keyring:probe.API_KEY}"}});
    write_spec(&desktop, "stranger", &spec.to_string());

    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=stranger]"),
        wait_for_text("foreign-secret", "probe.API_KEY"),
        wait_for("server-accept[aria-disabled=true]"),
    ];
    steps.extend(check_screen("foreign-secret"));
    steps.extend([
        click("grant-secret"),
        wait_until_enabled("server-accept"),
        click("server-accept"),
        wait_for("tool-row[data-tool=echo]"),
    ]);
    take_steps(&desktop, steps);
    hub.set_policy("stranger", "allow");
    let client = hub.connect_client("claude-code");
    assert_eq!(read_variable(&client, "stranger", "TOKEN"), "not a secret");
}
