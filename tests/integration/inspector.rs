//! The command line of the MCP Inspector prints the same about a server behind Drawbridge, over
//! each transport, as about the server itself.

use std::{fs, path::Path};

use drawbridge_tests::{Home, Hub, paths, process::Process};
use serde_json::{Value, json};

const INSPECTOR: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const SERVER: &str = "@modelcontextprotocol/server-everything/dist/index.js";
const PREFIX: &str = "everything__";

/// The tools that the server offers only to clients that accept its requests. Drawbridge accepts
/// requests on behalf of its other clients, but the Inspector's command line accepts none.
const CLIENT_INPUT_TOOLS: &[&str] = &[
    "trigger-elicitation-request",
    "trigger-sampling-request",
    "trigger-url-elicitation",
];

/// The Inspector commands of each run.
const COMMANDS: &[&[&str]] = &[
    &["tools/list"],
    &[
        "tools/call",
        "--tool-name",
        "echo",
        "--tool-arg",
        "message=to and fro",
    ],
    &["resources/list"],
    &["prompts/list"],
];

/// Runs the Inspector once and returns its output.
fn run_inspector(
    home: &Home,
    era: &str,
    connection: &[String],
    arguments: &[&str],
    prefix: &str,
) -> Value {
    let mut command = home.command(paths::node_program());
    command
        .arg(paths::npm_file(INSPECTOR))
        .arg("--cli")
        .args(connection);
    let add_prefix = |argument: &&str| {
        if *argument == "echo" {
            format!("{prefix}{argument}")
        } else {
            (*argument).into()
        }
    };
    command
        .arg("--method")
        .args(arguments.iter().map(add_prefix))
        .args(["--protocol-era", era]);
    let mut process = Process::start(home, "inspector", &mut command);
    let (status, text) = process.wait_until_exit(std::time::Duration::from_secs(60));
    assert!(
        status.success(),
        "{arguments:?} through {connection:?} ({era}): {status}\n{}",
        process.stderr()
    );
    serde_json::from_str(&text).unwrap_or_else(|e| {
        panic!("{arguments:?} through {connection:?} printed no JSON ({e}): {text}")
    })
}

/// Returns the output in comparable form: entries are ordered by name and have no prefix, and the
/// [`CLIENT_INPUT_TOOLS`] are removed. Unless the era is legacy, the members that the Inspector
/// prints only in the legacy era are removed: `resultType` of a result, and `execution` of a tool.
fn normalize(mut output: Value, is_legacy: bool) -> Value {
    if let (Some(members), false) = (output.as_object_mut(), is_legacy) {
        members.remove("resultType");
    }
    for list in output
        .as_object_mut()
        .into_iter()
        .flat_map(|object| object.values_mut())
    {
        let Some(entries) = list.as_array_mut() else {
            continue;
        };
        for entry in entries.iter_mut() {
            let unprefixed = entry["name"]
                .as_str()
                .and_then(|name| name.strip_prefix(PREFIX))
                .map(str::to_owned);
            if let Some(unprefixed) = unprefixed {
                entry["name"] = json!(unprefixed);
            }
            if let (Some(members), false) = (entry.as_object_mut(), is_legacy) {
                members.remove("execution");
            }
        }
        entries.retain(|entry| !CLIENT_INPUT_TOOLS.iter().any(|name| entry["name"] == *name));
        entries.sort_by_key(|entry| entry["name"].to_string());
    }
    output
}

/// Returns the Inspector's options for a stdio program.
fn stdio_options(home: &Home, name: &str, program: &Path, arguments: &[&str]) -> Vec<String> {
    let file = home.file(&format!("{name}.json"));
    let config =
        json!({"mcpServers": {"tested": {"type": "stdio", "command": program, "args": arguments}}});
    fs::write(&file, config.to_string()).expect("write the Inspector's settings");
    [
        "--config".to_owned(),
        paths::path_text(&file),
        "--server".to_owned(),
        "tested".to_owned(),
    ]
    .into()
}

#[track_caller]
fn assert_same_as_direct(era: &str) {
    let home = Home::new();
    let server = paths::path_text(paths::npm_file(SERVER));
    let hub = Hub::serve(&home);
    hub.add_server("everything", &[], &["node", &server, "stdio"]);
    hub.wait_until_synced("everything");
    hub.set_policy("everything", "allow");
    let bearer = format!("Authorization: Bearer {}", hub.add_client("by-url"));
    let url_options = |url: &str, transport: &str| -> Vec<String> {
        [url, "--transport", transport, "--header", &bearer]
            .map(str::to_owned)
            .into()
    };
    let data_dir = paths::path_text(home.data_dir());
    let bridge = ["stdio", "--client", "inspector", "--data-dir", &data_dir];
    let mut connections = vec![
        url_options(&hub.url, "http"),
        stdio_options(&home, "bridge", &paths::built_binary("drawbridge"), &bridge),
    ];
    if era != "modern" {
        connections.push(url_options(&hub.url.replace("/mcp", "/sse"), "sse"));
    }
    let direct = stdio_options(
        &home,
        "direct",
        &paths::find_program("node"),
        &[&server, "stdio"],
    );
    for arguments in COMMANDS {
        // The server itself supports only the legacy era.
        let direct_era = if era == "modern" { "legacy" } else { era };
        let expected = normalize(
            run_inspector(&home, direct_era, &direct, arguments, ""),
            era == "legacy",
        );
        for connection in &connections {
            let output = normalize(
                run_inspector(&home, era, connection, arguments, PREFIX),
                era == "legacy",
            );
            assert!(
                output == expected,
                "{arguments:?} through {connection:?} ({era}):\ndirectly {expected}\nthrough  {output}"
            );
        }
    }
}

#[test]
fn the_inspector_prints_the_same_over_every_transport_as_directly() {
    assert_same_as_direct("legacy");
}

#[test]
fn the_inspector_prints_the_same_if_it_negotiates_the_revision() {
    assert_same_as_direct("auto");
}

#[test]
fn the_inspector_prints_the_same_if_it_uses_the_modern_revision_with_a_legacy_server() {
    assert_same_as_direct("modern");
}
