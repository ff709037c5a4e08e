//! The configuration files of clients: connecting, importing, undoing, staying connected, calling a
//! tool through an entry, and the configuration that the hub serves.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use drawbridge_tests::{
    Bridge, DesktopSession, Home, Hub, McpClient,
    http::{Request, Url},
    hub::try_verb,
    paths,
    process::Process,
    wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Writes a file below the user's home folder.
fn write_file(home: &Home, name: &str, text: &str) -> PathBuf {
    let path = home.file("home").join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("create the folder");
    fs::write(&path, text).expect("write the file");
    path
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("read the file")).expect("JSON")
}

/// Returns the token in the file of a client that connects by URL.
fn read_token(file: &Path) -> String {
    let entry = &read_json(file)["mcpServers"]["drawbridge"];
    let header = entry["headers"]["Authorization"].as_str().expect("a token");
    let token = header.strip_prefix("Bearer ").expect("a bearer token");
    token.to_owned()
}

/// Returns all files below a folder with their bytes and modes.
fn read_contents(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut contents = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("read the folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let mode = fs::metadata(&path).expect("the mode").permissions().mode();
                contents.insert(path.clone(), (mode, fs::read(&path).expect("read")));
            }
        }
    }
    contents
}

/// Returns the states of a client's files, by their paths.
fn list_states(home: &Home, client: &str) -> BTreeMap<String, String> {
    let overview = home.cli(&["config", "list", "--json"]).expect_json();
    let kinds = overview["kinds"].as_array().expect("kinds");
    let kind = kinds.iter().find(|kind| kind["id"] == client);
    let files = kind.expect("the client")["files"]
        .as_array()
        .expect("files");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    files
        .iter()
        .map(|file| (text(&file["path"]), text(&file["state"])))
        .collect()
}

fn read_state(home: &Home, client: &str, path: &Path) -> String {
    list_states(home, client)[&paths::path_text(path)].clone()
}

/// A client that starts the command in its file, and asks its user about each call unless the file
/// says that the client trusts the command.
struct AskingClient {
    bridge: Bridge,
    is_trusted: bool,
    questions: usize,
    next_id: u64,
}

impl AskingClient {
    fn start(home: &Home, file: &Path) -> Self {
        let entry = &read_json(file)["mcpServers"]["drawbridge"];
        let words = [&entry["command"]]
            .into_iter()
            .chain(entry["args"].as_array().expect("args"));
        let command_line: Vec<String> = words
            .map(|word| word.as_str().expect("a text").to_owned())
            .collect();
        Self {
            bridge: Bridge::open_command_line(home, &command_line),
            is_trusted: entry["trust"] == true,
            questions: 0,
            next_id: 10,
        }
    }

    fn begin_call(&mut self, tool: &str) -> u64 {
        if !self.is_trusted {
            self.questions += 1;
        }
        self.next_id += 1;
        self.bridge.send(
            &json!({"jsonrpc": "2.0", "id": self.next_id, "method": "tools/call",
            "params": {"name": tool, "arguments": {}}}),
        );
        self.next_id
    }
}

#[test]
fn a_connected_client_asks_nothing_and_the_hub_asks_once() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let before = "{\n  // mine\n  \"theme\": \"dark\",\n}\n";
    let file = write_file(&home, ".gemini/settings.json", before);
    let shown = home.cli(&["config", "diff", "gemini-cli"]).expect_success();
    assert!(
        shown.stdout().contains("+      \"trust\": true"),
        "{}",
        shown.stdout()
    );
    assert_eq!(
        fs::read_to_string(&file).expect("the file"),
        before,
        "a diff changes nothing"
    );
    home.cli(&["config", "connect", "gemini-cli", "--yes"])
        .expect_success();
    assert_eq!(read_state(&home, "gemini-cli", &file), "connected");
    let tested = home
        .cli(&["config", "test", "gemini-cli", "--json"])
        .expect_json();
    assert_eq!(tested["problem"], Value::Null, "{tested}");
    assert!(tested["tools"].as_u64().expect("a number") > 1, "{tested}");

    // The client of this test reads neither comments nor trailing commas.
    let text = fs::read_to_string(&file).expect("the file");
    let entry = text.replace("  // mine\n", "");
    let plain = home.file("plain.json");
    fs::write(&plain, entry.replace("},\n}", "}\n}")).expect("write");
    let mut client = AskingClient::start(&home, &plain);
    let call = client.begin_call("probe__echo");
    let approval = hub.wait_for_approval();
    assert_eq!(
        approval["timeout_ms"], 570_000,
        "a person has as long as the client waits: {approval}"
    );
    let id = approval["id"].as_str().expect("an id");
    home.cli(&["approvals", "approve", id]).expect_success();
    let answer = client.bridge.read_response(call);
    assert_eq!(answer["result"]["content"][0]["text"], "{}", "{answer}");
    assert_eq!(client.questions, 0);
    let calls = home.cli(&["calls", "list", "--json"]).expect_json();
    assert_eq!(calls.as_array().expect("calls").len(), 1, "{calls}");

    home.cli(&["config", "undo", "gemini-cli"]).expect_success();
    assert_eq!(fs::read_to_string(&file).expect("the file"), before);
    let audit = home
        .cli(&["audit", "list", "--kind", "client_files_changed", "--json"])
        .expect_json();
    let entries = audit["entries"].as_array().expect("entries");
    assert_eq!(entries.len(), 2, "{audit}");
    assert_eq!(entries[0]["body"]["undone"], true);
}

