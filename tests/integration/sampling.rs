//! The sampling provider: it answers servers in place of clients that cannot sample, after the user
//! has agreed and within the budget.

use std::fs;

use drawbridge_tests::{
    DesktopSession, Home, Hub, McpClient, StatelessClient,
    mcp::Answer,
    paths,
    provider::{Provider, ProviderAnswer},
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

const KEY: &str = "sk-test-0123456789abcdefghijklmnop";
const SAMPLING: &str = "everything__trigger-sampling-request";

/// Sets the provider up through the command line, without a key.
fn set_up(home: &Home, provider: &Provider) {
    let arguments = [
        "sampling",
        "set",
        "--url",
        &provider.url,
        "--model",
        "small",
    ];
    home.cli(&arguments).expect_success();
}

/// Allows a server's sampling requests without an approval.
fn allow_sampling(home: &Home, server: &str) {
    home.cli(&["policy", "set", server, "allow", "--kind", "sampling"])
        .expect_success();
}

/// Starts a hub with the reference server, the provider and a client that cannot sample.
fn serve<'a>(home: &'a Home, provider: &Provider) -> (Hub<'a>, McpClient) {
    let hub = Hub::serve(home);
    hub.add_everything();
    set_up(home, provider);
    let client = hub.connect_client("desk");
    (hub, client)
}

/// Returns the record of the last sampling request.
fn last_record(home: &Home) -> Value {
    wait_until("the sampling request is recorded", || {
        let calls = home
            .cli(&["calls", "list", "--text", "sampling", "--json"])
            .expect_json();
        let newest = calls
            .as_array()?
            .iter()
            .find(|call| call["method"] == "sampling/createMessage")?
            .clone();
        some_if(newest["outcome"] != "running")?;
        Some(newest)
    })
}

fn sample(client: &McpClient) -> Answer {
    client.call(
        SAMPLING,
        r#"{"prompt":"the capital of France","maxTokens":50}"#,
    )
}

#[test]
fn a_provider_answers_the_reference_server_after_a_person_has_seen_who_answers() {
    let desktop = DesktopSession::without_screen();
    let home: &Home = &desktop;
    let provider = Provider::start();
    provider.answer_with(ProviderAnswer::Text("Paris it is".into()));
    let (hub, client) = serve(home, &provider);
    hub.run_verb("sampling.change", &json!({"key": KEY}));

    let call = client.spawn_call(
        SAMPLING,
        r#"{"prompt":"the capital of France","maxTokens":50}"#,
    );
    let approval = hub.wait_for_approval();
    let host = provider
        .url
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    assert_eq!(
        (&approval["method"], &approval["sampling_provider"]),
        (
            &json!("sampling/createMessage"),
            &json!(format!("small at {host}"))
        ),
        "{approval}"
    );
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before the approval"
    );
    let id = approval["id"].as_str().expect("an id");
    let shown = home
        .cli(&["approvals", "show", id])
        .expect_success()
        .stdout();
    assert!(
        shown.contains(&format!("a message from small at {host}")),
        "{shown}"
    );
    home.cli(&["approvals", "approve", id]).expect_success();

    let answer = call.join().expect("the call ends");
    assert!(answer.text().contains("Paris it is"), "{}", answer.raw);
    assert!(answer.text().contains("served-model"), "{}", answer.raw);
    let requests = provider.requests();
    let [request] = &requests[..] else {
        panic!("one request: {requests:?}");
    };
    assert!(
        request.head.starts_with("POST /v1/chat/completions "),
        "{}",
        request.head
    );
    assert!(
        request.head.contains(&format!("Bearer {KEY}")),
        "{}",
        request.head
    );
    let messages = json!([
        {"role": "system", "content": "You are a helpful test server."},
        {"role": "user", "content": "Resource trigger-sampling-request context: the capital of France"},
    ]);
    assert_eq!(
        request.body,
        json!({"model": "small", "stream": true, "stream_options": {"include_usage": true},
            "messages": messages, "max_tokens": 50, "temperature": 0.7})
    );
    let record = last_record(home);
    assert_eq!(
        (&record["decided_by"], &record["outcome"]),
        (&json!("person"), &json!("ok"))
    );
    let reason = record["reason"].as_str().expect("a reason");
    assert!(
        reason.contains(&format!("answered by small at {host}")),
        "{record}"
    );
    let shown = home.cli(&["sampling", "show"]).expect_success().stdout();
    assert!(
        shown.contains("1 of 100") && shown.contains("42 of 200000"),
        "{shown}"
    );

    // The provider's error quotes the key. Neither the client nor the command line gets the key.
    provider.answer_with(ProviderAnswer::Status(
        401,
        json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}).to_string(),
    ));
    allow_sampling(home, "everything");
    let refused = sample(&client);
    assert!(
        refused.raw.contains("status 401: Incorrect API key"),
        "{}",
        refused.raw
    );
    assert!(!refused.raw.contains(KEY), "{}", refused.raw);
    let check = home.cli(&["sampling", "check"]);
    assert!(check.stderr().contains("status 401"), "{}", check.stderr());
    assert!(!check.stderr().contains(KEY), "{}", check.stderr());

    // Another host does not get the key.
    let other_provider = Provider::start();
    set_up(home, &other_provider);
    sample(&client);
    let head = &other_provider.requests()[0].head;
    assert!(!head.to_lowercase().contains("authorization"), "{head}");
    drop(hub);
    for file in files_below(home.data_dir()) {
        let bytes = fs::read(&file).unwrap_or_default();
        let has_key = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
        assert!(!has_key, "the key is in {}", file.display());
    }
}

