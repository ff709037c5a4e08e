//! Resources that no list and no template contains: they are read from the server that linked to
//! them.

use std::fs;

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, StatelessClient, mcp::Answer, paths, wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

/// A URI that both servers of a test serve and neither lists.
const DOC: &str = "shared://doc";

/// The codes of "Resource not found" in the legacy era and in the modern era.
const NOT_FOUND: [Option<i64>; 2] = [Some(-32002), Some(-32602)];

fn uri_params(uri: &str) -> String {
    json!({ "uri": uri }).to_string()
}

fn read_resource(client: &McpClient, uri: &str) -> Answer {
    client.request("resources/read", &uri_params(uri))
}

fn content_text(answer: &Answer) -> Value {
    answer.result()["contents"][0]["text"].clone()
}

/// Adds a server with unlisted resources. Its tool, its prompt and its update notification each
/// name one of these resources.
fn add_linking_server<'a>(hub: &'a Hub<'a>, name: &str) -> FaultyServer<'a> {
    let tool = json!({"name": "link", "inputSchema": {"type": "object"}});
    let capabilities =
        json!({"tools": {}, "prompts": {}, "completions": {}, "resources": {"subscribe": true}});
    let script = json!({
        "initialize": {"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "serverInfo": {"name": name, "version": "1"}}},
        "tools/list": {"result": {"tools": [tool]}},
        "tools/call": {"result": {"content": [{"type": "resource_link", "name": "doc", "uri": DOC}]}},
        "prompts/list": {"result": {"prompts": [{"name": "embed"}]}},
        "prompts/get": {"result": {"messages": [{"role": "user", "content":
            {"type": "resource", "resource": {"uri": format!("{name}://embedded"), "text": "t"}}}]}},
        "resources/list": {"result": {"resources": []}},
        "resources/templates/list": {"result": {"resourceTemplates": []}},
        "resources/read": {"result": {"contents": [
            {"uri": DOC, "text": format!("of {name}")}, {"uri": format!("{name}://part"), "text": "t"}]}},
        "resources/subscribe": {"result": {}},
        "resources/unsubscribe": {"result": {}},
        "completion/complete": {"result": {"completion": {"values": [name]}}},
        "notifications": [{"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": DOC}}],
    });
    let file = hub.home.file(&format!("{name}.script"));
    fs::write(&file, script.to_string()).expect("write the script");
    FaultyServer::add(
        hub,
        name,
        &json!({}),
        &["--script", &paths::path_text(&file)],
    )
    .wait_until_synced()
}

fn count_reads(server: &FaultyServer<'_>, uri: &str) -> usize {
    server
        .received_by_method("resources/read")
        .iter()
        .filter(|read| read["params"]["uri"] == uri)
        .count()
}

#[test]
fn a_link_to_an_unlisted_resource_can_be_read_in_both_eras() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let fixture = paths::path_text(paths::built_binary("upstream-conformance"));
    for (name, era) in [("old", "--legacy"), ("new", "--modern")] {
        hub.add_server(name, &[], &[&fixture, "--stdio", era, "--scheme", name]);
        hub.wait_until_synced(name);
        hub.set_policy(name, "allow");
    }
    let token = hub.add_client("desk");
    for (endpoint, is_prefixed) in [(hub.url.clone(), true), (format!("{}/old", hub.url), false)] {
        for server in ["old", "new"]
            .into_iter()
            .filter(|server| is_prefixed || *server == "old")
        {
            let tool = if is_prefixed {
                format!("{server}__test_resource_link")
            } else {
                "test_resource_link".into()
            };
            let uri = format!("{server}://unlisted-report");
            let legacy = McpClient::connect(&endpoint, &token);
            // Modern clients with different capabilities have different sessions.
            let modern = StatelessClient::new(
                &endpoint,
                &token,
                json!({"roots": {"listChanged": is_prefixed}}),
            );
            if is_prefixed {
                let answers = [
                    read_resource(&legacy, &uri),
                    modern.request("resources/read", &json!({"uri": uri})),
                ];
                // All requests of a modern client belong to one session, for all servers.
                assert_eq!(
                    answers.map(|answer| answer.error_code()),
                    NOT_FOUND,
                    "no server has named {uri} in this session"
                );
            }
            assert_eq!(
                legacy.call(&tool, "{}").result()["content"][0]["uri"],
                uri.as_str()
            );
            assert_eq!(
                content_text(&read_resource(&legacy, &uri)),
                "Nobody lists this report."
            );
            assert_eq!(
                modern.call(&tool, &json!({})).result()["content"][0]["uri"],
                uri.as_str()
            );
            let answer = modern.request("resources/read", &json!({"uri": uri}));
            assert_eq!(
                content_text(&answer),
                "Nobody lists this report.",
                "{}",
                answer.raw
            );
        }
    }
}