#[test]
fn a_tool_is_called_through_the_entry_of_a_client_and_waits_for_a_person() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    write_file(&home, ".cursor/mcp.json", "{}");
    home.cli(&["config", "connect", "cursor", "--yes"])
        .expect_success();
    let attempt = |tool: &str| json!({"kind": "cursor", "server": "probe", "tool": tool, "arguments": {"a": 1}});
    let url = hub.url.clone();
    let echo = attempt("echo");
    let call = thread::spawn(move || try_verb(&url, "config.try_tool", &echo));
    let approval = hub.wait_for_approval();
    assert_eq!(
        (&approval["client"], &approval["tool"]),
        (&json!("cursor"), &json!("echo"))
    );
    let id = approval["id"].as_str().expect("an id");
    home.cli(&["approvals", "approve", id]).expect_success();
    let (status, answer) = call.join().expect("the verb");
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["is_error"], false, "{answer}");
    assert!(
        answer["text"].as_str().expect("a text").contains("\"a\""),
        "{answer}"
    );
    hub.set_policy("*", "deny");
    let denied = hub.run_verb("config.try_tool", &attempt("echo"));
    assert_eq!(denied["is_error"], true, "{denied}");
    let (status, answer) = hub.try_verb("config.try_tool", &attempt("nothing"));
    assert_eq!(status, 404, "{answer}");
    assert!(answer.contains("does not see a tool 'nothing'"), "{answer}");
}

#[test]
fn the_list_of_clients_counts_abandoned_calls() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let mut bridge = Bridge::open(&home, "impatient");
    bridge.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "probe__echo", "arguments": {}}}));
    hub.wait_for_approval();
    bridge.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 2, "reason": "timeout"}}),
    );
    let client = wait_until("the call is recorded as abandoned", || {
        let clients = home.cli(&["clients", "list", "--json"]).expect_json();
        let client = clients.as_array().expect("clients")[0].clone();
        some_if(client["abandoned_calls"] == 1).map(|()| client)
    });
    bridge.close();
    assert_eq!(client["name"], "impatient");
    assert_eq!(client["ignores_tool_changes"], false);
}

#[test]
fn a_file_that_changes_after_the_preview_stays_as_it_is() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let file = write_file(&home, ".cursor/mcp.json", "{}");
    let preview = hub.run_verb(
        "config.preview",
        &json!({"kind": "cursor", "action": "connect", "ask_once": true}),
    );
    fs::write(&file, r#"{"mcpServers":{}}"#).expect("write");
    let id = preview["id"].as_str().expect("an id");
    let (status, answer) = hub.try_verb("config.apply", &json!({"id": id}));
    assert_eq!(status, 409, "{answer}");
    assert!(answer.contains("changed by another program"), "{answer}");
    assert_eq!(
        fs::read_to_string(&file).expect("the file"),
        r#"{"mcpServers":{}}"#
    );
    assert!(!file.with_file_name("permissions.json").exists());
    let (status, _) = hub.try_verb("config.apply", &json!({"id": id}));
    assert_eq!(status, 404, "a preview is used once");
}

