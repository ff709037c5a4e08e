//! Requests of servers for input, which a person answers in Drawbridge because the client cannot
//! ask; and roots, which Drawbridge gives if the client has none.

use std::{fs, thread};

use drawbridge_tests::{
    Bridge, Home, Hub, McpClient, StatelessClient, http::Response, hub::received_lines,
    mcp::Answer, paths, wait::some_if, wait_until,
};
use serde_json::{Value, json};

/// A value that only the server may get.
const SECRET_VALUE: &str = "tangerine-4711";

/// Starts a hub with a screen, the probe, and a client without any capability.
fn serve(home: &Home) -> (Hub<'_>, McpClient, Response) {
    let hub = Hub::serve(home);
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    let screen = hub.open_screen();
    (hub, client, screen)
}

/// Returns the arguments with which the probe asks for input.
fn ask_arguments(params: Value) -> String {
    json!({"method": "elicitation/create", "params": params}).to_string()
}

fn form_params() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 2},
                "age": {"type": "integer", "minimum": 18},
                "color": {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"]},
            },
            "required": ["name"],
        },
    })
}

fn decide(hub: &Hub<'_>, approval: &Value, verdict: Value) -> (u16, String) {
    hub.try_verb(
        "approvals.decide",
        &json!({"id": approval["id"], "digest": approval["digest"], "verdict": verdict}),
    )
}

/// Returns the answer that the probe got.
fn parse_answer(answer: &Answer) -> Value {
    let message: Value = serde_json::from_str(&answer.text()).expect("the probe's answer");
    message["result"].clone()
}

#[test]
fn a_person_fills_in_a_form_and_the_values_reach_only_the_server() {
    let home = Home::new();
    let (hub, client, screen) = serve(&home);
    // No rule can fill in a form.
    let rule = ["policy", "set", "probe", "allow", "--kind", "elicitation"];
    home.cli(&rule).expect_success();
    let call = client.spawn_call("probe__ask", &ask_arguments(form_params()));
    let approval = hub.wait_for_approval();
    assert_eq!(approval["is_filled_in_by_person"], true, "{approval}");
    for (content, expected) in [
        (json!({"age": 20}), "'name' is required"),
        (
            json!({"name": SECRET_VALUE, "age": 17}),
            "'age' must be at least 18",
        ),
        (json!({"name": SECRET_VALUE, "more": 1}), "no field 'more'"),
    ] {
        let verdict = json!({"kind": "fill_in", "content": content.to_string()});
        let (status, text) = decide(&hub, &approval, verdict);
        assert_eq!(status, 400, "{text}");
        assert!(
            text.contains(expected) && !text.contains(SECRET_VALUE),
            "{text}"
        );
    }
    let (status, text) = decide(&hub, &approval, json!({"kind": "approve_once"}));
    assert_eq!(status, 400, "a form is not approved: {text}");
    let content = json!({"name": SECRET_VALUE, "color": "blue"});
    let verdict = json!({"kind": "fill_in", "content": content.to_string()});
    let (status, text) = decide(&hub, &approval, verdict);
    assert_eq!(status, 200, "{text}");

    let answer = call.join().expect("the call ends");
    assert_eq!(
        parse_answer(&answer),
        json!({"action": "accept", "content": content})
    );
    let id = approval["id"].as_str().expect("an id");
    let record = wait_until("the end is recorded", || {
        let record = home.cli(&["calls", "show", id, "--json"]).expect_json();
        some_if(record["outcome"] != "running")?;
        Some(record)
    });
    assert_eq!(
        (&record["reason"], &record["outcome"]),
        (&json!("answered: color, name"), &json!("ok")),
        "{record}"
    );
    home.cli(&["audit", "verify"]).expect_success();
    drop((screen, hub));
    // The probe records what it receives, outside the data folder.
    let received = received_lines(&home).join("\n");
    assert!(received.contains(SECRET_VALUE), "{received}");
    for folder in [home.data_dir().to_path_buf(), home.data_dir().join("logs")] {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let text = fs::read(entry.path()).unwrap_or_default();
            let has_value = text
                .windows(SECRET_VALUE.len())
                .any(|part| part == SECRET_VALUE.as_bytes());
            assert!(!has_value, "{} has the value", entry.path().display());
        }
    }
}

