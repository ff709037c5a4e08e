//! The endpoint: tokens, sessions, the rejection of cross-site requests, the answers to batches,
//! the errors for bad requests, and `/health`.

use drawbridge_tests::{
    Home, Hub, McpClient,
    http::{Request, Url},
    hub::{ADMIN_TOKEN, received_calls},
};
use serde_json::{Value, json};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"probe__echo","arguments":{}}}"#;
/// A wrong token that is as long as a token has to be.
const WRONG_TOKEN: &str = "wrong-token-of-the-tests-0123456789abcdef";
const JSON: (&str, &str) = ("Content-Type", "application/json");
const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

#[track_caller]
fn request_status(method: &str, url: &Url, headers: &[(&str, &str)], body: &str) -> u16 {
    let request = Request {
        method,
        url,
        headers,
        body: body.as_bytes(),
    };
    request
        .send()
        .unwrap_or_else(|e| panic!("{method} {}: {e}", url.path))
        .status
}

#[test]
fn a_client_without_a_token_is_rejected() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::parse(&hub.url);
    let token = hub.add_client("desk");
    for authorization in [
        None,
        Some("Bearer wrong".to_owned()),
        Some(format!("Bearer {ADMIN_TOKEN}")),
        Some(token.clone()),
    ] {
        let mut headers = vec![JSON, ACCEPT];
        headers.extend(
            authorization
                .as_deref()
                .map(|authorization| ("Authorization", authorization)),
        );
        assert_eq!(
            request_status("POST", &url, &headers, CALL),
            401,
            "with {authorization:?}"
        );
    }
    let in_query = url.with_path(&format!("/mcp?token={token}"));
    assert_eq!(
        request_status("POST", &in_query, &[JSON, ACCEPT], CALL),
        401,
        "a token in the query is ignored"
    );
}

#[test]
fn a_wrong_or_revoked_token_is_distinguished_from_a_missing_token() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let revoked = hub.add_client("desk");
    home.cli(&["clients", "revoke", "desk"]).expect_success();
    let challenge = |path: &str, token: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![JSON, ACCEPT];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        let url = Url::parse(&hub.url).with_path(path);
        let response = Request {
            method: "POST",
            url: &url,
            headers: &headers,
            body: CALL.as_bytes(),
        }
        .send();
        let response = response.expect("an answer");
        assert_eq!(response.status, 401, "{path} with {token:?}");
        response
            .header("www-authenticate")
            .expect("a challenge")
            .to_owned()
    };
    for path in ["/mcp", "/messages", "/api/verbs/servers.list"] {
        assert_eq!(
            challenge(path, None),
            r#"Bearer realm="drawbridge""#,
            "{path}: a missing token is not reported as invalid"
        );
        let wrong_token_challenge = challenge(path, Some(WRONG_TOKEN));
        let expected_start = r#"Bearer realm="drawbridge", error="invalid_token", error_description="the token is wrong"#;
        assert!(
            wrong_token_challenge.starts_with(expected_start),
            "{path}: {wrong_token_challenge}"
        );
        assert_eq!(
            challenge(path, Some(&revoked)),
            wrong_token_challenge,
            "{path}: a revoked token gets the same response as a wrong one"
        );
    }
}

#[test]
fn a_client_that_tries_oauth_is_directed_to_its_token() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    for (method, path) in [
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/oauth-authorization-server/mcp/files"),
        ("GET", "/.well-known/openid-configuration"),
        ("GET", "/.well-known/openid-configuration/mcp"),
        ("GET", "/mcp/.well-known/openid-configuration"),
        ("GET", "/authorize?response_type=code"),
        ("POST", "/register"),
        ("POST", "/token"),
    ] {
        let url = Url::parse(&hub.url).with_path(path);
        let response = Request {
            method,
            url: &url,
            headers: &[JSON],
            body: b"{}",
        }
        .send()
        .expect("an answer");
        assert_eq!(response.status, 404, "{path}");
        let error: Value = serde_json::from_str(&response.text().expect("a body")).expect("JSON");
        assert_eq!(error["error"], "not_supported", "{path}: {error}");
        let description = error["error_description"].as_str().expect("a description");
        assert!(
            description.contains("Clients screen") && description.contains("Bearer"),
            "{path}: {description}"
        );
        assert_eq!(
            request_status(
                method,
                &url,
                &[JSON, ("Origin", "https://example.com")],
                "{}"
            ),
            403,
            "{path}: from another origin"
        );
        assert_eq!(
            request_status(method, &url, &[JSON, ("Host", "example.com")], "{}"),
            403,
            "{path}: with another host"
        );
    }
}