#[test]
fn the_endpoint_of_a_server_reads_every_uri_from_that_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (first, second) = (
        add_linking_server(&hub, "one"),
        add_linking_server(&hub, "two"),
    );
    let token = hub.add_client("desk");
    let client = McpClient::connect(&format!("{}/two", hub.url), &token);
    assert_eq!(
        content_text(&read_resource(&client, "none://at/all")),
        "of two",
        "the server's own endpoint needs no link"
    );
    let modern = StatelessClient::new(&format!("{}/two", hub.url), &token, json!({}));
    assert_eq!(
        content_text(&modern.request("resources/read", &json!({"uri": "none://at/all"}))),
        "of two"
    );
    assert_eq!(count_reads(&first, "none://at/all"), 0);
    assert_eq!(count_reads(&second, "none://at/all"), 2);

    let plain_server = FaultyServer::add(&hub, "plain", &json!({}), &[]).wait_until_synced();
    let client = McpClient::connect(&format!("{}/plain", hub.url), &token);
    let error = read_resource(&client, DOC).error().expect("an error");
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32601), &json!("no method resources/read"))
    );
    assert_eq!(
        plain_server.received_by_method("resources/read").len(),
        1,
        "the server's own error is returned"
    );
}

#[test]
fn a_uri_of_two_servers_is_read_from_the_server_that_named_it_last() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (first, second) = (
        add_linking_server(&hub, "one"),
        add_linking_server(&hub, "two"),
    );
    for name in ["one", "two"] {
        let mut spec = hub.show_server(name)["spec"].clone();
        spec["cache_results_ms"] = 60_000.into();
        hub.run_verb("servers.update", &json!({"id": name, "spec": spec}));
    }
    let client = hub.connect_client("desk");
    assert_eq!(
        read_resource(&client, DOC).error_code(),
        NOT_FOUND[0],
        "an unnamed URI of two servers is not found"
    );
    for server in ["one", "two", "one"] {
        client.call(&format!("{server}__link"), "{}");
        assert_eq!(
            content_text(&read_resource(&client, DOC)),
            format!("of {server}")
        );
        let completion = json!({"ref": {"type": "ref/resource", "uri": DOC}, "argument": {"name": "a", "value": ""}});
        let completion = client
            .request("completion/complete", &completion.to_string())
            .result();
        assert_eq!(completion["completion"]["values"], json!([server]));
        let nested = format!("{server}://part");
        assert_eq!(
            content_text(&read_resource(&client, &nested)),
            format!("of {server}"),
            "the result of the read named the URI"
        );
        let embedded = format!("{server}://embedded");
        client.request(
            "prompts/get",
            &json!({"name": format!("{server}__embed")}).to_string(),
        );
        assert_eq!(
            content_text(&read_resource(&client, &embedded)),
            format!("of {server}"),
            "the prompt named the URI"
        );
    }
    assert_eq!(
        (count_reads(&first, DOC), count_reads(&second, DOC)),
        (2, 1),
        "unlisted resources are not cached"
    );
    let other_client = hub.connect_client("other");
    assert_eq!(
        read_resource(&other_client, DOC).error_code(),
        NOT_FOUND[0],
        "a link applies only to its client's session"
    );
}

#[test]
fn profiles_and_disabled_servers_apply_to_unlisted_resources() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (first, second) = (
        add_linking_server(&hub, "one"),
        add_linking_server(&hub, "two"),
    );
    let client = hub.connect_client("desk");
    let endpoint_client = McpClient::connect(&format!("{}/one", hub.url), &hub.add_client("alone"));
    client.call("one__link", "{}");
    assert_eq!(content_text(&read_resource(&client, DOC)), "of one");
    home.cli(&["profiles", "set", "work", "two"])
        .expect_success();
    for name in ["desk", "alone"] {
        home.cli(&["clients", "profile", name, "work"])
            .expect_success();
    }
    assert_eq!(
        content_text(&read_resource(&client, DOC)),
        "of two",
        "the URI is read from the only server of the profile"
    );
    assert_eq!(
        read_resource(&endpoint_client, DOC).error_code(),
        NOT_FOUND[0],
        "the profile applies to the server's own endpoint"
    );
    assert_eq!(count_reads(&first, DOC), 1);

    home.cli(&["servers", "disable", "two"]).expect_success();
    wait_until("the resource cannot be read", || {
        some_if(read_resource(&client, DOC).error_code() == NOT_FOUND[0])
    });
    home.cli(&["clients", "profile", "desk"]).expect_success();
    assert_eq!(content_text(&read_resource(&client, DOC)), "of one");
    assert_eq!(count_reads(&second, DOC), 1);
}