#[test]
fn a_person_declines_dismisses_or_misses_a_form() {
    let home = Home::new();
    let (hub, client, screen) = serve(&home);
    for (command, action) in [("deny", "decline"), ("dismiss", "cancel")] {
        let call = client.spawn_call("probe__ask", &ask_arguments(form_params()));
        let approval = hub.wait_for_approval();
        let id = approval["id"].as_str().expect("an id");
        home.cli(&["approvals", command, id]).expect_success();
        let answer = call.join().expect("the call ends");
        assert_eq!(
            parse_answer(&answer),
            json!({"action": action}),
            "{command}"
        );
    }
    hub.set_approval_timeout(5);
    let missed = client.call("probe__ask", &ask_arguments(form_params()));
    assert_eq!(parse_answer(&missed), json!({"action": "cancel"}));
    let list = home.cli(&["approvals", "missed", "--json"]).expect_json();
    assert_eq!(list, json!([]), "a missed form cannot be allowed later");

    let nested = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}});
    let refused = client.call("probe__ask", &ask_arguments(nested));
    assert!(
        refused.raw.contains("-32602") && refused.raw.contains("'a'"),
        "{}",
        refused.raw
    );
    home.cli(&["policy", "set", "probe", "deny", "--client", "desk"])
        .expect_success();
    let denied = client.call("probe__ask", &ask_arguments(form_params()));
    assert!(denied.raw.contains("denied"), "{}", denied.raw);
    home.cli(&["settings", "set", "elicitation-forms", "off"])
        .expect_success();
    home.cli(&["policy", "set", "probe", "allow", "--client", "desk"])
        .expect_success();
    let off = client.call("probe__ask", &ask_arguments(form_params()));
    assert!(off.raw.contains("-32601"), "{}", off.raw);

    // Without a screen nobody could answer, so the server need not wait.
    home.cli(&["settings", "set", "elicitation-forms", "on"])
        .expect_success();
    drop(screen);
    wait_until("the hub notices that the screen is gone", || {
        // A change of a setting is an event. The hub notices that a screen is gone when it sends an
        // event.
        hub.set_approval_timeout(5);
        let unanswered = client.call("probe__ask", &ask_arguments(form_params()));
        some_if(unanswered.raw.contains("-32601"))
    });
}

#[test]
fn a_form_is_filled_in_at_a_terminal_and_a_url_is_shown_there() {
    let home = Home::new();
    let (hub, client, screen) = serve(&home);
    let call = client.spawn_call("probe__ask", &ask_arguments(form_params()));
    let approval = hub.wait_for_approval();
    let id = approval["id"].as_str().expect("an id");
    // The fields come in the order of their names.
    home.cli_at_terminal(&["approvals", "fill-in", id], "20\nred\nAda\n")
        .expect_success();
    let answer = call.join().expect("the call ends");
    let content = json!({"name": "Ada", "age": 20, "color": "red"});
    assert_eq!(
        parse_answer(&answer),
        json!({"action": "accept", "content": content})
    );

    let url = "https://accounts.example.com/connect?state=1";
    let params = json!({"mode": "url", "elicitationId": "e1", "message": "Sign in", "url": url});
    let call = client.spawn_call("probe__ask", &ask_arguments(params));
    let approval = hub.wait_for_approval();
    let id = approval["id"].as_str().expect("an id");
    let opened = home
        .cli(&["approvals", "fill-in", id])
        .expect_success()
        .stdout();
    assert!(opened.contains(url), "{opened}");
    let answer = call.join().expect("the call ends");
    assert_eq!(parse_answer(&answer), json!({"action": "accept"}));
    let unsafe_url =
        json!({"mode": "url", "elicitationId": "e2", "message": "m", "url": "file:///etc/passwd"});
    let refused = client.call("probe__ask", &ask_arguments(unsafe_url));
    assert!(refused.raw.contains("-32602"), "{}", refused.raw);
    drop(screen);
}