#[test]
fn a_new_client_gets_the_endpoint_and_a_working_config() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let added = home
        .cli(&["clients", "add", "desk", "--json"])
        .expect_json();
    assert_eq!(added["url"], hub.url);
    let entry = &added["config"]["mcpServers"]["drawbridge"];
    assert_eq!(entry["url"], hub.url, "{added}");
    let header = entry["headers"]["Authorization"]
        .as_str()
        .expect("the config has the token");
    McpClient::connect(&hub.url, header.trim_start_matches("Bearer ")).list_tools();
    assert!(
        !added["stdio_config"]
            .to_string()
            .contains(added["token"].as_str().expect("a token")),
        "the stdio config contains no token"
    );
}

#[test]
fn a_revoked_client_is_rejected_immediately() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let token = hub.add_client("desk");
    let client = McpClient::connect(&hub.url, &token);
    home.cli(&["clients", "revoke", "desk"]).expect_success();
    let bearer = format!("Bearer {token}");
    let headers = [JSON, ACCEPT, ("Authorization", bearer.as_str())];
    assert_eq!(
        request_status("POST", &Url::parse(&hub.url), &headers, CALL),
        401
    );
    let answer = client.try_request("tools/list", "{}");
    assert!(
        answer.is_err() || answer.is_ok_and(|answer| !answer.raw.contains("\"tools\"")),
        "the session ends with the token"
    );
}

#[test]
fn a_supplied_token_is_accepted_unless_it_is_short() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let token = "0123456789abcdef0123456789abcdef";
    let mut command = home.command(drawbridge_tests::paths::built_binary("drawbridge"));
    command
        .args([
            "clients",
            "add",
            "desk",
            "--token-stdin",
            "--json",
            "--data-dir",
        ])
        .arg(home.data_dir());
    assert!(feed_stdin(&mut command, token), "32 characters are enough");
    McpClient::connect(&hub.url, token).list_tools();
    let mut command = home.command(drawbridge_tests::paths::built_binary("drawbridge"));
    command
        .args(["clients", "add", "other", "--token-stdin", "--data-dir"])
        .arg(home.data_dir());
    assert!(
        !feed_stdin(&mut command, "short"),
        "a short token is rejected"
    );
}

/// Runs a command with this text on its stdin. Returns whether the command succeeds.
fn feed_stdin(command: &mut std::process::Command, text: &str) -> bool {
    use std::{io::Write, process::Stdio};
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("start drawbridge");
    child
        .stdin
        .take()
        .expect("stdin is piped")
        .write_all(text.as_bytes())
        .expect("write the token");
    child.wait().expect("wait for drawbridge").success()
}

#[test]
fn a_client_never_administers() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = format!("Bearer {}", hub.add_client("desk"));
    for verb in [
        "servers.list",
        "policy.set_default",
        "approvals.list",
        "clients.add",
        "settings.change",
        "secrets.list",
    ] {
        let url = Url::parse(&hub.url).with_path(&format!("/api/verbs/{verb}"));
        assert_eq!(
            request_status("POST", &url, &[JSON, ("Authorization", &client)], "{}"),
            403,
            "{verb} with a client's token"
        );
        assert_eq!(
            request_status("POST", &url, &[JSON], "{}"),
            401,
            "{verb} without a token"
        );
        assert_eq!(
            request_status("POST", &url, &[JSON, ("Authorization", "Bearer no")], "{}"),
            401,
            "{verb} with a wrong token"
        );
    }
}

