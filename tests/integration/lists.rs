//! The excluded entries of a server's lists with their reasons, and the pagination of lists.

use std::fs;

use drawbridge_tests::{
    Home, Hub,
    http::{Request, Url},
    paths,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

/// Adds a server that offers only these lists, and reads it.
fn add(hub: &Hub<'_>, name: &str, lists: &Value, more: &Value) {
    let mut offer = json!({"initialize": {"result": {"protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}}, "serverInfo": {"name": name, "version": "1"}}}});
    let answers = offer.as_object_mut().expect("an object");
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
    let file = hub.home.file(&format!("{name}.offer"));
    fs::write(&file, offer.to_string()).expect("write the offer");
    let mut spec = json!({"name": name, "command": paths::path_text(paths::built_binary("upstream-faulty")),
        "args": ["--script", paths::path_text(&file)]});
    spec.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced(name);
}

/// Returns the excluded entries of a server's lists: kind, name and reason.
fn list_excluded(hub: &Hub<'_>, name: &str) -> Vec<(String, String, String)> {
    let text = |entry: &Value, member: &str| entry[member].as_str().expect("a text").to_owned();
    let view = hub.show_server(name);
    let entries = view["excluded"]["entries"].as_array().expect("entries");
    entries
        .iter()
        .map(|entry| (text(entry, "kind"), text(entry, "name"), text(entry, "why")))
        .collect()
}

#[test]
fn each_excluded_entry_is_shown_with_its_reason_wherever_the_server_is_shown() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let tools = json!([
        tool("good"),
        {"name": "big", "description": "x".repeat(300_000), "inputSchema": {"type": "object"}},
        {"title": "nameless", "inputSchema": {"type": "object"}},
        {"name": "odd", "description": 5, "inputSchema": {"type": "object"}},
        {"name": "hinted", "annotations": {"readOnlyHint": "yes"}, "inputSchema": {"type": "object"}},
        {"name": "remote", "inputSchema": {"$ref": "https://example.com/t.json"}},
        tool("good"),
        "no object",
        tool("unwanted"),
    ]);
    let prompts = json!([{"name": "greet"}, {"name": 7}]);
    let lists =
        json!({"tools": tools, "prompts": prompts, "resources": [{"name": "without a URI"}]});
    add(&hub, "messy", &lists, &json!({"allowed_tools": ["good"]}));
    let expected = [
        ("tools", "big", "at most 262144 are allowed"),
        ("tools", "entry 3 of tools/list", "it has no 'name'"),
        ("tools", "odd", "its 'description' is invalid"),
        ("tools", "hinted", "its 'annotations' is invalid"),
        (
            "tools",
            "remote",
            "'https://example.com/t.json', which Drawbridge would have to fetch",
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
    let is_as_expected = |hub: &Hub<'_>| {
        let found = list_excluded(hub, "messy");
        assert_eq!(
            found.len(),
            expected.len(),
            "what the person does not want is no problem: {found:?}"
        );
        for ((kind, name, why), (its_kind, its_name, its_why)) in expected.iter().zip(&found) {
            assert!(
                kind == its_kind && name == its_name && its_why.contains(why),
                "{kind} {name} {why}: {found:?}"
            );
        }
        let logged = home
            .cli(&["logs", "--server", "messy"])
            .expect_success()
            .stdout();
        for (_, name, why) in &expected {
            let has =
                |line: &str| line.contains("excluded") && line.contains(name) && line.contains(why);
            assert!(logged.lines().any(has), "{name}: {logged}");
        }
    };
    is_as_expected(&hub);
    assert_eq!(
        hub.connect_client("desk").list_tools(),
        ["messy__good"],
        "the others are not touched by that"
    );
    for command in [
        ["servers", "show", "messy"],
        ["servers", "sync", "messy"],
        ["servers", "verify", "messy"],
    ] {
        let printed = home.cli(&command).expect_success().stdout();
        for (_, name, why) in expected
            .iter()
            .filter(|(kind, ..)| command[1] != "verify" || *kind == "tools")
        {
            assert!(
                printed
                    .lines()
                    .any(|line| line.contains(name) && line.contains(why)),
                "{name}: {printed}"
            );
        }
        assert!(
            !printed.contains("unwanted  ") || command[1] != "sync",
            "{printed}"
        );
    }
    let printed = home
        .cli(&["servers", "sync", "messy"])
        .expect_success()
        .stdout();
    assert!(
        printed.contains("9 entries of this server's lists are excluded"),
        "{printed}"
    );
    let times = home
        .cli(&["logs", "--server", "messy", "--text", "excluded tool big"])
        .expect_success()
        .stdout()
        .lines()
        .count();
    assert_eq!(times, 1, "what is the same as before is not logged again");
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    is_as_expected(&hub);
    assert_eq!(
        hub.show_server("messy")["starts"],
        0,
        "it is remembered, and nothing was started for it"
    );
}

#[test]
fn an_unprefixed_name_of_another_server_is_shown_as_excluded() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add(
        &hub,
        "first",
        &json!({"tools": [tool("search")]}),
        &json!({"prefix": ""}),
    );
    add(
        &hub,
        "second",
        &json!({"tools": [tool("search"), tool("tool_call"), tool("own")]}),
        &json!({"prefix": ""}),
    );
    assert_eq!(list_excluded(&hub, "first"), []);
    let found = list_excluded(&hub, "second");
    assert!(
        found.len() == 2
            && found[0].1 == "search"
            && found[0].2.contains("'first' already uses this name"),
        "{found:?}"
    );
    assert!(
        found[1].1 == "tool_call" && found[1].2.contains("give the server a prefix"),
        "{found:?}"
    );
    let logged = home
        .cli(&["logs", "--server", "second"])
        .expect_success()
        .stdout();
    assert!(
        logged.contains("excluded tool search: 'first' already uses this name"),
        "{logged}"
    );
}

#[test]
fn a_hundred_excluded_entries_are_listed_and_the_others_counted() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let name = |n: usize| format!("{n}{}", "é".repeat(5_000));
    let tools: Vec<Value> = (0..150)
        .map(|n| json!({"name": name(n), "description": n}))
        .collect();
    add(&hub, "flood", &json!({"tools": tools}), &json!({}));
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
        list_excluded(&hub, "flood")[0].1.chars().count() <= 201,
        "long names are cut"
    );
    let printed = home
        .cli(&["servers", "sync", "flood"])
        .expect_success()
        .stdout();
    assert!(
        printed.contains("150 entries") && printed.contains("and 50 more"),
        "{printed}"
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
    let ask = |method: &str, cursor: Value| {
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
            ask(method, json!("abc"))["error"]["code"],
            -32602,
            "{method}"
        );
        assert_eq!(
            ask(method, Value::Null)["result"]["resultType"],
            "complete",
            "{method}"
        );
    }
}
