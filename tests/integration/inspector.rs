//! The command line of the MCP Inspector through each transport: its output is the same as for the
//! server itself.

use std::{fs, path::Path};

use drawbridge_tests::{Home, Hub, places, process::Process};
use serde_json::{Value, json};

const INSPECTOR: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const SERVER: &str = "@modelcontextprotocol/server-everything/dist/index.js";
const PREFIX: &str = "everything__";

/// The tools that the server offers only to clients that accept its requests. The Inspector's
/// command line does not; Drawbridge does, on behalf of its other clients.
const ASKING: &[&str] = &[
    "trigger-elicitation-request",
    "trigger-sampling-request",
    "trigger-url-elicitation",
];

/// The Inspector commands of each run.
const QUESTIONS: &[&[&str]] = &[
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
fn inspect(home: &Home, era: &str, door: &[String], question: &[&str], prefix: &str) -> Value {
    let mut command = home.command(places::node());
    command.arg(places::npm(INSPECTOR)).arg("--cli").args(door);
    let named = |word: &&str| {
        if *word == "echo" {
            format!("{prefix}{word}")
        } else {
            (*word).into()
        }
    };
    command
        .arg("--method")
        .args(question.iter().map(named))
        .args(["--protocol-era", era]);
    let mut process = Process::start(home, "inspector", &mut command);
    let (status, text) = process.finish(std::time::Duration::from_secs(60));
    assert!(
        status.success(),
        "{question:?} through {door:?} ({era}): {status}\n{}",
        process.stderr()
    );
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{question:?} through {door:?} printed no JSON ({e}): {text}"))
}

/// Returns the output in comparable form: entries ordered by name and without the prefix. In the
/// modern era, `execution` is removed from tools, because the Inspector does not print it, and
/// `resultType` from results.
fn compared(mut printed: Value, is_legacy: bool) -> Value {
    if let (Some(members), false) = (printed.as_object_mut(), is_legacy) {
        members.remove("resultType");
    }
    for list in printed
        .as_object_mut()
        .into_iter()
        .flat_map(|object| object.values_mut())
    {
        let Some(entries) = list.as_array_mut() else {
            continue;
        };
        for entry in entries.iter_mut() {
            let bare = entry["name"]
                .as_str()
                .and_then(|name| name.strip_prefix(PREFIX))
                .map(str::to_owned);
            if let Some(bare) = bare {
                entry["name"] = json!(bare);
            }
            if let (Some(members), false) = (entry.as_object_mut(), is_legacy) {
                members.remove("execution");
            }
        }
        entries.retain(|entry| !ASKING.iter().any(|name| entry["name"] == *name));
        entries.sort_by_key(|entry| entry["name"].to_string());
    }
    printed
}

/// Returns the Inspector's options for a stdio program.
fn program(home: &Home, name: &str, program: &Path, arguments: &[&str]) -> Vec<String> {
    let file = home.file(&format!("{name}.json"));
    let config =
        json!({"mcpServers": {"it": {"type": "stdio", "command": program, "args": arguments}}});
    fs::write(&file, config.to_string()).expect("write the Inspector's settings");
    [
        "--config".to_owned(),
        places::text(&file),
        "--server".to_owned(),
        "it".to_owned(),
    ]
    .into()
}

#[track_caller]
fn the_same_as_directly(era: &str) {
    let home = Home::new();
    let server = places::text(places::npm(SERVER));
    let hub = Hub::serve(&home);
    hub.add_server("everything", &[], &["node", &server, "stdio"]);
    hub.until_synced("everything");
    hub.policy("everything", "allow");
    let bearer = format!("Authorization: Bearer {}", hub.token("by-url"));
    let at = |url: &str, transport: &str| -> Vec<String> {
        [url, "--transport", transport, "--header", &bearer]
            .map(str::to_owned)
            .into()
    };
    let data = places::text(home.data_dir());
    let bridge = ["stdio", "--client", "inspector", "--data-dir", &data];
    let mut doors = vec![
        at(&hub.url, "http"),
        program(&home, "bridge", &places::built("drawbridge"), &bridge),
    ];
    if era != "modern" {
        doors.push(at(&hub.url.replace("/mcp", "/sse"), "sse"));
    }
    let direct = program(
        &home,
        "direct",
        &places::program("node"),
        &[&server, "stdio"],
    );
    for question in QUESTIONS {
        // The server itself supports only the legacy era.
        let directly = if era == "modern" { "legacy" } else { era };
        let expected = compared(
            inspect(&home, directly, &direct, question, ""),
            era == "legacy",
        );
        for door in &doors {
            let printed = compared(inspect(&home, era, door, question, PREFIX), era == "legacy");
            assert!(
                printed == expected,
                "{question:?} through {door:?} ({era}):\ndirectly {expected}\nthrough  {printed}"
            );
        }
    }
}

#[test]
fn the_inspector_prints_through_every_door_what_it_prints_directly() {
    the_same_as_directly("legacy");
}

#[test]
fn the_inspector_finds_out_by_itself_which_revision_to_speak() {
    the_same_as_directly("auto");
}

#[test]
fn the_inspector_speaks_the_modern_revision_with_a_server_that_does_not() {
    the_same_as_directly("modern");
}
