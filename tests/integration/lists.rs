//! The excluded entries of a server's lists with their reasons, and the pagination of lists.

use std::fs;

use drawbridge_tests::{
    Home, Hub,
    http::{Request, Url},
    paths,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

fn tool_definition(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

/// Adds a server that offers only these lists, and waits until it is synced.
fn add_scripted_server(hub: &Hub<'_>, name: &str, lists: &Value, extra_fields: &Value) {
    let mut script = json!({"initialize": {"result": {"protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}}, "serverInfo": {"name": name, "version": "1"}}}});
    let answers = script.as_object_mut().expect("an object");
    for (list, entries) in lists.as_object().expect("lists") {
        let method = if list == "resourceTemplates" {
            "resources/templates".to_owned()
        } else {
            list.clone()
        };
        let mut result = serde_json::Map::new();
        result.insert(list.clone(), entries.clone());
        answers.insert(format!("{method}/list"), json!({"result": result}));
    }
    let file = hub.home.file(&format!("{name}.script"));
    fs::write(&file, script.to_string()).expect("write the script");
    let mut spec = json!({"name": name, "command": paths::path_text(paths::built_binary("upstream-faulty")),
        "args": ["--script", paths::path_text(&file)]});
    spec.as_object_mut()
        .expect("an object")
        .extend(extra_fields.as_object().expect("an object").clone());
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced(name);
}

/// An excluded entry of a server's lists.
#[derive(Debug, PartialEq, Eq)]
struct ExcludedEntry {
    kind: String,
    name: String,
    reason: String,
}

/// Returns the excluded entries of a server's lists.
fn list_excluded(hub: &Hub<'_>, name: &str) -> Vec<ExcludedEntry> {
    let text_member =
        |entry: &Value, member: &str| entry[member].as_str().expect("a text").to_owned();
    let view = hub.show_server(name);
    let entries = view["excluded"]["entries"].as_array().expect("entries");
    entries
        .iter()
        .map(|entry| ExcludedEntry {
            kind: text_member(entry, "kind"),
            name: text_member(entry, "name"),
            reason: text_member(entry, "reason"),
        })
        .collect()
}

#[test]
fn each_excluded_entry_is_shown_with_its_reason_wherever_the_server_is_shown() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let tools = json!([
        tool_definition("good"),
        {"name": "big", "description": "x".repeat(300_000), "inputSchema": {"type": "object"}},
        {"title": "nameless", "inputSchema": {"type": "object"}},
        {"name": "odd", "description": 5, "inputSchema": {"type": "object"}},
        {"name": "hinted", "annotations": {"readOnlyHint": "yes"}, "inputSchema": {"type": "object"}},
        {"name": "remote", "inputSchema": {"$ref": "https://example.com/t.json"}},
        tool_definition("good"),
        "no object",
        tool_definition("unwanted"),
    ]);
    let prompts = json!([{"name": "greet"}, {"name": 7}]);
    let lists =
        json!({"tools": tools, "prompts": prompts, "resources": [{"name": "without a URI"}]});
    add_scripted_server(&hub, "messy", &lists, &json!({"allowed_tools": ["good"]}));
    let expected = [
        ("tools", "big", "at most 262144 are allowed"),
        ("tools", "entry 3 of tools/list", "it has no 'name'"),
        ("tools", "odd", "its 'description' is invalid"),
        ("tools", "hinted", "its 'annotations' is invalid"),
        (
            "tools",
            "remote",
            "'https://example.com/t.json', which is a remote document; Drawbridge does not fetch schemas",
        ),
        ("tools", "good", "an earlier tool has the same 'name'"),
        (
            "tools",
            "entry 8 of tools/list",
            "its definition cannot be read",
        ),
        ("prompts", "entry 2 of prompts/list", "it has no 'name'"),
        ("resources", "entry 1 of resources/list", "it has no 'uri'"),
    ];
    let assert_all_reported = |hub: &Hub<'_>| {
        let excluded = list_excluded(hub, "messy");
        assert_eq!(
            excluded.len(),
            expected.len(),
            "a tool that the spec does not allow is not reported: {excluded:?}"
        );
        for ((kind, name, reason), entry) in expected.iter().zip(&excluded) {
            assert!(
                entry.kind == *kind && entry.name == *name && entry.reason.contains(reason),
                "{kind} {name} {reason}: {excluded:?}"
            );
        }
        let log = home
            .cli(&["logs", "--server", "messy"])
            .expect_success()
            .stdout();
        for (_, name, reason) in &expected {
            let reports_entry = |line: &str| {
                line.contains("excluded") && line.contains(name) && line.contains(reason)
            };
            assert!(log.lines().any(reports_entry), "{name}: {log}");
        }
    };
    assert_all_reported(&hub);
    assert_eq!(
        hub.connect_client("desk").list_tools(),
        ["messy__good"],
        "the valid tools are listed"
    );
    for command in [
        ["servers", "show", "messy"],
        ["servers", "sync", "messy"],
        ["servers", "verify", "messy"],
    ] {
        let output = home.cli(&command).expect_success().stdout();
        for (_, name, reason) in expected
            .iter()
            .filter(|(kind, ..)| command[1] != "verify" || *kind == "tools")
        {
            assert!(
                output
                    .lines()
                    .any(|line| line.contains(name) && line.contains(reason)),
                "{name}: {output}"
            );
        }
        // The tools that a sync prints do not include a tool that the spec does not allow.
        assert!(
            !output.contains("unwanted  ") || command[1] != "sync",
            "{output}"
        );
    }
    let output = home
        .cli(&["servers", "sync", "messy"])
        .expect_success()
        .stdout();
    assert!(
        output.contains("9 entries of this server's lists are excluded"),
        "{output}"
    );
    let log_count = home
        .cli(&["logs", "--server", "messy", "--text", "excluded tool big"])
        .expect_success()
        .stdout()
        .lines()
        .count();
    assert_eq!(log_count, 1, "an unchanged problem is logged only once");
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    assert_all_reported(&hub);
    assert_eq!(
        hub.show_server("messy")["starts"],
        0,
        "the excluded entries are known without starting the server"
    );
}

#[test]
fn an_unprefixed_name_of_another_server_is_shown_as_excluded() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_scripted_server(
        &hub,
        "first",
        &json!({"tools": [tool_definition("search")]}),
        &json!({"prefix": ""}),
    );
    add_scripted_server(
        &hub,
        "second",
        &json!({"tools": [tool_definition("search"), tool_definition("tool_call"), tool_definition("own")]}),
        &json!({"prefix": ""}),
    );
    assert_eq!(list_excluded(&hub, "first"), []);
    let excluded = list_excluded(&hub, "second");
    assert!(
        excluded.len() == 2
            && excluded[0].name == "search"
            && excluded[0]
                .reason
                .contains("'first' already uses this name"),
        "{excluded:?}"
    );
    assert!(
        excluded[1].name == "tool_call" && excluded[1].reason.contains("give the server a prefix"),
        "{excluded:?}"
    );
    let log = home
        .cli(&["logs", "--server", "second"])
        .expect_success()
        .stdout();
    assert!(
        log.contains("excluded tool search: 'first' already uses this name"),
        "{log}"
    );
}

#[test]
fn a_hundred_excluded_entries_are_listed_and_the_others_counted() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let long_name = |number: usize| format!("{number}{}", "é".repeat(5_000));
    let tools: Vec<Value> = (0..150)
        .map(|number| json!({"name": long_name(number), "description": number}))
        .collect();
    add_scripted_server(&hub, "flood", &json!({"tools": tools}), &json!({}));
    let view = hub.show_server("flood");
    assert_eq!(
        view["excluded"]["entries"]
            .as_array()
            .expect("entries")
            .len(),
        100
    );
    assert_eq!(view["excluded"]["more"], 50);
    assert!(
        list_excluded(&hub, "flood")[0].name.chars().count() <= 201,
        "long names are truncated"
    );
    let output = home
        .cli(&["servers", "sync", "flood"])
        .expect_success()
        .stdout();
    assert!(
        output.contains("150 entries") && output.contains("and 50 more"),
        "{output}"
    );
}

const LISTS: [&str; 4] = [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
];

#[test]
fn an_unknown_cursor_is_rejected_and_null_means_none() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = hub.connect_client("desk");
    for method in LISTS {
        for params in [r#"{"cursor":"abc"}"#, r#"{"cursor":""}"#, r#"{"cursor":7}"#] {
            let answer = client.request(method, params);
            assert_eq!(
                answer.error_code(),
                Some(-32602),
                "{method} {params}: {}",
                answer.raw
            );
        }
        for params in ["{}", r#"{"cursor":null}"#] {
            assert_eq!(
                client.request(method, params).error(),
                None,
                "{method} {params}"
            );
        }
    }
}

#[test]
fn an_unknown_cursor_of_a_stateless_client_is_rejected() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (url, bearer) = (
        Url::parse(&hub.url),
        format!("Bearer {}", hub.add_client("modern")),
    );
    let request_list = |method: &str, cursor: Value| {
        let mut params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}});
        params["cursor"] = cursor;
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        let response = Request {
            method: "POST",
            url: &url,
            headers: &headers,
            body: body.as_bytes(),
        }
        .send();
        let text = response.expect("an answer").text().expect("a text");
        serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    };
    for method in LISTS {
        assert_eq!(
            request_list(method, json!("abc"))["error"]["code"],
            -32602,
            "{method}"
        );
        assert_eq!(
            request_list(method, Value::Null)["result"]["resultType"],
            "complete",
            "{method}"
        );
    }
}
