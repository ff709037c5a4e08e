//! Project folders: the folder in which a client works determines which tools it sees, and which
//! rules apply to its calls.

use std::fs;

use drawbridge_tests::{Bridge, Home, Hub, McpClient, StatelessClient, paths};
use serde_json::{Value, json};

fn list_tools(bridge: &mut Bridge, id: u64) -> Vec<String> {
    let answer = bridge.request(id, "tools/list", &json!({}));
    tool_names(&answer["result"])
}

fn tool_names(result: &Value) -> Vec<String> {
    let tools = result["tools"].as_array().expect("a list of tools");
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// Adds the probe twice: as `probe` and as `other`.
fn add_servers(hub: &Hub<'_>) {
    hub.add_probe(&[]);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    hub.add_server("other", &[], &[&program]);
    hub.wait_until_synced("other");
}

fn has_server(tools: &[String], server: &str) -> bool {
    tools
        .iter()
        .any(|tool| tool.starts_with(&format!("{server}__")))
}

#[test]
fn a_bridge_sees_the_servers_of_the_folder_in_which_it_was_started() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_servers(&hub);
    let [work, inner] = ["work", "work/inner"].map(|name| home.file(name));
    fs::create_dir_all(inner.join("deep")).expect("make the folders");
    let set = |name: &str, server: &str, folder: &std::path::Path| {
        let folder = paths::path_text(folder);
        home.cli(&["profiles", "set", name, server, "--folder", &folder])
            .expect_success();
    };
    set("work", "probe", &work);
    set("inner", "other", &inner);

    let mut at_work = Bridge::open_in(&home, "editor", &work);
    let tools = list_tools(&mut at_work, 2);
    assert!(
        has_server(&tools, "probe") && !has_server(&tools, "other"),
        "{tools:?}"
    );
    let mut deep = Bridge::open_in(&home, "editor", &inner.join("deep"));
    let tools = list_tools(&mut deep, 2);
    assert!(
        has_server(&tools, "other") && !has_server(&tools, "probe"),
        "the longest folder wins: {tools:?}"
    );
    let mut elsewhere = Bridge::open_in(&home, "editor", home.path());
    let tools = list_tools(&mut elsewhere, 2);
    assert!(
        has_server(&tools, "probe") && has_server(&tools, "other"),
        "{tools:?}"
    );

    home.cli(&["profiles", "remove", "work", "--yes"])
        .expect_success();
    let tools = list_tools(&mut at_work, 3);
    assert!(
        has_server(&tools, "other"),
        "without its profile, the folder is like any other: {tools:?}"
    );
}

#[test]
fn http_clients_name_their_folder_in_the_url() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_servers(&hub);
    let work = home.file("my work");
    fs::create_dir_all(&work).expect("make the folder");
    let folder = paths::path_text(&work);
    home.cli(&["profiles", "set", "work", "probe", "--folder", &folder])
        .expect_success();
    let token = hub.add_client("desk");
    let encoded = folder.replace(' ', "%20");

    let in_url = McpClient::connect(&format!("{}?project={encoded}/src", hub.url), &token);
    assert!(
        !has_server(&in_url.list_tools(), "other"),
        "{:?}",
        in_url.list_tools()
    );
    let elsewhere = McpClient::connect(&hub.url, &token);
    assert!(has_server(&elsewhere.list_tools(), "other"));

    // A stateless client: the lists depend on each request's URL alone.
    let stateless =
        StatelessClient::new(&format!("{}?project={encoded}", hub.url), &token, json!({}));
    let listed = tool_names(&stateless.request("tools/list", &json!({})).result());
    assert!(!has_server(&listed, "other"), "{listed:?}");
    let stateless = StatelessClient::new(&hub.url, &token, json!({}));
    let listed = tool_names(&stateless.request("tools/list", &json!({})).result());
    assert!(has_server(&listed, "other"), "{listed:?}");
}

#[test]
fn one_rule_covers_the_project_folders_of_all_clients() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    for name in ["one", "two"] {
        fs::create_dir_all(home.file(name)).expect("make the folder");
        let folder = paths::path_text(home.file(name));
        home.cli(&["profiles", "set", name, "probe", "--folder", &folder])
            .expect_success();
    }
    hub.set_policy("*", "deny");
    home.cli(&["policy", "remove", "*"]).expect_success();
    home.cli(&["policy", "default", "deny"]).expect_success();
    home.cli(&[
        "policy",
        "add",
        "probe/echo",
        "allow",
        "--when",
        "/path in $project",
    ])
    .expect_success();
    let call = |bridge: &mut Bridge, id: u64, path: &str| {
        let path = paths::path_text(home.file(path));
        let params = json!({"name": "probe__echo", "arguments": {"path": path}});
        let answer = bridge.request(id, "tools/call", &params);
        answer["result"]["isError"] != json!(true)
    };
    for (number, (own, foreign)) in [("one", "two"), ("two", "one")].into_iter().enumerate() {
        let mut bridge = Bridge::open_in(&home, &format!("editor{number}"), &home.file(own));
        assert!(
            call(&mut bridge, 2, &format!("{own}/a.txt")),
            "in its own project"
        );
        assert!(
            !call(&mut bridge, 3, &format!("{foreign}/a.txt")),
            "in another project"
        );
        assert!(!call(&mut bridge, 4, &format!("{own}/../{foreign}/a.txt")));
    }
    let mut elsewhere = Bridge::open_in(&home, "editor", home.path());
    assert!(
        !call(&mut elsewhere, 2, "one/a.txt"),
        "a client that works in no project has no project folder"
    );
}