#[test]
fn a_client_with_a_token_connects_by_url_until_the_change_is_undone() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let file = write_file(&home, ".cursor/mcp.json", "{}");
    let preview = home
        .cli(&["config", "connect", "cursor", "--http", "--yes", "--json"])
        .expect_json();
    let entry = read_json(&file)["mcpServers"]["drawbridge"].clone();
    assert_eq!(entry["url"], json!(hub.url));
    let token = read_token(&file);
    assert!(!preview.to_string().contains(&token), "{preview}");
    assert_eq!(read_state(&home, "cursor", &file), "connected");
    McpClient::connect(&hub.url, &token).list_tools();
    home.cli(&["config", "undo", "cursor"]).expect_success();
    assert_eq!(fs::read_to_string(&file).expect("the file"), "{}");
    let clients = home.cli(&["clients", "list", "--json"]).expect_json();
    assert!(clients[0]["revoked_at"].is_number(), "{clients}");
}

#[test]
fn an_entry_with_a_token_is_repaired_with_a_new_token_that_replaces_the_old_token() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let empty = "{\"mcpServers\": {}}";
    let file = write_file(&home, ".cursor/mcp.json", empty);
    let connect = ["config", "connect", "cursor", "--http", "--yes", "--json"];
    home.cli(&connect).expect_success();
    let old_token = read_token(&file);
    let running = McpClient::connect(&hub.url, &old_token);
    let list_clients = || home.cli(&["clients", "list", "--json"]).expect_json();
    fs::write(&file, empty).expect("wipe the file");
    assert_eq!(read_state(&home, "cursor", &file), "removed");

    let repaired = home.cli(&connect).expect_json().to_string();
    let new_token = read_token(&file);
    assert_ne!(new_token, old_token);
    assert_eq!(read_state(&home, "cursor", &file), "connected");
    assert!(
        repaired.contains("replaces the token of the client 'cursor'"),
        "{repaired}"
    );
    assert!(!repaired.contains(&new_token), "{repaired}");
    running.list_tools();
    let clients = list_clients();
    assert!(clients[0]["old_token_until"].is_number(), "{clients}");
    McpClient::connect(&hub.url, &new_token).list_tools();
    let clients = list_clients();
    assert!(clients[0]["old_token_until"].is_null(), "{clients}");
    assert!(clients[0]["revoked_at"].is_null(), "{clients}");

    // The entry of a connected client is replaced in the same way.
    home.cli(&connect).expect_success();
    let newest_token = read_token(&file);
    assert_ne!(newest_token, new_token);
    McpClient::connect(&hub.url, &newest_token).list_tools();
}

#[test]
fn restoring_an_entry_with_a_token_is_refused_with_the_reason() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let empty = "{\"mcpServers\": {}}";
    let file = write_file(&home, ".cursor/mcp.json", empty);
    let connect = ["config", "connect", "cursor", "--http", "--yes"];
    let refused = home.cli(&[&connect[..], &["--restore"]].concat());
    assert_eq!(refused.exit_code(), 1);
    let message = refused.stderr();
    assert!(message.contains("does not store the token"), "{message}");
    assert!(message.contains("remove --restore"), "{message}");

    let preview = hub.run_verb(
        "config.preview",
        &json!({"kind": "cursor", "action": "connect", "transport": "http"}),
    );
    let apply = json!({"id": preview["id"], "restores": true});
    let (status, answer) = hub.try_verb("config.apply", &apply);
    assert_eq!(status, 400, "{answer}");
    assert!(answer.contains("does not store the token"), "{answer}");
    assert_eq!(fs::read_to_string(&file).expect("the file"), empty);

    home.cli(&connect).expect_success();
    let restore = json!({"path": paths::path_text(&file), "restores": true});
    let (status, answer) = hub.try_verb("config.set_restores", &restore);
    assert_eq!(status, 400, "{answer}");
    assert!(answer.contains("does not store the token"), "{answer}");
}

#[test]
fn an_entry_that_another_program_removes_is_restored_only_if_the_person_chose_so() {
    let home = Home::new();
    let _hub = Hub::serve(&home);
    let empty = "{\"mcpServers\": {}}";
    let restored = write_file(&home, ".cursor/mcp.json", empty);
    let not_restored = write_file(&home, ".gemini/settings.json", empty);
    home.cli(&["config", "connect", "cursor", "--restore", "--yes"])
        .expect_success();
    home.cli(&["config", "connect", "gemini-cli", "--yes"])
        .expect_success();
    let connected = fs::read(&restored).expect("the file");
    fs::write(&not_restored, empty).expect("wipe the file");
    fs::write(&restored, empty).expect("wipe the file");
    wait_until("the entry is restored", || {
        some_if(fs::read(&restored).is_ok_and(|bytes| bytes == connected))
    });
    assert_eq!(fs::read_to_string(&not_restored).expect("the file"), empty);
    assert_eq!(read_state(&home, "gemini-cli", &not_restored), "removed");
    assert_eq!(read_state(&home, "cursor", &restored), "connected");
}