fn files_below(folder: impl Into<std::path::PathBuf>) -> Vec<std::path::PathBuf> {
    let mut folders = vec![folder.into()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => files.push(entry.path()),
            }
        }
    }
    files
}

#[test]
fn every_failure_of_the_provider_is_an_error_for_the_server_and_ends_nothing() {
    let home = Home::new();
    let provider = Provider::start();
    let (hub, client) = serve(&home, &provider);
    allow_sampling(&home, "everything");
    hub.run_verb("sampling.change", &json!({"timeout_s": 5}));
    let elsewhere = Provider::start();
    for (answer, expected) in [
        (
            ProviderAnswer::Status(429, "slow down".into()),
            "status 429",
        ),
        (
            ProviderAnswer::Status(500, json!({"error": "out of order"}).to_string()),
            "status 500: out of order",
        ),
        (
            ProviderAnswer::Redirect(format!("{}/chat/completions", elsewhere.url)),
            "status 307: Drawbridge follows no redirects",
        ),
        (ProviderAnswer::Garbage, "answer cannot be read"),
        (ProviderAnswer::Silence, "sent nothing for 5 s"),
        (ProviderAnswer::Flood, "has more than 4194304 bytes"),
    ] {
        provider.answer_with(answer.clone());
        let failed = sample(&client);
        assert!(failed.raw.contains(expected), "{answer:?}: {}", failed.raw);
        assert_eq!(last_record(&home)["outcome"], "client_error", "{answer:?}");
    }
    assert!(elsewhere.requests().is_empty(), "no redirect is followed");
    provider.answer_with(ProviderAnswer::Text("Still here".into()));
    assert!(sample(&client).text().contains("Still here"));

    hub.run_verb("sampling.change", &json!({"url": "http://127.0.0.1:1/v1"}));
    let down = sample(&client);
    assert!(down.raw.contains("cannot be reached"), "{}", down.raw);
    let pid = hub.show_server("everything")["pid"].clone();
    assert!(pid.is_number(), "the session goes on");
    assert_eq!(hub.show_server("everything")["starts"], 1);
}

