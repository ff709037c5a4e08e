//! Hooks: real programs and a real webhook get the events, deny and change calls, and replace
//! results. Hooks that misbehave disturb no call, unless their failure denies calls. Also the
//! unified shape of results, which hooks get and the command line prints.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use drawbridge_tests::{
    DesktopSession, FaultyServer, Home, Hub, hub::received_calls, paths, store, wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// The requests that a webhook got: the headers and the body of each.
type Received = Arc<Mutex<Vec<(String, Value)>>>;

/// Serves a webhook that answers every event with `answer`. Returns its URL and the list of the
/// received requests.
fn serve_webhook(answer: &str) -> (String, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let url = format!(
        "http://{}/events",
        listener.local_addr().expect("an address")
    );
    let received = Received::default();
    let (events, answer) = (received.clone(), answer.to_owned());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|n| n > 0) {}
            let length = head
                .lines()
                .find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse().ok())?
                })
                .unwrap_or(0);
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            let body = serde_json::from_slice(&body).unwrap_or_default();
            events.lock().expect("not poisoned").push((head, body));
            let _ = write!(
                reader.get_mut(),
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    (url, received)
}

/// Adds a hook that runs `line` with `sh` and has `extra_members`.
#[track_caller]
fn add_program(hub: &Hub<'_>, name: &str, line: &str, extra_members: Value) {
    let target = json!({"kind": "command", "program": "sh", "args": ["-c", line]});
    add_hook(hub, name, target, extra_members);
}

#[track_caller]
fn add_hook(hub: &Hub<'_>, name: &str, target: Value, extra_members: Value) {
    let mut hook = json!({
        "name": name, "events": ["tool_requested"], "mode": "blocking", "target": target,
        "timeout_ms": 20_000,
    });
    let members = extra_members
        .as_object()
        .expect("members of a hook")
        .clone();
    hook.as_object_mut().expect("an object").extend(members);
    hub.run_verb("hooks.add", &json!({"hook": hook}));
}

/// Returns a line for `sh` that writes a JSON value.
fn print_command(answer: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{answer}'")
}

fn hook_state(hub: &Hub<'_>, name: &str) -> Value {
    let hooks = hub.run_verb("hooks.list", &json!({}));
    let hooks = hooks.as_array().expect("a list");
    let found = hooks.iter().find(|hook| hook["name"] == name);
    found.expect("the hook is listed")["state"].clone()
}

#[track_caller]
fn last_call(hub: &Hub<'_>) -> Value {
    let listed = hub.run_verb("calls.list", &json!({"limit": 1}));
    let id = listed[0]["id"].clone();
    hub.run_verb("calls.show", &json!({"id": id}))
}