/// Starts the hub from another folder, as after an update that has moved the program.
fn serve_from_other_folder(home: &Home, options: &[&str]) -> Process {
    let program = home.file("other/drawbridge");
    fs::create_dir_all(home.file("other")).expect("create the folder");
    fs::copy(paths::built_binary("drawbridge"), &program).expect("copy the program");
    let mut command = home.command(&program);
    command.args(["serve", "--port", "0"]).args(options);
    command.arg("--data-dir").arg(home.data_dir());
    let mut process = Process::start(home, "serve", &mut command);
    assert!(process.read_line().starts_with("listening on"));
    process
}

#[test]
fn entries_are_updated_at_the_start_unless_updates_are_turned_off() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let empty = "{\"mcpServers\": {}}";
    let file = write_file(&home, ".cursor/mcp.json", empty);
    home.cli(&["config", "connect", "cursor", "--yes"])
        .expect_success();
    let before = fs::read(&file).expect("the file");
    hub.stop(Signal::SIGTERM);

    let mut process = serve_from_other_folder(&home, &["--skip-config-gen"]);
    assert_eq!(read_state(&home, "cursor", &file), "outdated");
    process.send_signal(Signal::SIGTERM);
    process.wait_until_exit(Duration::from_secs(15));
    assert_eq!(fs::read(&file).expect("the file"), before);

    let _process = serve_from_other_folder(&home, &[]);
    let program = paths::path_text(home.file("other/drawbridge"));
    wait_until("the entry names the new program", || {
        let entry = &read_json(&file)["mcpServers"]["drawbridge"];
        some_if(entry["command"] == program)
    });
    assert_eq!(read_state(&home, "cursor", &file), "connected");
}

#[test]
fn the_configuration_of_each_client_is_served_without_a_token() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let get = |path: &str| {
        let url = Url::parse(&hub.url).with_path(path);
        let response = Request {
            method: "GET",
            url: &url,
            headers: &[],
            body: &[],
        }
        .send()
        .expect("an answer");
        (response.status, response.text().expect("a body"))
    };
    let (status, body) = get("/config/client/standard");
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        (&body["success"], &body["client_type"]),
        (&json!(true), &json!("standard"))
    );
    assert_eq!(
        body["config"]["mcpServers"]["drawbridge"]["args"][0],
        "stdio"
    );
    let (status, raw) = get("/config/client/codex?format=raw");
    assert_eq!(status, 200);
    assert!(raw.starts_with("[mcp_servers.drawbridge]"), "{raw}");
    assert_eq!(get("/config/client/lm-studio").0, 200);
    assert_eq!(get("/config/client/nothing").0, 404);
    assert_eq!(get("/config/client/codex?format=xml").0, 400);
}

/// The clients of the home folder, each with the file that has its servers.
const CLIENTS: [(&str, &str); 12] = [
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("lm-studio", ".lmstudio/mcp.json"),
    ("gemini-cli", ".gemini/settings.json"),
    ("qwen-code", ".qwen/settings.json"),
    ("codex", ".codex/config.toml"),
    ("copilot-cli", ".copilot/mcp-config.json"),
    ("kiro", ".kiro/settings/mcp.json"),
    (
        "claude-desktop",
        "../config/Claude/claude_desktop_config.json",
    ),
    ("opencode", "../config/opencode/opencode.json"),
    ("goose", "../config/goose/config.yaml"),
];
const SERVERS: usize = 40;

fn secret(server: usize) -> String {
    format!("ghp_{server:02}bcdefghijklmnopqrstuvwxyz0123456789")
}

