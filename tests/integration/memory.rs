//! The built-in memory server: the decisions and records of its calls, its entries per user, its
//! limits, its switch, and the commands with which a person manages the entries.

use drawbridge_tests::{
    Home, Hub, McpClient, StatelessClient, http::Request, http::Url, hub, store, wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const TOOLS: [&str; 3] = ["list_categories", "retrieve_memory", "store_memory"];

/// Creates a home whose hub has the memory server enabled, as for a new user.
fn home_with_memory() -> Home {
    let mut home = Home::new();
    home.set_variable("DRAWBRIDGE_DISABLED_BUILT_INS", "");
    home
}

fn wait_for_tools(client: &McpClient) {
    wait_until("the tools of the memory are listed", || {
        some_if(sorted_tools(client) == TOOLS)
    });
}

fn sorted_tools(client: &McpClient) -> Vec<String> {
    let mut tools = client.list_tools();
    tools.sort();
    tools
}

/// Waits until the audit log has this number of entries of a kind. Entries about changes are
/// written in the background.
#[track_caller]
fn wait_for_audit(home: &Home, kind: &str, count: usize) {
    wait_until(format!("the audit log has {count} entries {kind}"), || {
        let kinds = store::read_audit_kinds(&home.data_dir()).ok()?;
        some_if(kinds.iter().filter(|found| *found == kind).count() == count)
    });
}

/// Adds a client of a user and returns its token.
fn add_client_of(hub: &Hub<'_>, client: &str, user: &str) -> String {
    let added = hub
        .home
        .cli(&["clients", "add", client, "--user", user, "--json"])
        .expect_json();
    added["token"].as_str().expect("a token").to_owned()
}

/// Calls a tool and returns its structured result.
#[track_caller]
fn call(client: &McpClient, tool: &str, arguments: &Value) -> Value {
    let answer = client.call(tool, &arguments.to_string());
    assert!(!answer.is_error(), "{}", answer.raw);
    let result = answer.result();
    let text: Value = serde_json::from_str(&answer.text()).expect("the text is the same as JSON");
    assert_eq!(text, result["structuredContent"]);
    text
}

#[track_caller]
fn retrieve_contents(client: &McpClient, arguments: &Value) -> Vec<String> {
    let result = call(client, "retrieve_memory", arguments);
    let entries = result["entries"].as_array().expect("entries");
    entries
        .iter()
        .map(|entry| entry["content"].as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn a_call_of_the_memory_waits_for_a_person_and_is_recorded() {
    let home = home_with_memory();
    let hub = Hub::serve(&home);
    let client = hub.connect_client("claude");
    wait_for_tools(&client);
    let stored = client.spawn_call("store_memory", r#"{"content":"The user likes tea"}"#);
    let approval = hub.wait_for_approval();
    assert_eq!(approval["server"], "memory");
    assert_eq!(approval["tool"], "store_memory");
    let id = approval["id"].as_str().expect("an id");
    home.cli(&["approvals", "approve", id]).expect_success();
    let stored = stored.join().expect("an answer");
    assert_eq!(stored.result()["structuredContent"]["category"], "general");

    hub.set_policy("memory/list_categories", "allow");
    let categories = call(&client, "list_categories", &json!({}));
    assert_eq!(categories["categories"][0]["entries"], 1);
    hub.set_policy("memory/retrieve_memory", "deny");
    let denied = client.call("retrieve_memory", "{}");
    assert!(denied.is_error(), "{}", denied.raw);

    hub.stop(Signal::SIGTERM);
    let calls = store::read_calls(&home.data_dir()).expect("calls");
    let recorded: Vec<_> = calls
        .iter()
        .map(|call| {
            (
                call.server.as_str(),
                call.tool.as_str(),
                call.decision.as_str(),
                call.outcome.as_str(),
            )
        })
        .collect();
    assert_eq!(
        recorded,
        [
            ("memory", "store_memory", "allowed", "ok"),
            ("memory", "list_categories", "allowed", "ok"),
            ("memory", "retrieve_memory", "denied", "not_sent"),
        ]
    );
    home.cli(&["audit", "verify"]).expect_success();
}

#[test]
fn users_do_not_see_the_entries_of_each_other() {
    let home = home_with_memory();
    let hub = Hub::serve(&home);
    hub.set_policy("memory", "allow");
    let connect = |token: &str| McpClient::connect(&hub.url, token);
    let anna = connect(&add_client_of(&hub, "anna-desk", "anna"));
    let phone_token = add_client_of(&hub, "anna-phone", "anna");
    let annas_phone = connect(&phone_token);
    let ben = connect(&add_client_of(&hub, "ben-desk", "ben"));
    wait_for_tools(&anna);
    call(
        &anna,
        "store_memory",
        &json!({"content": "The safe's code is 4711", "category": "House", "tags": ["Secret"]}),
    );
    call(
        &ben,
        "store_memory",
        &json!({"content": "The safe is green", "category": "art"}),
    );

    assert_eq!(
        retrieve_contents(&annas_phone, &json!({"query": "safe"})),
        ["The safe's code is 4711"]
    );
    assert_eq!(
        retrieve_contents(&ben, &json!({"query": "safe code 4711"})),
        ["The safe is green"]
    );
    for filter in [json!({"category": "house"}), json!({"tags": ["secret"]})] {
        assert_eq!(
            retrieve_contents(&ben, &filter),
            Vec::<String>::new(),
            "{filter}"
        );
        assert_eq!(
            retrieve_contents(&anna, &filter),
            ["The safe's code is 4711"],
            "{filter}"
        );
    }
    let names = |client| {
        let listed = call(client, "list_categories", &json!({}));
        listed["categories"][0]["name"].clone()
    };
    assert_eq!((names(&anna), names(&ben)), (json!("house"), json!("art")));
    let health = hub.run_verb("health.show", &json!({}));
    assert_eq!(health["storage"]["active_users"], 2);

    // A client that is given to another user has to connect again, and sees that user's entries.
    home.cli(&["clients", "user", "anna-phone", "ben"])
        .expect_success();
    let refused = annas_phone.try_request("tools/list", "{}");
    assert!(refused.is_err() || refused.is_ok_and(|answer| answer.error().is_some()));
    assert_eq!(
        retrieve_contents(&connect(&phone_token), &json!({"query": "safe"})),
        ["The safe is green"]
    );
    let clients = home.cli(&["clients", "list", "--json"]).expect_json();
    let phone = clients.as_array().expect("clients").iter();
    let mut phone = phone.filter(|client| client["name"] == "anna-phone");
    assert_eq!(phone.next().expect("a client")["user"], "ben");
    wait_for_audit(&home, "client_changed", 1);
}

#[test]
fn a_model_searches_filters_and_pages_through_the_memory() {
    let home = home_with_memory();
    let hub = Hub::serve(&home);
    hub.set_policy("memory", "allow");
    let client = hub.connect_client("claude");
    wait_for_tools(&client);
    for number in 1..=5 {
        let content = format!("Note number {number}");
        call(
            &client,
            "store_memory",
            &json!({"content": content, "tags": ["note"]}),
        );
    }
    let second_answer = call(
        &client,
        "store_memory",
        &json!({"content": "Note number 5", "tags": ["note"]}),
    );
    assert_eq!(
        second_answer["is_new"], false,
        "the same content is stored once"
    );

    let first_page = call(
        &client,
        "retrieve_memory",
        &json!({"tags": ["note"], "limit": 3}),
    );
    let cursor = first_page["next_cursor"].as_str().expect("there are more");
    call(
        &client,
        "store_memory",
        &json!({"content": "Another note", "tags": ["note"]}),
    );
    let rest = retrieve_contents(
        &client,
        &json!({"tags": ["note"], "limit": 3, "cursor": cursor}),
    );
    assert_eq!(rest, ["Note number 2", "Note number 1"]);

    for query in [
        "\"unbalanced",
        "a AND",
        "NEAR(",
        "content: *",
        "-",
        "number*",
    ] {
        let answer = client.call("retrieve_memory", &json!({"query": query}).to_string());
        let expects_error = !query.chars().any(char::is_alphanumeric);
        assert_eq!(answer.is_error(), expects_error, "{query}: {}", answer.raw);
    }
    assert_eq!(
        retrieve_contents(&client, &json!({"since": "2100-01-01"})),
        Vec::<String>::new()
    );
    let contents = retrieve_contents(
        &client,
        &json!({"until": "2100-01-01T00:00:00Z", "limit": 50}),
    );
    assert_eq!(contents.len(), 6);
}

#[test]
fn bad_arguments_get_an_error_that_names_the_problem() {
    let home = home_with_memory();
    let hub = Hub::serve(&home);
    hub.set_policy("memory", "allow");
    let client = hub.connect_client("claude");
    wait_for_tools(&client);
    let tags: Vec<_> = (0..17).map(|tag| tag.to_string()).collect();
    let refused = [
        ("store_memory", json!({}), "content"),
        (
            "store_memory",
            json!({"content": "x".repeat(16 * 1024 + 1)}),
            "16384",
        ),
        ("store_memory", json!({"content": " "}), "empty"),
        (
            "store_memory",
            json!({"content": "x", "category": "\n"}),
            "a category",
        ),
        (
            "store_memory",
            json!({"content": "x", "tags": tags}),
            "tags",
        ),
        (
            "store_memory",
            json!({"content": "x", "user": "ben"}),
            "user",
        ),
        ("retrieve_memory", json!({"limit": 51}), "50"),
        ("retrieve_memory", json!({"cursor": "7"}), "next_cursor"),
        (
            "retrieve_memory",
            json!({"since": "yesterday"}),
            "2026-01-31",
        ),
        (
            "retrieve_memory",
            json!({"until": "2026-01-31T12:00:00"}),
            "2026-01-31T12:00:00Z",
        ),
        ("retrieve_memory", json!({"query": "?!"}), "no letters"),
        ("list_categories", json!({"user": "ben"}), "user"),
    ];
    for (tool, arguments, reason) in refused {
        let answer = client.call(tool, &arguments.to_string());
        let message = match answer.error() {
            Some(error) => error.to_string(),
            None => {
                assert!(answer.is_error(), "{arguments}: {}", answer.raw);
                answer.text()
            }
        };
        assert!(message.contains(reason), "{arguments}: {message}");
    }
    assert_eq!(
        retrieve_contents(&client, &json!({})),
        Vec::<String>::new(),
        "nothing was stored"
    );
}

#[test]
fn the_switch_hides_the_tools_and_keeps_the_entries() {
    let home = home_with_memory();
    let hub = Hub::serve(&home);
    hub.set_policy("memory", "allow");
    let token = hub.add_client("claude");
    let client = McpClient::connect(&hub.url, &token);
    wait_for_tools(&client);
    call(&client, "store_memory", &json!({"content": "kept"}));
    let health = hub.run_verb("health.show", &json!({}));
    assert_eq!(health["builtin_tools"]["total"], 3);
    assert_eq!(
        health["registry"],
        json!({"servers_total": 0, "servers_enabled": 0})
    );

    home.cli(&["servers", "disable", "memory"]).expect_success();
    assert_eq!(client.list_tools(), Vec::<String>::new());
    let refused = client.call("retrieve_memory", "{}");
    assert!(refused.error_code().is_some(), "{}", refused.raw);
    assert_eq!(
        hub.run_verb("health.show", &json!({}))["builtin_tools"]["total"],
        0
    );
    hub.stop(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    assert_eq!(
        client.list_tools(),
        Vec::<String>::new(),
        "still off after a restart"
    );
    home.cli(&["servers", "enable", "memory"]).expect_success();
    wait_for_tools(&client);
    assert_eq!(retrieve_contents(&client, &json!({})), ["kept"]);
    for command in [
        ["servers", "remove", "memory"].as_slice(),
        &["servers", "set", "memory", "command=evil"],
    ] {
        let refused = home.cli(command);
        assert_ne!(refused.exit_code(), 0);
        assert!(
            refused.stderr().contains("built into Drawbridge"),
            "{}",
            refused.stderr()
        );
    }
    wait_for_audit(&home, "server_changed", 2);
}

#[test]
fn a_built_in_server_has_no_endpoint_and_no_file_of_its_own() {
    let home = home_with_memory();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub::write_spec(&home, "memory", r#"{"command": "evil"}"#);
    hub::write_spec(&home, "claims", r#"{"builtin": "memory"}"#);
    let broken = wait_until("both files are refused", || {
        let servers = home.cli(&["servers", "list", "--json"]).expect_json();
        let broken = servers["broken"].as_array()?.clone();
        some_if(broken.len() == 2).map(|()| broken)
    });
    assert!(
        broken[0]["message"]
            .as_str()
            .is_some_and(|reason| reason.contains("'builtin' is only for"))
    );
    assert!(
        broken[1]["message"]
            .as_str()
            .is_some_and(|reason| reason.contains("rename the file"))
    );
    let token = hub.add_client("claude");
    let client = McpClient::connect(&hub.url, &token);
    wait_until("the memory and the probe are listed", || {
        let tools = client.list_tools();
        some_if(
            tools.iter().any(|tool| tool == "store_memory")
                && tools.iter().any(|tool| tool == "probe__echo"),
        )
    });
    let only_probe = McpClient::connect(&format!("{}/probe", hub.url), &token);
    assert!(
        !only_probe
            .list_tools()
            .iter()
            .any(|tool| TOOLS.contains(&tool.as_str()))
    );

    let url = Url::parse(&format!("{}/memory", hub.url));
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let response = Request {
        method: "POST",
        url: &url,
        headers: &headers,
        body,
    };
    let response = response.send().expect("an answer");
    assert_eq!(response.status, 404);
    let text = response.text().expect("a body");
    assert!(text.contains("built into Drawbridge"), "{text}");
}

#[test]
fn a_client_of_the_modern_era_uses_the_memory() {
    let home = home_with_memory();
    let hub = Hub::serve(&home);
    hub.set_policy("memory", "allow");
    let client = StatelessClient::new(&hub.url, &hub.add_client("modern"), json!({}));
    wait_until("the tools of the memory are listed", || {
        let tools = client.request("tools/list", &json!({})).tool_names();
        some_if(tools.len() == TOOLS.len())
    });
    let stored = client.call("store_memory", &json!({"content": "from the modern era"}));
    assert_eq!(
        stored.result()["structuredContent"]["is_new"],
        true,
        "{}",
        stored.raw
    );
    let answer = client.call("retrieve_memory", &json!({"query": "modern"}));
    assert_eq!(
        answer.result()["structuredContent"]["entries"][0]["content"],
        "from the modern era"
    );
}

#[test]
fn a_person_manages_the_memory_without_a_running_hub() {
    let home = home_with_memory();
    let memory = |arguments: &[&str]| home.cli(&[&["memory"], arguments].concat());
    let added = memory(&[
        "add",
        "Likes tea",
        "--user",
        "anna",
        "--tag",
        "drink",
        "--json",
    ])
    .expect_json();
    let id = added["id"].to_string();
    memory(&[
        "edit",
        &id,
        "--content",
        "Likes green tea",
        "--category",
        "Drinks",
    ])
    .expect_success();
    memory(&["add", "Likes coffee"]).expect_success();
    let shown = memory(&["show", &id, "--json"]).expect_json();
    assert_eq!(shown["content"], "Likes green tea");
    assert_eq!(
        (&shown["category"], &shown["tags"]),
        (&json!("drinks"), &json!(["drink"]))
    );
    let page = memory(&["list", "--query", "green", "--json"]).expect_json();
    assert_eq!(page["entries"].as_array().map(Vec::len), Some(1));
    let categories = memory(&["categories", "--json"]).expect_json();
    assert_eq!(categories.as_array().map(Vec::len), Some(2));

    let file = home.file("export.json");
    let path = file.display().to_string();
    memory(&["export", "--output", &path]).expect_success();
    let exported = std::fs::read_to_string(&file).expect("a file");
    let exported: Vec<Value> = serde_json::from_str(&exported).expect("JSON");
    assert_eq!(exported.len(), 2);

    let unasked = memory(&["delete", &id]);
    assert_ne!(unasked.exit_code(), 0, "nobody confirmed the deletion");
    memory(&["delete", &id, "--yes"]).expect_success();
    let missing = memory(&["show", &id]);
    assert!(
        missing.stderr().contains("no entry"),
        "{}",
        missing.stderr()
    );
}