#[test]
fn cross_site_requests_are_rejected() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("*", "allow");
    let url = Url::parse(&hub.url);
    let port = url.authority.rsplit(':').next().expect("a port").to_owned();
    let client = format!("Bearer {}", hub.add_client("desk"));
    let admin = format!("Bearer {ADMIN_TOKEN}");
    let routes = [
        ("POST", "/mcp", &client, CALL),
        ("GET", "/mcp", &client, ""),
        ("DELETE", "/mcp", &client, ""),
        ("GET", "/sse", &client, ""),
        ("POST", "/messages/?session_id=x", &client, CALL),
        ("GET", "/health", &client, ""),
        ("GET", "/", &client, ""),
        ("POST", "/api/verbs/servers.list", &admin, "{}"),
        ("GET", "/no-such-route", &admin, ""),
    ];
    let evil_port = format!("evil.example:{port}");
    let lookalike_host = format!("127.0.0.1.evil.example:{port}");
    let userinfo_host = format!("127.0.0.1:{port}@evil.example");
    let wrong_port = "127.0.0.1:1".to_owned();
    let hosts = [
        "evil.example",
        &evil_port,
        &lookalike_host,
        &userinfo_host,
        &wrong_port,
    ];
    let other_port = "http://127.0.0.1:1".to_owned();
    let lookalike_origin = format!("http://{lookalike_host}");
    let https = format!("https://127.0.0.1:{port}");
    let origins = [
        "null",
        "http://evil.example",
        &other_port,
        &lookalike_origin,
        &https,
    ];
    for (method, path, token, body) in routes {
        let route_url = url.with_path(path);
        let base = [JSON, ACCEPT, ("Authorization", token.as_str())];
        for host in hosts {
            let headers = [base.as_slice(), &[("Host", host)]].concat();
            assert_eq!(
                request_status(method, &route_url, &headers, body),
                403,
                "{method} {path} with Host {host}"
            );
        }
        let headers = [base.as_slice(), &[("Host", "")]].concat();
        assert_eq!(
            request_status(method, &route_url, &headers, body),
            400,
            "{method} {path} without Host"
        );
        for origin in origins {
            let headers = [base.as_slice(), &[("Origin", origin)]].concat();
            assert_eq!(
                request_status(method, &route_url, &headers, body),
                403,
                "{method} {path} with Origin {origin}"
            );
        }
        let headers = [base.as_slice(), &[("Sec-Fetch-Site", "cross-site")]].concat();
        assert_eq!(
            request_status(method, &route_url, &headers, body),
            403,
            "{method} {path} from another site"
        );
    }
    assert_eq!(
        received_calls(&home),
        Vec::<String>::new(),
        "no call reached the server"
    );
}

#[test]
fn a_session_of_another_client_is_unknown() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::parse(&hub.url);
    let (owner, other) = (
        format!("Bearer {}", hub.add_client("one")),
        format!("Bearer {}", hub.add_client("two")),
    );
    let session = open_session(&url, &owner, "2025-06-18");
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    for (sender, token, expected) in [("its owner", &owner, 200), ("another client", &other, 404)] {
        let headers = [
            JSON,
            ACCEPT,
            ("Authorization", token.as_str()),
            ("Mcp-Session-Id", &session),
        ];
        assert_eq!(
            request_status("POST", &url, &headers, list),
            expected,
            "the session used by {sender}"
        );
    }
}

/// Opens a session with this revision and returns its id.
fn open_session(url: &Url, bearer: &str, revision: &str) -> String {
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}});
    let headers = [JSON, ACCEPT, ("Authorization", bearer)];
    let response = Request {
        method: "POST",
        url,
        headers: &headers,
        body: initialize.to_string().as_bytes(),
    }
    .send();
    response
        .expect("an answer")
        .header("Mcp-Session-Id")
        .expect("a session")
        .to_owned()
}