/// Writes forty servers, each into three of the twelve files.
fn write_servers(home: &Home) {
    for (index, (client, name)) in CLIENTS.iter().enumerate() {
        let own = (0..SERVERS).filter(|server| (server + index) % 4 == 0);
        let text = match *client {
            "codex" => own
                .map(|server| {
                    format!(
                        "[mcp_servers.s{server}]\ncommand = \"server-{server}\"\nargs = [\"--mode\", \"x\"]\nenv = {{ API_KEY = \"{}\" }}\n\n",
                        secret(server)
                    )
                })
                .collect(),
            "goose" => {
                let entries: Vec<String> = own
                    .map(|server| {
                        format!(
                            "  s{server}:\n    enabled: true\n    type: stdio\n    name: s{server}\n    cmd: server-{server}\n    args: [\"--mode\", \"x\"]\n    envs:\n      API_KEY: {}\n",
                            secret(server)
                        )
                    })
                    .collect();
                format!("GOOSE_MODEL: x # mine\nextensions:\n{}", entries.concat())
            }
            "opencode" => {
                let entries: Vec<String> = own
                    .map(|server| {
                        format!(
                            "    \"s{server}\": {{\"type\": \"local\", \"command\": [\"server-{server}\", \"--mode\", \"x\"], \"environment\": {{\"API_KEY\": \"{}\"}}}},\n",
                            secret(server)
                        )
                    })
                    .collect();
                format!("{{ // mine\n  \"mcp\": {{\n{}  }},\n}}\n", entries.concat())
            }
            _ => {
                let entries: Vec<String> = own
                    .map(|server| {
                        format!(
                            "    \"s{server}\": {{\"command\": \"server-{server}\", \"args\": [\"--mode\", \"x\"], \"env\": {{\"API_KEY\": \"{}\"}}}}",
                            secret(server)
                        )
                    })
                    .collect();
                format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", entries.join(",\n"))
            }
        };
        write_file(home, name, &text);
    }
}

#[test]
fn forty_servers_of_twelve_clients_are_imported_and_the_import_is_undone() {
    let desktop = DesktopSession::without_screen();
    let home: &Home = &desktop;
    write_servers(home);
    let folders = [home.file("home"), home.file("config")];
    let read_all = || {
        folders
            .iter()
            .flat_map(|folder| read_contents(folder))
            .collect()
    };
    let before: BTreeMap<PathBuf, (u32, Vec<u8>)> = read_all();
    let hub = Hub::serve(home);

    let preview = home.cli(&["import", "--dry-run", "--json"]).expect_json();
    let servers = preview["found"]["servers"].as_array().expect("servers");
    assert_eq!(servers.len(), SERVERS, "duplicates are merged");
    assert!(
        servers
            .iter()
            .all(|server| server["found_at"].as_array().map(Vec::len) == Some(3)),
        "{servers:?}"
    );
    assert_eq!(read_all(), before, "a dry run changes nothing");

    let imported = home.cli(&["import", "--yes", "--json"]).expect_json();
    assert_eq!(imported["servers"].as_array().map(Vec::len), Some(SERVERS));
    for (client, _) in CLIENTS {
        let states = list_states(home, client);
        assert!(
            states.values().any(|state| state == "connected"),
            "{client}: {states:?}"
        );
    }
    let keyring: BTreeMap<String, String> = desktop
        .keyring()
        .items()
        .into_iter()
        .map(|item| (item.value, item.label))
        .collect();
    for server in 0..SERVERS {
        assert!(
            keyring.contains_key(&secret(server)),
            "s{server} is in the keyring"
        );
    }
    let everywhere = folders
        .iter()
        .chain([&home.data_dir()])
        .flat_map(|folder| read_contents(folder))
        .collect::<Vec<_>>();
    for (path, (_, bytes)) in everywhere {
        for server in 0..SERVERS {
            let secret = secret(server);
            let is_in = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!is_in, "{} has the secret of s{server}", path.display());
        }
    }
    let spec = hub.show_server("s7");
    assert_eq!(spec["spec"]["env"]["API_KEY"], "${keyring:s7.API_KEY}");

    let undone = home.cli(&["import", "undo", "--json"]).expect_json();
    assert_eq!(
        undone["change"]["servers"].as_array().map(Vec::len),
        Some(SERVERS)
    );
    assert_eq!(read_all(), before, "each file is as before");
    let listed = home.cli(&["servers", "list", "--json"]).expect_json();
    let listed = listed["servers"].as_array().expect("servers");
    assert!(
        listed
            .iter()
            .all(|server| !server["spec"]["builtin"].is_null()),
        "only the built-in servers are left: {listed:?}"
    );
    let values: Vec<String> = desktop
        .keyring()
        .items()
        .into_iter()
        .map(|item| item.value)
        .collect();
    assert!(
        (0..SERVERS).all(|server| !values.contains(&secret(server))),
        "the keyring is clean again"
    );
    let copies = fs::read_dir(home.data_dir().join("client-backups")).expect("the folder");
    assert_eq!(copies.count(), 0, "no copy is left");
    let second_output = home.cli(&["import", "undo"]);
    assert!(
        second_output.stderr().contains("no import to undo"),
        "{}",
        second_output.stderr()
    );
}
