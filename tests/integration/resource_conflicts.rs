//! Servers whose resources or resource templates claim the same URIs.

use std::fs;

use drawbridge_tests::{FaultyServer, Home, Hub, McpClient, paths};
use serde_json::{Value, json};

/// Adds a server with these resources and templates. The server answers each read with its name,
/// and its tool `link` names `file:///linked`.
fn add_resource_server<'a>(
    hub: &'a Hub<'a>,
    name: &str,
    resources: &[&str],
    templates: &[&str],
) -> FaultyServer<'a> {
    let entries = |member: &str, uris: &[&str]| -> Value {
        uris.iter()
            .map(|uri| json!({member: uri, "name": "x"}))
            .collect()
    };
    let script = json!({
        "initialize": {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": name, "version": "1"}}},
        "tools/list": {"result": {"tools": [{"name": "link", "inputSchema": {"type": "object"}}]}},
        "tools/call": {"result": {"content": [{"type": "resource_link", "name": "x", "uri": "file:///linked"}]}},
        "resources/list": {"result": {"resources": entries("uri", resources)}},
        "resources/templates/list": {"result": {"resourceTemplates": entries("uriTemplate", templates)}},
        "resources/read": {"result": {"contents": [{"uri": "file:///x", "text": format!("of {name}")}]}},
    });
    let file = hub.home.file(&format!("{name}.script"));
    fs::write(&file, script.to_string()).expect("write the script");
    let options = ["--script", &paths::path_text(&file)];
    FaultyServer::add(hub, name, &json!({}), &options).wait_until_synced()
}

fn read_text(client: &McpClient, uri: &str) -> Value {
    let answer = client.request("resources/read", &json!({ "uri": uri }).to_string());
    answer.result()["contents"][0]["text"].clone()
}

#[test]
fn a_server_takes_no_uri_that_an_earlier_accepted_server_answers() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_resource_server(&hub, "files", &["file:///listed"], &["file:///{path}"]);
    let greedy_templates = ["{+anything}", "file:///{+path}", "file:///etc/{name}"];
    let greedy_resources = ["file:///listed", "file:///notes"];
    let greedy = add_resource_server(&hub, "a-greedy", &greedy_resources, &greedy_templates);
    let client = hub.connect_client("desk");
    let link = client.call(&greedy.exposed_name("link"), "{}");
    assert_eq!(link.result()["content"][0]["uri"], "file:///linked");
    for uri in ["listed", "notes", "etc/hosts", "linked", "any/where"] {
        let uri = format!("file:///{uri}");
        assert_eq!(read_text(&client, &uri), "of files", "{uri}");
    }
    assert_eq!(
        greedy.received_by_method("resources/read").len(),
        0,
        "no read reached the server that was accepted later"
    );
    let listed = client.request("resources/list", "{}").result();
    assert_eq!(listed["resources"].as_array().map(Vec::len), Some(1));

    let shown = home.cli(&["servers", "show", "a-greedy"]).expect_success();
    let log = home
        .cli(&["logs", "--server", "a-greedy"])
        .expect_success()
        .stdout();
    for (entry, reason) in [
        ("{+anything}", "does not begin with a literal scheme"),
        ("file:///listed", "'files', which you accepted earlier"),
        ("file:///notes", "the template 'file:///{path}' of 'files'"),
    ] {
        for output in [&shown.stdout(), &log] {
            assert!(
                output
                    .lines()
                    .any(|line| line.contains(entry) && line.contains(reason)),
                "{entry}: {output}"
            );
        }
    }
    let endpoint = format!("{}/a-greedy", hub.url);
    let direct = McpClient::connect(&endpoint, &hub.add_client("other"));
    assert_eq!(
        read_text(&direct, "file:///notes"),
        "of a-greedy",
        "the server's own endpoint asks the server"
    );
}