#[test]
fn a_denial_and_a_spent_budget_reach_the_server_as_errors_and_the_provider_gets_nothing() {
    let home = Home::new();
    let provider = Provider::start();
    let (hub, client) = serve(&home, &provider);
    let call = client.spawn_call(SAMPLING, r#"{"prompt":"x"}"#);
    let approval = hub.wait_for_approval();
    let id = approval["id"].as_str().expect("an id");
    home.cli(&["approvals", "deny", id, "--reason", "too costly"])
        .expect_success();
    let denied = call.join().expect("the call ends");
    assert!(
        denied
            .raw
            .contains("The user denied this request: too costly"),
        "{}",
        denied.raw
    );
    assert!(provider.requests().is_empty());

    allow_sampling(&home, "everything");
    home.cli(&["sampling", "set", "--requests-per-day", "2"])
        .expect_success();
    assert!(sample(&client).text().contains("Hello"));
    assert!(sample(&client).text().contains("Hello"));
    let spent = sample(&client);
    assert!(
        spent
            .raw
            .contains("budget of today is spent (2 of 2 requests, 84 of 200000 tokens)"),
        "{}",
        spent.raw
    );
    assert_eq!(provider.requests().len(), 2);
    wait_until("the refused request is recorded", || {
        some_if(last_record(&home)["decision"] == "denied")
    });
    home.cli(&[
        "sampling",
        "set",
        "--requests-per-day",
        "0",
        "--tokens-per-day",
        "84",
    ])
    .expect_success();
    assert!(sample(&client).raw.contains("budget of today is spent"));

    // Without the provider, the request is refused, because the client cannot sample.
    home.cli(&[
        "sampling",
        "set",
        "--enabled",
        "false",
        "--tokens-per-day",
        "0",
    ])
    .expect_success();
    assert!(
        sample(&client).raw.contains("-32601"),
        "{}",
        sample(&client).raw
    );
}

#[test]
fn tools_are_passed_on_and_a_missing_required_call_is_an_error() {
    let home = Home::new();
    let provider = Provider::start();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    set_up(&home, &provider);
    allow_sampling(&home, "probe");
    // This client can sample, but not with tools.
    let token = hub.add_client("desk");
    let client = McpClient::connect_with(&hub.url, &token, &json!({"sampling": {}}));
    let ask = |mode: &str| {
        let params = json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "Weather in Bonn?"}}],
            "maxTokens": 100,
            "tools": [{"name": "city.weather", "inputSchema": {"type": "object"}}],
            "toolChoice": {"mode": mode},
        });
        let arguments = json!({"method": "sampling/createMessage", "params": params});
        client.call("probe__ask", &arguments.to_string())
    };
    provider.answer_with(ProviderAnswer::ToolCall {
        name: "city-weather".into(),
        arguments: r#"{"city":"Bonn"}"#.into(),
    });
    let called = ask("required");
    assert!(
        called.raw.contains("tool_use") && called.raw.contains("city.weather"),
        "{}",
        called.raw
    );
    let body = &provider.requests()[0].body;
    assert_eq!(
        (&body["tool_choice"], &body["tools"][0]["function"]["name"]),
        (&json!("required"), &json!("city-weather"))
    );
    provider.answer_with(ProviderAnswer::Text("No idea".into()));
    let refused = ask("required");
    assert!(refused.raw.contains("called no tool"), "{}", refused.raw);
    assert!(ask("auto").raw.contains("No idea"));
}

#[test]
fn the_provider_answers_in_every_combination_of_eras() {
    let home = Home::new();
    let provider = Provider::start();
    provider.answer_with(ProviderAnswer::Text("Paris it is".into()));
    let hub = Hub::serve(&home);
    set_up(&home, &provider);
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
        allow_sampling(&home, era);
    }
    let legacy = hub.connect_client("legacy-desk");
    let modern = StatelessClient::new(&hub.url, &hub.add_client("modern-desk"), json!({}));
    let mut requests = 0;
    for era in ["legacy", "modern"] {
        let tool = format!("{era}__test_sampling");
        let answers = [
            legacy.call(&tool, r#"{"prompt":"the capital of France"}"#),
            modern.call(&tool, &json!({"prompt": "the capital of France"})),
        ];
        for answer in answers {
            assert!(
                answer.text().contains("Paris it is"),
                "{era}: {}",
                answer.raw
            );
        }
        requests += 2;
        assert_eq!(provider.requests().len(), requests, "{era}");
    }
}