#[test]
fn a_link_in_a_held_result_cannot_be_read_before_release() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (first, _second) = (
        add_linking_server(&hub, "one"),
        add_linking_server(&hub, "two"),
    );
    home.cli(&["policy", "add", "one/link", "--result", "hold"])
        .expect_success();
    let client = hub.connect_client("desk");
    for (verdict, expected) in [("deny", NOT_FOUND[0]), ("approve", None)] {
        let call = client.spawn_call("one__link", "{}");
        let id = hub.wait_for_approval()["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        assert_eq!(
            read_resource(&client, DOC).error_code(),
            NOT_FOUND[0],
            "the client has not received the link yet"
        );
        home.cli(&["approvals", verdict, &id]).expect_success();
        call.join().expect("the call is answered");
        assert_eq!(
            read_resource(&client, DOC).error_code(),
            expected,
            "after {verdict}"
        );
    }
    assert_eq!(count_reads(&first, DOC), 1);
}

#[test]
fn a_subscription_to_an_unlisted_resource_gets_updates_until_unsubscribed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (first, second) = (
        add_linking_server(&hub, "one"),
        add_linking_server(&hub, "two"),
    );
    let token = hub.add_client("desk");
    let client = McpClient::connect(&hub.url, &token);
    let mut events = client.listen(None);
    let mut next_update_names_doc = move || {
        let is_update = |message: &Value| message["method"] == "notifications/resources/updated";
        events
            .by_ref()
            .map(|event| event.message())
            .find(is_update)
            .is_some_and(|update| update["params"]["uri"] == DOC)
    };
    assert_eq!(
        client
            .request("resources/subscribe", &uri_params(DOC))
            .error_code(),
        NOT_FOUND[0]
    );
    client.call("one__link", "{}");
    client
        .request("resources/subscribe", &uri_params(DOC))
        .result();
    client.call("two__link", "{}");
    client.call("one__link", "{}");
    assert!(
        next_update_names_doc(),
        "the subscribed server's update reaches the client"
    );
    let count_received = |method: &str| {
        (
            first.received_by_method(method).len(),
            second.received_by_method(method).len(),
        )
    };
    assert_eq!(count_received("resources/subscribe"), (1, 0));
    client.call("two__link", "{}");
    client
        .request("resources/unsubscribe", &uri_params(DOC))
        .result();
    assert_eq!(
        count_received("resources/unsubscribe"),
        (1, 0),
        "the server with the subscription is unsubscribed"
    );

    client
        .request("resources/subscribe", &uri_params(DOC))
        .result();
    assert_eq!(count_received("resources/subscribe"), (1, 1));
    client.end_session();
    wait_until("the end of the session ends the subscription", || {
        some_if(count_received("resources/unsubscribe") == (1, 1))
    });

    let modern = StatelessClient::new(&hub.url, &token, json!({}));
    modern.call("one__link", &json!({}));
    let mut events = modern
        .listen(&json!({"resourceSubscriptions": [DOC]}))
        .map(|event| event.message());
    let acknowledgement = events.next().expect("an acknowledgement");
    assert_eq!(
        acknowledgement["method"], "notifications/subscriptions/acknowledged",
        "{acknowledgement}"
    );
    assert_eq!(
        count_received("resources/subscribe"),
        (2, 1),
        "the subscription goes to the server that named the URI to this client"
    );
    modern.call("one__link", &json!({}));
    let updated = events.next().expect("an update");
    assert_eq!(updated["params"]["uri"], DOC, "{updated}");
    drop(events);
    wait_until("the end of the stream ends the subscription", || {
        some_if(count_received("resources/unsubscribe") == (2, 1))
    });
}

#[test]
fn the_only_server_with_resources_is_read_also_after_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let linking_server = add_linking_server(&hub, "one");
    let _plain = FaultyServer::add(&hub, "plain", &json!({}), &[]).wait_until_synced();
    let token = hub.add_client("desk");
    assert_eq!(
        content_text(&read_resource(&McpClient::connect(&hub.url, &token), DOC)),
        "of one",
        "the other server has no resources"
    );
    drop(linking_server);
    hub.stop(nix::sys::signal::Signal::SIGTERM);
    let hub = Hub::serve(&home);
    assert_eq!(
        content_text(&read_resource(&McpClient::connect(&hub.url, &token), DOC)),
        "of one"
    );
}
