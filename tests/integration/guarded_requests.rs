//! Requests other than plain calls: prompts, resources, completions, tasks, and requests of servers
//! to clients. Each is decided, and each has a record.

use std::{collections::BTreeMap, fs, thread};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient,
    hub::received_lines,
    mcp::{Answer, Events},
    paths,
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

/// A token that looks like a secret. The probe puts this token into every text.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

/// Requests with each guarded method that clients send: their kind, method and params. The requests
/// about tasks concern a task that [`start_task`] has started.
const REQUESTS: [(&str, &str, &str); 9] = [
    (
        "tools",
        "tools/call",
        r#"{"name":"probe__echo","arguments":{}}"#,
    ),
    ("prompts", "prompts/get", r#"{"name":"probe__greet"}"#),
    ("resources", "resources/read", r#"{"uri":"probe://a"}"#),
    ("resources", "resources/subscribe", r#"{"uri":"probe://a"}"#),
    (
        "prompts",
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"probe__greet"},"argument":{"name":"who","value":"x"}}"#,
    ),
    (
        "resources",
        "completion/complete",
        r#"{"ref":{"type":"ref/resource","uri":"probe://t/{x}"},"argument":{"name":"x","value":"y"}}"#,
    ),
    ("tools", "tasks/get", r#"{"taskId":"task-1"}"#),
    ("tools", "tasks/result", r#"{"taskId":"task-1"}"#),
    ("tools", "tasks/cancel", r#"{"taskId":"task-1"}"#),
];

/// Starts a hub with the probe and a client that has started a task of the probe.
fn serve(home: &Home) -> (Hub<'_>, McpClient) {
    let hub = Hub::serve(home);
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    let capabilities = json!({"roots": {}, "sampling": {}, "elicitation": {}});
    let client = McpClient::connect_with(&hub.url, &hub.add_client("desk"), &capabilities);
    start_task(&client);
    (hub, client)
}

fn start_task(client: &McpClient) {
    let answer = client.request(
        "tools/call",
        r#"{"name":"probe__echo","arguments":{},"task":{}}"#,
    );
    assert!(answer.raw.contains("task-1"), "{}", answer.raw);
}

/// Returns the number of messages that the server received, by method.
fn count_received_by_method(home: &Home) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in received_lines(home) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(method) = message["method"].as_str() {
            *counts.entry(method.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn count_received(home: &Home, method: &str) -> usize {
    count_received_by_method(home)
        .get(method)
        .copied()
        .unwrap_or_default()
}

/// Waits until the newest record of a method has an outcome, and returns the record.
fn last_record(home: &Home, method: &str) -> Value {
    wait_until(format!("the end of {method} is recorded"), || {
        let calls = home
            .cli(&["calls", "list", "--text", method, "--json"])
            .expect_json();
        let newest = calls
            .as_array()?
            .iter()
            .find(|call| call["method"] == method)?
            .clone();
        some_if(newest["outcome"] != "running")?;
        Some(newest)
    })
}

/// Returns whether an answer is a denial, as an error or as a result with `isError`.
fn is_denied(answer: &Answer) -> bool {
    answer.raw.contains("denied this")
}

#[test]
fn every_guarded_request_is_recorded_with_its_method() {
    let home = Home::new();
    let (_hub, client) = serve(&home);
    for (_, method, params) in REQUESTS {
        let answer = client.request(method, params);
        assert!(answer.error().is_none(), "{method}: {}", answer.raw);
        let record = last_record(&home, method);
        assert_eq!(
            (&record["decision"], &record["outcome"], &record["server"]),
            (&json!("allowed"), &json!("ok"), &json!("probe")),
            "{method}: {record}"
        );
    }
    assert_eq!(last_record(&home, "resources/read")["tool"], "probe://a");
    assert_eq!(last_record(&home, "prompts/get")["tool"], "greet");
    let export = home.cli(&["audit", "export"]).expect_success().stdout();
    assert!(export.contains(r#""method":"resources/read""#), "{export}");
    home.cli(&["audit", "verify"]).expect_success();
}

#[test]
fn a_deny_of_a_server_or_a_client_covers_every_kind() {
    for scope in [&["probe", "deny"][..], &["*", "deny", "--client", "desk"]] {
        let home = Home::new();
        let (_hub, client) = serve(&home);
        home.cli(&[&["policy", "set"], scope].concat())
            .expect_success();
        for (_, method, params) in REQUESTS {
            let before = count_received(&home, method);
            let answer = client.request(method, params);
            assert!(is_denied(&answer), "{method}: {}", answer.raw);
            assert_eq!(count_received(&home, method), before, "{method}");
            let record = last_record(&home, method);
            assert_eq!(
                (&record["decision"], &record["outcome"]),
                (&json!("denied"), &json!("not_sent")),
                "{method}: {record}"
            );
        }
        home.cli(&["audit", "verify"]).expect_success();
    }
}

#[test]
fn each_kind_has_its_own_rules_and_its_own_default() {
    let home = Home::new();
    let (_hub, client) = serve(&home);
    for denied in ["prompts", "resources"] {
        for change in [
            &["policy", "set", "probe", "deny", "--kind", denied][..],
            &["policy", "default", "deny", "--kind", denied],
        ] {
            home.cli(change).expect_success();
            for (kind, method, params) in REQUESTS {
                let answer = client.request(method, params);
                assert_eq!(
                    is_denied(&answer),
                    kind == denied,
                    "{change:?}, {method}: {}",
                    answer.raw
                );
            }
            let _ = home.cli(&["policy", "remove", "probe", "--kind", denied]);
            home.cli(&["policy", "default", "allow", "--kind", denied])
                .expect_success();
        }
    }
}

#[test]
fn a_person_decides_about_a_resource_and_the_rule_covers_this_resource_only() {
    let home = Home::new();
    let (hub, client) = serve(&home);
    home.cli(&["policy", "default", "ask", "--kind", "resources"])
        .expect_success();
    let read = |uri: &str| {
        let client = client.second_handle();
        let params = json!({ "uri": uri }).to_string();
        thread::spawn(move || client.request("resources/read", &params))
    };
    let pending = read("probe://a");
    let request = hub.wait_for_approval();
    assert_eq!(
        (&request["method"], &request["tool"], &request["server"]),
        (
            &json!("resources/read"),
            &json!("probe://a"),
            &json!("probe")
        )
    );
    let id = request["id"].as_str().expect("an id").to_owned();
    let shown = home.cli(&["approvals", "show", &id]).expect_success();
    let shown = shown.stdout();
    assert!(
        shown.contains("desk wants to read probe://a of probe"),
        "{shown}"
    );
    let edited = home.cli(&["approvals", "approve", &id, "--arguments", "{}"]);
    assert_eq!(edited.exit_code(), 1, "only calls can be edited");
    home.cli(&["approvals", "approve", &id, "--always"])
        .expect_success();
    let answer = pending.join().expect("the request ends");
    assert!(answer.raw.contains(TOKEN), "{}", answer.raw);
    let second_answer = client.request("resources/read", r#"{"uri":"probe://a"}"#);
    assert!(second_answer.raw.contains(TOKEN), "{}", second_answer.raw);
    let other_read = read("probe://t/1");
    let id = hub.wait_for_approval()["id"].clone();
    home.cli(&["approvals", "deny", id.as_str().expect("an id")])
        .expect_success();
    assert!(is_denied(&other_read.join().expect("the request ends")));
}

#[test]
fn an_allow_for_completions_of_one_template_covers_nothing_else() {
    let home = Home::new();
    let (hub, client) = serve(&home);
    home.cli(&["policy", "default", "ask", "--kind", "resources"])
        .expect_success();
    let completion = REQUESTS[5];
    let send = |(_, method, params): (&str, &'static str, &'static str)| {
        let client = client.second_handle();
        thread::spawn(move || client.request(method, params))
    };
    let decide = |option: &[&str]| {
        let id = hub.wait_for_approval()["id"].clone();
        let id = id.as_str().expect("an id");
        home.cli(&[&["approvals", option[0], id], &option[1..]].concat())
            .expect_success();
    };
    let pending = send(completion);
    decide(&["approve", "--always"]);
    let answer = pending.join().expect("the request ends");
    assert!(answer.error().is_none(), "{}", answer.raw);
    let second_answer = client.request(completion.1, completion.2);
    assert!(second_answer.error().is_none(), "{}", second_answer.raw);
    // A read of a resource is a request of the same kind.
    let other_request = send(REQUESTS[2]);
    decide(&["deny"]);
    assert!(is_denied(&other_request.join().expect("the request ends")));
}

#[test]
fn the_result_of_a_task_is_masked_like_the_result_of_its_call() {
    let home = Home::new();
    let (_hub, client) = serve(&home);
    let result = || client.request("tasks/result", r#"{"taskId":"task-1"}"#);
    assert!(result().raw.contains(TOKEN));
    home.cli(&["policy", "add", "probe/echo", "--result", "mask"])
        .expect_success();
    let masked = result();
    assert!(
        masked.error().is_none() && !masked.raw.contains(TOKEN),
        "{}",
        masked.raw
    );
}

#[test]
fn a_held_result_of_a_task_waits_for_a_person_and_its_denial_cancels_the_task() {
    let home = Home::new();
    let (hub, client) = serve(&home);
    home.cli(&["policy", "add", "probe/echo", "--result", "hold"])
        .expect_success();
    let fetch = || {
        let client = client.second_handle();
        thread::spawn(move || client.request("tasks/result", r#"{"taskId":"task-1"}"#))
    };
    let released = fetch();
    let request = hub.wait_for_approval();
    assert!(
        request["result"]
            .as_str()
            .is_some_and(|result| result.contains(TOKEN)),
        "{request}"
    );
    let id = request["id"].as_str().expect("an id");
    home.cli(&["approvals", "approve", id]).expect_success();
    assert!(
        released
            .join()
            .expect("the request ends")
            .raw
            .contains(TOKEN)
    );
    let withheld = fetch();
    let id = hub.wait_for_approval()["id"].clone();
    assert_eq!(count_received(&home, "tasks/cancel"), 0);
    home.cli(&["approvals", "deny", id.as_str().expect("an id")])
        .expect_success();
    let answer = withheld.join().expect("the request ends");
    assert!(
        answer.is_error() && !answer.raw.contains(TOKEN),
        "{}",
        answer.raw
    );
    assert_eq!(last_record(&home, "tasks/result")["outcome"], "withheld");
    assert_eq!(count_received(&home, "tasks/cancel"), 1);
}

#[test]
fn the_error_of_a_server_is_masked_and_held_like_its_results() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let file = home.file("script");
    let error = json!({"code": -32001, "message": format!("no access with {TOKEN}"),
        "data": {"token": TOKEN, "hint": "renew"}});
    let script = json!({
        "tools/list": {"result": {"tools": [{"name": "tool", "inputSchema": {"type": "object"}}]}},
        "tools/call": {"error": error},
        "prompts/list": {"result": {"prompts": [{"name": "prompt"}]}},
        "prompts/get": {"error": error},
        "initialize": {"result": {"protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": {"name": "s", "version": "1"}}},
    });
    fs::write(&file, script.to_string()).expect("write the script");
    let script = paths::path_text(&file);
    FaultyServer::add(&hub, "strict", &json!({}), &["--script", &script]).wait_until_synced();
    let client = hub.connect_client("desk");
    let requests = [
        ("tools/call", r#"{"name":"strict__tool","arguments":{}}"#),
        ("prompts/get", r#"{"name":"strict__prompt"}"#),
    ];
    for (method, params) in requests {
        let plain = client.request(method, params);
        assert_eq!(plain.error(), Some(error.clone()), "{}", plain.raw);
    }
    let set_effect = |effect: &str| {
        for kind in ["tools", "prompts"] {
            home.cli(&[
                "policy", "add", "strict", "--kind", kind, "--result", effect,
            ])
            .expect_success();
        }
    };
    set_effect("mask");
    for (method, params) in requests {
        let masked = client.request(method, params);
        assert!(
            !masked.raw.contains(TOKEN) && masked.raw.contains(r#""hint":"renew""#),
            "{method}: {}",
            masked.raw
        );
    }
    set_effect("hold");
    for (method, params) in requests {
        for decision in ["approve", "deny"] {
            let pending = {
                let client = client.second_handle();
                thread::spawn(move || client.request(method, params))
            };
            let request = hub.wait_for_approval();
            let held = request["result"].as_str().unwrap_or_default();
            assert!(held.contains(TOKEN), "{request}");
            let id = request["id"].as_str().expect("an id");
            home.cli(&["approvals", decision, id]).expect_success();
            let answer = pending.join().expect("the request ends");
            assert_eq!(
                answer.raw.contains(TOKEN),
                decision == "approve",
                "{method}: {}",
                answer.raw
            );
        }
        assert_eq!(
            last_record(&home, method)["outcome"],
            "withheld",
            "{method}"
        );
    }
}

/// Makes the probe send a request with this method to the client, answers the request if it
/// arrives, and returns all messages that the client receives.
fn ask_client(client: &McpClient, method: &str, answer: &Value) -> Vec<Value> {
    let body = json!({"jsonrpc": "2.0", "id": "asking", "method": "tools/call", "params": {
        "name": "probe__ask", "arguments": {"method": method, "params": {}}
    }});
    let response = client.post(&body).expect("send the call");
    if response.header("Content-Type") == Some("application/json") {
        // Nothing was sent to the client before the answer.
        let text = response.text().expect("read the answer");
        return vec![serde_json::from_str(&text).expect("JSON")];
    }
    let mut messages = Vec::new();
    for event in Events::new(response) {
        let message = event.message();
        if message["method"] == method {
            let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer});
            client.post(&response).expect("answer the server");
        }
        messages.push(message);
    }
    messages
}

#[test]
fn requests_of_servers_to_clients_are_decided_and_recorded() {
    let home = Home::new();
    let (_hub, client) = serve(&home);
    for (kind, method, answer) in [
        (
            "roots",
            "roots/list",
            json!({"roots": [{"uri": "file:///r"}]}),
        ),
        (
            "elicitation",
            "elicitation/create",
            json!({"action": "decline"}),
        ),
        (
            "sampling",
            "sampling/createMessage",
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}),
        ),
    ] {
        let messages = ask_client(&client, method, &answer);
        assert!(
            messages.iter().any(|message| message["method"] == method),
            "{messages:?}"
        );
        let record = last_record(&home, method);
        assert_eq!(
            (&record["decision"], &record["outcome"], &record["client"]),
            (&json!("allowed"), &json!("ok"), &json!("desk")),
            "{record}"
        );
        for change in [
            &["policy", "default", "deny", "--kind", kind][..],
            &["policy", "set", "probe", "deny", "--kind", kind],
        ] {
            home.cli(change).expect_success();
            let refused = ask_client(&client, method, &answer);
            assert!(
                !refused.iter().any(|message| message["method"] == method),
                "{change:?}: {refused:?}"
            );
            let text = refused.last().expect("an answer").to_string();
            assert!(text.contains("denied this request"), "{text}");
            assert_eq!(last_record(&home, method)["decision"], "denied");
            home.cli(&["policy", "default", "allow", "--kind", kind])
                .expect_success();
        }
    }
}

#[test]
fn calls_that_no_server_gets_are_recorded_too() {
    let home = Home::new();
    let (_hub, client) = serve(&home);
    let unknown = client.call("probe__nothing", r#"{"a":1}"#);
    assert_eq!(unknown.error_code(), Some(-32602), "{}", unknown.raw);
    let record = last_record(&home, "tools/call");
    assert_eq!(
        (&record["decision"], &record["decided_by"], &record["tool"]),
        (&json!("denied"), &json!("hub"), &json!("probe__nothing")),
        "{record}"
    );
    assert!(
        record["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("Unknown tool")),
        "{record}"
    );
}

#[test]
fn a_record_keeps_the_other_params_and_the_original_arguments() {
    let home = Home::new();
    let (hub, client) = serve(&home);
    home.cli(&["policy", "remove", "probe"]).expect_success();
    let calling_client = client.second_handle();
    let call = thread::spawn(move || {
        calling_client.request(
            "tools/call",
            r#"{"name":"probe__echo","arguments":{"n":1},"_meta":{"trace":"t-7"},"more":true}"#,
        )
    });
    let id = hub.wait_for_approval()["id"].clone();
    let id = id.as_str().expect("an id");
    let shown = home
        .cli(&["approvals", "show", id])
        .expect_success()
        .stdout();
    assert!(
        shown.contains(r#""trace": "t-7""#) && shown.contains(r#""more": true"#),
        "{shown}"
    );
    home.cli(&["approvals", "approve", id, "--arguments", r#"{"n":2}"#])
        .expect_success();
    call.join().expect("the call ends");
    let record = last_record(&home, "tools/call");
    let id = record["id"].as_str().expect("an id");
    let record = home.cli(&["calls", "show", id, "--json"]).expect_json();
    assert_eq!(
        (
            &record["arguments"],
            &record["original_arguments"],
            &record["is_edited"]
        ),
        (&json!(r#"{"n":2}"#), &json!(r#"{"n":1}"#), &json!(true)),
        "{record}"
    );
    assert!(
        record["extra"]
            .as_str()
            .is_some_and(|extra| extra.contains("t-7") && extra.contains("more")),
        "{record}"
    );
    let csv = home.cli(&["audit", "export", "--format", "csv"]);
    let csv = csv.expect_success().stdout();
    assert!(
        csv.lines()
            .next()
            .is_some_and(|head| head.contains(",method,rule,is_edited,original_arguments,extra"))
            && csv.contains("t-7"),
        "{csv}"
    );
    home.cli(&["audit", "verify"]).expect_success();
}

mod table;