#[test]
fn a_batch_is_answered_only_in_revisions_with_batches() {
    const BATCH: &str = r#"[
        {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"probe__echo","arguments":{"text":"two"}}},
        {"jsonrpc":"2.0","method":"notifications/initialized"},
        {"jsonrpc":"2.0","id":"3","method":"tools/call","params":{"name":"probe__echo","arguments":{"text":"three"}}},
        {"jsonrpc":"2.0","id":2,"method":"ping"},
        {"jsonrpc":"2.0","id":4,"Method":"ping"},
        {"jsonrpc":"2.0","id":5,"method":"ping"}]"#;
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("*", "allow");
    let url = Url::parse(&hub.url);
    let bearer = format!("Bearer {}", hub.add_client("desk"));
    let post = |revision: &str, body: &str| {
        let session = open_session(&url, &bearer, revision);
        let headers = [
            JSON,
            ACCEPT,
            ("Authorization", bearer.as_str()),
            ("Mcp-Session-Id", session.as_str()),
        ];
        let answer = Request {
            method: "POST",
            url: &url,
            headers: &headers,
            body: body.as_bytes(),
        }
        .send();
        let answer = answer.expect("an answer");
        (answer.status, answer.text().expect("a body"))
    };

    let (status, body) = post("2025-03-26", BATCH);
    assert_eq!(status, 200, "{body}");
    let answers: Vec<Value> = serde_json::from_str(&body).expect("an array");
    let answers_with_id = |id: Value| {
        answers
            .iter()
            .filter(|answer| answer["id"] == id)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        answers.len(),
        5,
        "each request and each invalid message gets an answer: {body}"
    );
    let duplicate_id_answers = answers_with_id(json!(2));
    assert!(
        duplicate_id_answers
            .iter()
            .any(|answer| answer["result"].to_string().contains("two")),
        "{body}"
    );
    assert!(
        duplicate_id_answers
            .iter()
            .any(|answer| answer["error"]["message"].to_string().contains("in flight")),
        "{body}"
    );
    assert!(
        answers_with_id(json!("3"))[0]["result"]
            .to_string()
            .contains("three"),
        "{body}"
    );
    assert_eq!(answers_with_id(json!(5))[0]["result"], json!({}));
    assert_eq!(
        answers
            .iter()
            .filter(|answer| answer["error"].is_object())
            .count(),
        2,
        "{body}"
    );

    let notifications = r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#;
    assert_eq!(post("2025-03-26", notifications), (202, String::new()));
    for invalid in ["[]", "[1", "[[]]"] {
        let (_, body) = post("2025-03-26", invalid);
        assert!(body.contains("\"error\""), "{invalid}: {body}");
    }
    let long_batch = format!("[{}]", vec!["0"; 101].join(","));
    assert!(
        post("2025-03-26", &long_batch)
            .1
            .contains("more than 100 messages")
    );
    let headers = [
        JSON,
        ACCEPT,
        ("Authorization", bearer.as_str()),
        ("Mcp-Session-Id", "gone"),
    ];
    assert_eq!(
        request_status("POST", &url, &headers, BATCH),
        404,
        "an unknown session is rejected"
    );
    let (status, body) = post("2025-06-18", BATCH);
    assert!(status == 400 && body.contains("batch"), "{status}: {body}");
    assert_eq!(
        received_calls(&home).len(),
        2,
        "each call of the batch reached the server once"
    );
}

#[test]
fn an_unknown_route_a_wrong_method_and_a_bad_body_have_different_errors() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::parse(&hub.url);
    let admin = format!("Bearer {ADMIN_TOKEN}");
    let headers = [JSON, ("Authorization", admin.as_str())];
    assert_eq!(
        request_status("GET", &url.with_path("/api/no-such-route"), &headers, ""),
        404
    );
    assert_eq!(
        request_status("POST", &url.with_path("/health"), &headers, "{}"),
        405
    );
    assert_eq!(
        request_status(
            "POST",
            &url.with_path("/api/verbs/no.such_verb"),
            &headers,
            "{}"
        ),
        404
    );
    let verb_url = url.with_path("/api/verbs/servers.show");
    let response = Request {
        method: "POST",
        url: &verb_url,
        headers: &headers,
        body: br#"{"id":7}"#,
    }
    .send();
    let response = response.expect("an answer");
    assert_eq!(response.status, 400);
    let body = response.text().expect("a body");
    assert!(
        serde_json::from_str::<Value>(&body).is_ok() && body.contains("servers.show"),
        "the error names the verb: {body}"
    );
}

#[test]
fn duplicate_keys_are_rejected_before_a_decision() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("*", "allow");
    let client = hub.connect_client("desk");
    for params in [
        r#"{"name":"probe__echo","name":"probe__crash","arguments":{}}"#,
        r#"{"name":"probe__echo","arguments":{},"_meta":{"progressToken":2,"x":1,"x":2}}"#,
        r#"{"name":"probe__echo","arguments":{},"_meta":{"x":1,"x":2}}"#,
    ] {
        let answer = client.request("tools/call", params);
        assert!(
            answer.error_code().is_some(),
            "duplicate keys are an error: {}",
            answer.raw
        );
    }
    assert_eq!(
        received_calls(&home),
        Vec::<String>::new(),
        "no call reached the server"
    );
}

#[test]
fn health_reports_only_the_state_of_the_hub() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let url = Url::parse(&hub.url).with_path("/health");
    let response = Request {
        method: "GET",
        url: &url,
        headers: &[],
        body: &[],
    }
    .send()
    .expect("an answer");
    assert_eq!(response.status, 200);
    let health: Value = serde_json::from_str(&response.text().expect("a body")).expect("JSON");
    assert_eq!(health["service"], "drawbridge");
    assert_eq!(health["status"], "ok");
    assert_eq!(health["ready"], true);
    assert_eq!(
        health["registry"],
        json!({"servers_total": 1, "servers_enabled": 1})
    );
    assert!(
        !health.to_string().contains("upstream-probe"),
        "/health names no command: {health}"
    );
}