/// Returns the JSON objects that a hook appended to a file.
fn read_payloads(home: &Home, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(home.file(file)).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Returns the schemas of the payloads that the documentation shows, by event.
fn documented_schemas() -> BTreeMap<String, jsonschema::Validator> {
    let docs =
        fs::read_to_string(paths::repository_root().join("docs/hooks.md")).expect("the docs");
    let blocks = docs.split("```json\n").skip(1);
    let blocks = blocks.filter_map(|rest| serde_json::from_str(rest.split("```").next()?).ok());
    blocks
        .filter_map(|mut schema: Value| {
            let event = schema.as_object_mut()?.remove("$id")?;
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            Some((event.as_str()?.to_owned(), validator))
        })
        .collect()
}

#[test]
fn a_program_and_a_webhook_get_each_event_with_the_documented_payload() {
    let desktop = DesktopSession::without_screen();
    let home: &Home = &desktop;
    let hub = Hub::serve(home);
    let (url, received) = serve_webhook("");
    let all_events = json!([
        "server_connected",
        "server_disconnected",
        "tool_requested",
        "tool_executed"
    ]);
    let file = paths::path_text(home.file("events"));
    let observes = json!({"events": all_events, "mode": "observe", "with_result": true});
    add_program(
        &hub,
        "file",
        &format!("cat >> {file}; echo >> {file}"),
        observes.clone(),
    );
    let mut hook = json!({"name": "web", "target": {"kind": "webhook", "url": url}});
    let members = observes.as_object().expect("members").clone();
    hook.as_object_mut().expect("an object").extend(members);
    let secret = "s3cret-header-of-the-webhook";
    hub.run_verb(
        "hooks.add",
        &json!({"hook": hook, "secret_values": {"X-Token": secret}}),
    );

    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    assert_eq!(
        client.call("probe__echo", r#"{"a":1.0}"#).text(),
        r#"{"a":1.0}"#
    );
    let tools = hub.show_server("probe")["tools"].as_array().map(Vec::len);
    hub.run_verb("servers.enable", &json!({"id": "memory", "enabled": true}));
    hub.run_verb("servers.sync", &json!({"id": "memory"}));
    hub.add_server("broken", &[], &["false"]);
    home.cli(&["servers", "remove", "probe"]).expect_success();
    hub.run_verb("servers.enable", &json!({"id": "broken", "enabled": false}));

    let is_complete = |events: &[Value]| {
        let has = |event: &str, member: &str, value: &Value| {
            events
                .iter()
                .any(|received| received["event"] == event && received["payload"][member] == *value)
        };
        has("server_connected", "tool_count", &json!(tools))
            && has("server_connected", "transport", &json!("in_memory"))
            && has("tool_requested", "tool_name", &json!("echo"))
            && has("tool_executed", "tool_name", &json!("echo"))
            && has("server_disconnected", "had_session", &json!(true))
            && has("server_disconnected", "had_session", &json!(false))
    };
    let of_file = wait_until("the program has got each event", || {
        let events = read_payloads(home, "events");
        is_complete(&events).then_some(events)
    });
    let of_webhook = wait_until("the webhook has got each event", || {
        let received = received.lock().expect("not poisoned").clone();
        let events: Vec<_> = received.iter().map(|(_, body)| body.clone()).collect();
        is_complete(&events).then_some(received)
    });
    let schemas = documented_schemas();
    assert_eq!(schemas.len(), 4);
    let bodies = of_webhook.iter().map(|(_, body)| body);
    for event in of_file.iter().chain(bodies) {
        let schema = &schemas[event["event"].as_str().expect("an event")];
        let errors: Vec<_> = schema
            .iter_errors(&event["payload"])
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0], "{event}");
    }
    let executed = of_file
        .iter()
        .find(|event| event["event"] == "tool_executed")
        .expect("an event");
    let payload = &executed["payload"];
    assert_eq!(
        (
            &payload["server_name"],
            &payload["success"],
            &payload["content_length"]
        ),
        (&json!("probe"), &json!(true), &json!(9))
    );
    assert_eq!(payload["metadata"]["result"]["history"], r#"{"a":1.0}"#);
    assert_eq!(payload["metadata"]["client"], "desk");

    assert!(
        of_webhook
            .iter()
            .all(|(head, _)| head.to_lowercase().contains(&format!("x-token: {secret}"))),
        "{of_webhook:?}"
    );
    let logs = home.cli(&["logs", "--json"]).stdout();
    let shown = home.cli(&["hooks", "show", "web"]).stdout();
    let audit = hub.run_verb("audit.list", &json!({})).to_string();
    for text in [&logs, &shown, &audit, &hub.stderr()] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(audit.contains("hook_changed"), "{audit}");
    hub.stop(Signal::SIGTERM);
}

#[test]
fn a_blocking_hook_replaces_the_result_and_the_record_names_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    let masked = json!({"content": [{"type": "text", "text": "masked"}]});
    add_program(
        &hub,
        "mask",
        &print_command(&json!({"action": "change", "result": masked})),
        json!({"events": ["tool_executed"]}),
    );
    let (url, received) = serve_webhook("");
    let observes = json!({"events": ["tool_executed"], "mode": "observe", "with_result": true});
    add_hook(
        &hub,
        "watch",
        json!({"kind": "webhook", "url": url}),
        observes,
    );
    let client = hub.connect_client("desk");
    let answer = client.call("probe__echo", r#"{"secret":"hunter2"}"#);
    assert_eq!(answer.result(), masked);
    let call = last_call(&hub);
    assert_eq!(call["result_hooks"], json!(["mask"]));
    assert_eq!(
        (&call["outcome"], &call["request_hooks"]),
        (&json!("ok"), &Value::Null)
    );
    let request = wait_until("the observing hook has the result", || {
        received.lock().expect("not poisoned").first().cloned()
    });
    let metadata = &request.1["payload"]["metadata"];
    assert_eq!(
        metadata["result"]["content"], "masked",
        "the hook gets the result that the client got"
    );
    assert_eq!(metadata["result_changed_by"], json!(["mask"]));
    // The result of a call that became a task comes later, and passes the same hooks.
    let task = client.request(
        "tools/call",
        r#"{"name":"probe__echo","arguments":{},"task":{}}"#,
    );
    assert!(task.raw.contains("task-1"), "{}", task.raw);
    let result = client.request("tasks/result", r#"{"taskId":"task-1"}"#);
    assert_eq!(result.text(), "masked", "{}", result.raw);
}

#[test]
fn a_hook_denies_a_call_and_the_model_gets_the_reason() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let (url, _) = serve_webhook(r#"{"action":"deny","reason":"not on weekdays"}"#);
    add_hook(
        &hub,
        "guard",
        json!({"kind": "webhook", "url": url}),
        json!({}),
    );
    let answer = hub.connect_client("desk").call("probe__echo", "{}");
    assert!(answer.is_error(), "{}", answer.raw);
    for part in ["guard", "not on weekdays", "was not run"] {
        assert!(answer.text().contains(part), "{}", answer.text());
    }
    assert_eq!(received_calls(&home), Vec::<String>::new());
    let call = last_call(&hub);
    assert_eq!(
        (&call["decision"], &call["outcome"]),
        (&json!("denied"), &json!("not_sent"))
    );
    assert!(
        call["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("guard")),
        "{call}"
    );
    assert_eq!(hook_state(&hub, "guard")["last"]["effect"], "denied");
}

#[test]
fn a_person_decides_on_the_arguments_that_a_hook_has_changed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let changed = json!({"path": "/safe"});
    add_program(
        &hub,
        "redirect",
        &print_command(&json!({"action": "change", "arguments": changed})),
        json!({}),
    );
    let client = hub.connect_client("desk");
    let call = client.spawn_call("probe__echo", r#"{"path":"/etc/passwd"}"#);
    let request = hub.wait_for_approval();
    assert_eq!(request["arguments"], r#"{"path":"/safe"}"#);
    assert_eq!(request["request_hooks"], json!(["redirect"]));
    let id = request["id"].as_str().expect("an id");
    let shown = home.cli(&["approvals", "show", id]).stdout();
    assert!(shown.contains("changed by the hook redirect"), "{shown}");
    // A decision with another digest than the digest of the shown call is refused.
    let (status, text) = hub.try_verb(
        "approvals.decide",
        &json!({"id": id, "digest": "0".repeat(64), "verdict": {"kind": "approve_once"}}),
    );
    assert_ne!(status, 200, "{text}");
    home.cli(&["approvals", "approve", id]).expect_success();
    assert_eq!(
        call.join().expect("the call ends").text(),
        r#"{"path":"/safe"}"#
    );
    let received = received_calls(&home);
    assert!(
        received.len() == 1 && received[0].contains("/safe"),
        "{received:?}"
    );
    let record = last_call(&hub);
    assert_eq!(record["request_hooks"], json!(["redirect"]));
    assert_eq!(record["arguments"], r#"{"path":"/safe"}"#);
    assert_eq!(record["original_arguments"], r#"{"path":"/etc/passwd"}"#);
    home.cli(&["audit", "verify"]).expect_success();
    // A rule decides on the changed arguments too.
    let rule = json!({"rule": {"server": "probe", "tool": "echo", "effect": "deny",
        "conditions": [{"pointer": "/path", "is": {"equals": "/safe"}}]}});
    let (status, text) = hub.try_verb("policy.save", &rule);
    if status == 200 {
        let denied = client.call("probe__echo", r#"{"path":"/etc/passwd"}"#);
        assert!(
            denied.is_error() && denied.text().contains("denied"),
            "{}",
            denied.raw
        );
    } else {
        panic!("{text}");
    }
}

#[test]
fn changed_arguments_that_break_the_schema_are_not_sent() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let tools = home.file("strict.tools");
    let schema = json!({"type": "object", "required": ["n"], "additionalProperties": false,
        "properties": {"n": {"type": "integer"}}});
    fs::write(
        &tools,
        json!([{"name": "plan", "inputSchema": schema}]).to_string(),
    )
    .expect("write the tools");
    let server = FaultyServer::add(
        &hub,
        "strict",
        &json!({}),
        &["--tools", &paths::path_text(&tools)],
    )
    .wait_until_synced();
    hub.set_policy("strict", "allow");
    add_program(
        &hub,
        "spoiler",
        &print_command(&json!({"action": "change", "arguments": {"m": []}})),
        json!({}),
    );
    let answer = hub
        .connect_client("desk")
        .call("strict__plan", r#"{"n":1}"#);
    assert!(answer.is_error(), "{}", answer.raw);
    assert!(
        answer.text().contains("schema") && answer.text().contains("spoiler"),
        "{}",
        answer.text()
    );
    assert_eq!(server.received_calls("plan").len(), 0);
    assert_eq!(last_call(&hub)["request_hooks"], json!(["spoiler"]));
}

#[test]
fn hooks_that_misbehave_disturb_no_call_and_leave_nothing_behind() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let unreachable = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind a port");
        format!("http://{}/", listener.local_addr().expect("an address"))
    };
    let both_events = json!(["tool_requested", "tool_executed"]);
    let programs = [
        ("hangs", "sleep 1000 & sleep 1000"),
        ("fails", "echo broken >&2; exit 3"),
        ("crashes", "kill -SEGV $$"),
        ("garbage", "printf '\\377\\000 not json'"),
        ("floods", "cat /dev/zero"),
        ("floods-stderr", "cat /dev/zero >&2"),
        ("escapes", "setsid sleep 1000 & exit 0"),
        ("deaf", "exec 0<&-; exit 1"),
    ];
    for (name, line) in programs {
        let extra_members = json!({"events": both_events, "timeout_ms": 400});
        add_program(&hub, name, line, extra_members);
    }
    add_hook(
        &hub,
        "missing",
        json!({"kind": "command", "program": "/does/not/exist"}),
        json!({"events": both_events}),
    );
    add_hook(
        &hub,
        "unreachable",
        json!({"kind": "webhook", "url": unreachable}),
        json!({"events": both_events}),
    );
    let client = hub.connect_client("desk");
    let calls: Vec<_> = (0..4)
        .map(|n| client.spawn_call("probe__echo", &format!(r#"{{"n":{n}}}"#)))
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let answer = call.join().expect("the call ends");
        assert_eq!(answer.text(), format!(r#"{{"n":{n}}}"#), "{}", answer.raw);
    }
    let failing = programs
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| *name != "escapes");
    for name in failing.chain(["missing", "unreachable"]) {
        let state = hook_state(&hub, name);
        // Each of the four calls has two events.
        assert_eq!(state["failures"], 8, "{name}: {state}");
        assert!(
            state["last"]["reason"]
                .as_str()
                .is_some_and(|reason| !reason.is_empty()),
            "{name}: {state}"
        );
    }
    let logs = home.cli(&["logs", "--json"]).stdout();
    assert!(
        logs.contains("hook fails failed on tool_executed"),
        "{logs}"
    );
    assert!(
        logs.contains("broken"),
        "the last line of stderr is quoted: {logs}"
    );
    wait_until("only processes that left their group may run", || {
        let processes = home.processes();
        let is_hook = |command: &str| command.contains("sleep 1000") && !command.contains("setsid");
        let escaped = processes
            .iter()
            .filter(|process| is_hook(&process.command))
            .count();
        // Processes that left the group of the hook end with the hub.
        some_if(escaped <= 8)
    });
    hub.stop(Signal::SIGTERM);
    home.assert_no_survivors();
}

#[test]
fn a_guard_that_fails_denies_the_call_or_withholds_its_result() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let strict = |events: Value| json!({"events": events, "on_failure": "deny"});
    add_program(&hub, "guard", "exit 1", strict(json!(["tool_requested"])));
    let client = hub.connect_client("desk");
    let denied = client.call("probe__echo", "{}");
    assert!(
        denied.is_error() && denied.text().contains("guard"),
        "{}",
        denied.raw
    );
    assert_eq!(received_calls(&home).len(), 0);
    home.cli(&["hooks", "remove", "guard"]).expect_success();
    add_program(&hub, "mask", "exit 1", strict(json!(["tool_executed"])));
    for (name, with_result) in [("plain", false), ("full", true)] {
        let file = paths::path_text(home.file(name));
        let observes = json!({
            "events": ["tool_executed"], "mode": "observe", "with_result": with_result
        });
        add_program(
            &hub,
            name,
            &format!("cat >> {file}; echo >> {file}"),
            observes,
        );
    }
    let withheld = client.call("probe__echo", r#"{"secret":"hunter2"}"#);
    assert!(withheld.is_error(), "{}", withheld.raw);
    assert!(!withheld.raw.contains("hunter2"), "{}", withheld.raw);
    assert_eq!(last_call(&hub)["outcome"], "withheld");
    for (name, with_result) in [("plain", false), ("full", true)] {
        let event = wait_until("the hook gets the end of the call", || {
            read_payloads(&home, name).pop()
        });
        let payload = &event["payload"];
        let error = payload["error_message"].as_str().expect("a text");
        assert!(error.contains("mask"), "{payload}");
        assert_eq!(
            payload["metadata"].get("result").is_some(),
            with_result,
            "{name}: {payload}"
        );
    }
}

#[test]
fn each_blocking_hook_gets_the_call_as_earlier_hooks_changed_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    for (name, n) in [("first", 1), ("second", 2)] {
        let file = paths::path_text(home.file(&format!("{name}.payloads")));
        let answer = json!({"action": "change", "arguments": {"n": n}});
        let line = format!("cat >> {file}; echo >> {file}; printf '%s' '{answer}'");
        add_program(&hub, name, &line, json!({}));
    }
    let client = hub.connect_client("desk");
    assert_eq!(
        client.call("probe__echo", r#"{"n":0}"#).text(),
        r#"{"n":2}"#
    );
    let payload = &read_payloads(&home, "second.payloads")[0]["payload"];
    assert_eq!(payload["arguments"], json!({"n": 1}));
    assert_eq!(payload["metadata"]["changed_by"], json!(["first"]));
    assert_eq!(last_call(&hub)["request_hooks"], json!(["first", "second"]));
    home.cli(&["hooks", "move", "second", "1"]).expect_success();
    assert_eq!(
        client.call("probe__echo", r#"{"n":0}"#).text(),
        r#"{"n":1}"#
    );
    assert_eq!(last_call(&hub)["request_hooks"], json!(["second", "first"]));
}

#[test]
fn disabled_hooks_and_hooks_for_other_servers_or_tools_do_not_run() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let deny = print_command(&json!({"action": "deny"}));
    add_program(&hub, "other-server", &deny, json!({"server": "elsewhere"}));
    add_program(
        &hub,
        "other-tool",
        &deny,
        json!({"server": "probe", "tool": "decision"}),
    );
    add_program(&hub, "off", &deny, json!({"enabled": false}));
    let client = hub.connect_client("desk");
    assert_eq!(
        client.call("probe__echo", r#"{"a":1}"#).text(),
        r#"{"a":1}"#
    );
    for name in ["other-server", "other-tool", "off"] {
        assert_eq!(hook_state(&hub, name)["runs"], 0, "{name}");
    }
    home.cli(&["hooks", "enable", "off"]).expect_success();
    assert!(client.call("probe__echo", "{}").is_error());
    home.cli(&["hooks", "disable", "off"]).expect_success();
    assert!(!client.call("probe__echo", "{}").is_error());
}

#[test]
fn no_hook_outlives_a_hub_that_is_killed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let observes = json!({"events": ["tool_executed"], "mode": "observe", "timeout_ms": 60_000});
    add_program(&hub, "slow", "sleep 1000", observes);
    hub.connect_client("desk").call("probe__echo", "{}");
    wait_until("the hook runs", || {
        let processes = home.processes();
        some_if(
            processes
                .iter()
                .any(|process| process.command.contains("sleep 1000")),
        )
    });
    hub.stop(Signal::SIGKILL);
    home.assert_no_survivors();
}

#[test]
fn a_hook_that_cannot_be_read_denies_calls_until_it_is_removed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let guard = [
        "hooks",
        "add",
        "guard",
        "--on",
        "tool_requested",
        "--mode",
        "blocking",
    ];
    home.cli(&[&guard[..], &["--", "true"]].concat())
        .expect_success();
    drop(hub);
    store::run_sql(&home.data_dir(), "UPDATE hook SET spec = '{\"name\":1}'");
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    let denied = client.call("probe__echo", "{}");
    assert!(
        denied.is_error() && denied.text().contains("the hook 'guard' failed"),
        "{}",
        denied.raw
    );
    let listed = home.cli(&["hooks", "list"]).stdout();
    assert!(listed.contains("cannot be read"), "{listed}");
    home.cli(&["hooks", "remove", "guard"]).expect_success();
    let answer = client.call("probe__echo", "{}");
    assert!(!answer.is_error(), "{}", answer.raw);
}

#[test]
fn hooks_are_managed_and_tried_on_the_command_line() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let answer = r#"{"action":"deny","reason":"no"}"#;
    home.cli(&[
        "hooks",
        "add",
        "guard",
        "--on",
        "tool_requested",
        "--mode",
        "blocking",
        "--timeout",
        "10000",
        "--",
        "printf",
        "%s",
        answer,
    ])
    .expect_success();
    let listed = home.cli(&["hooks", "list"]).stdout();
    assert!(
        listed.contains("guard") && listed.contains("blocking"),
        "{listed}"
    );
    let trial = home.cli(&["hooks", "try", "guard", "--json"]).expect_json();
    assert_eq!(
        (&trial["effect"], &trial["reason"]),
        (&json!("denied"), &json!("no"))
    );
    assert_eq!(trial["output"], answer);
    home.cli(&[
        "hooks",
        "edit",
        "guard",
        "--rename",
        "strict",
        "--on-failure",
        "deny",
    ])
    .expect_success();
    let shown = home
        .cli(&["hooks", "show", "strict", "--json"])
        .expect_json();
    assert_eq!(shown["on_failure"], "deny");
    assert_eq!(shown["target"]["args"], json!(["%s", answer]));
    home.cli(&["hooks", "try", "strict"]).expect_success();
    let runs = home
        .cli(&["hooks", "log", "strict", "--json"])
        .expect_json();
    assert_eq!(runs[0]["is_trial"], true);
    let refused = home.cli(&[
        "hooks",
        "add",
        "bad",
        "--on",
        "server_connected",
        "--mode",
        "blocking",
        "--",
        "true",
    ]);
    assert!(
        refused.stderr().contains("never waits"),
        "{}",
        refused.stderr()
    );
    let refused = home.cli(&[
        "hooks",
        "add",
        "bad",
        "--on",
        "tool_executed",
        "--url",
        "http://example.com/",
    ]);
    assert!(refused.stderr().contains("https"), "{}", refused.stderr());
    // A client's token gives no access to hooks.
    let token = hub.add_client("desk");
    let url = drawbridge_tests::http::Url::parse(&hub.url).with_path("/api/verbs/hooks.list");
    let bearer = format!("Bearer {token}");
    let request = drawbridge_tests::http::Request {
        method: "POST",
        url: &url,
        headers: &[("Authorization", bearer.as_str())],
        body: b"{}",
    };
    assert_ne!(request.send().expect("an answer").status, 200);
    home.cli(&["hooks", "remove", "strict"]).expect_success();
    let empty = home.cli(&["hooks", "list"]).stdout();
    assert!(empty.contains("No hooks."), "{empty}");
}

#[test]
fn the_command_line_prints_results_and_denials_in_the_unified_shape() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let unified = |tool: &str| {
        let call = [
            "tools",
            "call",
            tool,
            "--args",
            r#"{"a":1}"#,
            "--json",
            "--result",
            "unified",
        ];
        home.cli(&call)
    };
    let result = unified("probe__echo").expect_json();
    assert_eq!(
        (&result["success"], &result["content"], &result["history"]),
        (&json!(true), &json!(r#"{"a":1}"#), &json!(r#"{"a":1}"#))
    );
    assert_eq!(
        result["content_items"],
        json!([{"kind": "text", "text": r#"{"a":1}"#}])
    );
    hub.set_policy("probe/echo", "deny");
    let denied = unified("probe__echo");
    assert_eq!(denied.exit_code(), 1);
    let denied: Value = serde_json::from_str(denied.stdout().trim()).expect("JSON");
    assert_eq!(denied["success"], false);
    assert!(
        denied["error_message"]
            .as_str()
            .is_some_and(|reason| reason.contains("denied")),
        "{denied}"
    );
}