#[test]
fn a_call_that_needs_a_visit_to_a_url_is_sent_again_after_the_visit() {
    let home = Home::new();
    let (hub, client, screen) = serve(&home);
    let modern = StatelessClient::new(&hub.url, &hub.add_client("tablet"), json!({}));
    let url = |path: &str| format!("https://accounts.example.com/{path}");
    let arguments = |path: &str| json!({"url": url(path)}).to_string();

    let call = client.spawn_call("probe__ask", &arguments("legacy"));
    let approval = hub.wait_for_approval();
    let id = approval["id"].as_str().expect("an id");
    let opened = home.cli(&["approvals", "fill-in", id]).expect_success();
    let opened = opened.stdout();
    assert!(opened.contains(&url("legacy")), "{opened}");
    let answer = call.join().expect("the call ends");
    assert_eq!(answer.text(), "the URL was visited");

    let answer = thread::scope(|scope| {
        let call = scope.spawn(|| modern.call("probe__ask", &json!({"url": url("modern")})));
        let approval = hub.wait_for_approval();
        let id = approval["id"].as_str().expect("an id");
        home.cli(&["approvals", "fill-in", id]).expect_success();
        call.join().expect("the call ends")
    });
    assert_eq!(answer.text(), "the URL was visited");

    let call = client.spawn_call("probe__ask", &arguments("declined"));
    let approval = hub.wait_for_approval();
    let id = approval["id"].as_str().expect("an id");
    home.cli(&["approvals", "deny", id]).expect_success();
    let answer = call.join().expect("the call ends");
    assert!(answer.raw.contains("-32042"), "{}", answer.raw);
    let records = home.cli(&["calls", "list", "--json"]).expect_json();
    let calls = records.as_array().expect("records").iter();
    let tool_calls = calls.filter(|record| record["method"] == "tools/call");
    assert_eq!(
        tool_calls.count(),
        3,
        "a call that is sent again is one call"
    );
    drop(screen);
}

#[test]
fn a_form_is_filled_in_in_every_combination_of_eras() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let program = paths::path_text(paths::built_binary("upstream-conformance"));
    for era in ["legacy", "modern"] {
        let command = [
            program.as_str(),
            "--stdio",
            &format!("--{era}"),
            "--scheme",
            era,
        ];
        hub.add_server(era, &[], &command);
        hub.wait_until_synced(era);
        hub.set_policy(era, "allow");
    }
    let _screen = hub.open_screen();
    let content = json!({"username": "ada", "email": "ada@example.com"});
    let verdict = json!({"kind": "fill_in", "content": content.to_string()});
    let legacy = hub.connect_client("legacy-desk");
    let url = hub.url.clone();
    let token = hub.add_client("modern-desk");
    for era in ["legacy", "modern"] {
        let tool = format!("{era}__test_elicitation");
        let call = legacy.spawn_call(&tool, r#"{"message":"Who are you?"}"#);
        let (status, text) = decide(&hub, &hub.wait_for_approval(), verdict.clone());
        assert_eq!(status, 200, "{text}");
        let answer = call.join().expect("the call ends");
        assert!(
            answer.text().contains("ada@example.com"),
            "{era}: {}",
            answer.raw
        );

        let (url, token) = (url.clone(), token.clone());
        let call = thread::spawn(move || {
            let modern = StatelessClient::new(&url, &token, json!({}));
            modern.call(&tool, &json!({"message": "Who are you?"}))
        });
        let (status, text) = decide(&hub, &hub.wait_for_approval(), verdict.clone());
        assert_eq!(status, 200, "{text}");
        let answer = call.join().expect("the call ends");
        assert!(
            answer.text().contains("ada@example.com"),
            "{era}: {}",
            answer.raw
        );
    }
}

#[test]
fn a_client_and_drawbridge_each_answer_a_part_of_the_questions_of_a_modern_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let work = home.file("work");
    fs::create_dir_all(&work).expect("make the folder");
    home.cli(&["roots", "add", &paths::path_text(&work)])
        .expect_success();
    let program = paths::path_text(paths::built_binary("upstream-conformance"));
    hub.add_server("modern", &[], &[&program, "--stdio", "--modern"]);
    hub.wait_until_synced("modern");
    hub.set_policy("modern", "allow");
    let tool = "modern__test_input_required_result_multiple_inputs";
    let _screen = hub.open_screen();
    // The client answers the sampling request; a person and the settings answer the others.
    let (url, token) = (hub.url.clone(), hub.add_client("desk"));
    let call = thread::spawn(move || {
        let client = StatelessClient::new(&url, &token, json!({"sampling": {}}));
        let required = client.call(tool, &json!({})).result();
        let requests = required["inputRequests"].as_object().expect("requests");
        let requests: Vec<_> = requests.iter().collect();
        let [(key, request)] = &requests[..] else {
            panic!("only the client's part: {required}");
        };
        assert_eq!(request["method"], "sampling/createMessage");
        let message = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris"}});
        let answers: Value = [((*key).clone(), message)].into_iter().collect();
        client.retry_call(tool, &json!({}), &required, &answers)
    });
    let approval = hub.wait_for_approval();
    let params: Value =
        serde_json::from_str(approval["arguments"].as_str().expect("params")).expect("JSON");
    let required = params["requestedSchema"]["required"].clone();
    let content: serde_json::Map<_, _> = required
        .as_array()
        .into_iter()
        .flatten()
        .map(|name| (name.as_str().expect("a name").to_owned(), json!("Ada")))
        .collect();
    let verdict = json!({"kind": "fill_in", "content": Value::Object(content).to_string()});
    let (status, text) = decide(&hub, &approval, verdict);
    assert_eq!(status, 200, "{text}");
    let answer = call.join().expect("the call ends");
    assert!(
        answer.error().is_none() && !answer.is_error(),
        "{}",
        answer.raw
    );
}

#[test]
fn servers_get_the_roots_of_the_settings_or_the_project_folder() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let [work, project] = ["work", "project"].map(|name| home.file(name));
    fs::create_dir_all(&work).expect("make the folder");
    fs::create_dir_all(project.join("src")).expect("make the folder");
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    let ask = r#"{"method":"roots/list","params":{}}"#;
    let none = client.call("probe__ask", ask);
    assert!(none.raw.contains("-32601"), "without roots: {}", none.raw);

    let added = home
        .cli(&["roots", "add", &paths::path_text(&work)])
        .expect_success();
    assert!(added.stdout().starts_with("file:///"), "{}", added.stdout());
    wait_until("the server learns that the roots have changed", || {
        let lines = received_lines(&home).join("\n");
        some_if(lines.contains("notifications/roots/list_changed"))
    });
    let roots = parse_answer(&client.call("probe__ask", ask));
    assert_eq!(roots["roots"][0]["name"], "work", "{roots}");

    // For a client in a project folder, the server gets only that folder.
    let folder = paths::path_text(&project);
    home.cli(&["profiles", "set", "project", "probe", "--folder", &folder])
        .expect_success();
    let mut bridge = Bridge::open_in(&home, "editor", &project.join("src"));
    let call = json!({"name": "probe__ask", "arguments": {"method": "roots/list", "params": {}}});
    let answer = bridge.request(2, "tools/call", &call);
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    assert!(
        text.contains("/project\"") && !text.contains("/work\""),
        "only the project folder: {answer}"
    );

    // A real server asks as soon as it is connected.
    hub.add_everything();
    let listed = client.call("everything__get-roots-list", "{}");
    assert!(listed.text().contains("/work"), "{}", listed.raw);
    home.cli(&["roots", "remove", &paths::path_text(&work)])
        .expect_success();
    assert_eq!(
        home.cli(&["roots", "list", "--json"]).expect_json(),
        json!([])
    );
}
