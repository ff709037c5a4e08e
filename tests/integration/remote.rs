//! Servers at a URL: `everything` over streamable HTTP and over HTTP+SSE, and its restarts; a
//! legacy server that redirects; and HTTPS without CA certificates.

use std::net::TcpStream;

use drawbridge_tests::{
    Home, Hub, McpClient, paths, ports::find_free_port, process::Process, wait::some_if, wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Starts the server `everything` with streamable HTTP.
fn start_remote_server(home: &Home, port: u16) -> Process {
    start_remote_server_with(home, port, "streamableHttp")
}

fn start_remote_server_with(home: &Home, port: u16, transport: &str) -> Process {
    let mut command = home.command("node");
    command
        .arg(paths::npm_file(
            "@modelcontextprotocol/server-everything/dist/index.js",
        ))
        .arg(transport);
    command.env("PORT", port.to_string());
    let process = Process::start(home, "remote", &mut command);
    wait_until("the remote server listens", || {
        some_if(TcpStream::connect(("127.0.0.1", port)).is_ok())
    });
    process
}

/// Adds the server to the hub, allows its calls, and opens a client session.
fn add_remote_server(home: &Home, hub: &Hub<'_>, port: u16) -> McpClient {
    add_remote_server_with(home, hub, &format!("http://127.0.0.1:{port}/mcp"), "http")
}

fn add_remote_server_with(home: &Home, hub: &Hub<'_>, url: &str, transport: &str) -> McpClient {
    home.cli(&[
        "servers",
        "add",
        "remote",
        "--url",
        url,
        "--transport",
        transport,
        "--header",
        "X-Desk=1",
    ])
    .expect_success();
    hub.wait_until_synced("remote");
    hub.set_policy("remote", "allow");
    hub.connect_client("desk")
}

fn call_echo(client: &McpClient) -> String {
    client
        .call("remote__echo", r#"{"message":"over the water"}"#)
        .text()
}

#[test]
fn a_remote_server_is_listed_and_called() {
    let (home, port) = (Home::new(), find_free_port());
    let remote = start_remote_server(&home, port);
    let hub = Hub::serve(&home);
    let client = add_remote_server(&home, &hub, port);
    assert!(
        client.list_tools().contains(&"remote__get-sum".to_owned()),
        "{:?}",
        client.list_tools()
    );
    assert_eq!(call_echo(&client), "Echo: over the water");
    assert_eq!(hub.show_server("remote")["state"], "active");
    drop(remote);
}

#[test]
fn a_restarted_remote_server_is_reconnected_with_a_new_session() {
    let (home, port) = (Home::new(), find_free_port());
    let mut remote = start_remote_server(&home, port);
    let hub = Hub::serve(&home);
    let client = add_remote_server(&home, &hub, port);
    assert_eq!(call_echo(&client), "Echo: over the water");
    remote.send_signal(Signal::SIGKILL);
    remote.wait_until_exit(std::time::Duration::from_secs(5));
    let _restarted = start_remote_server(&home, port);
    let first = client.call("remote__echo", r#"{"message":"are you there?"}"#);
    // If Drawbridge reconnects its standalone stream before the call, Drawbridge has already begun
    // a new session.
    let is_reconnected = first.text() == "Echo: are you there?";
    assert!(
        is_reconnected || first.text().contains("did not reach"),
        "the call runs in a new session, or did not reach the server: {}",
        first.raw
    );
    assert_eq!(
        call_echo(&client),
        "Echo: over the water",
        "the next call begins a new session"
    );
}

#[test]
fn a_sync_right_after_the_end_of_a_session_succeeds() {
    let (home, port) = (Home::new(), find_free_port());
    let mut remote = start_remote_server(&home, port);
    let hub = Hub::serve(&home);
    let client = add_remote_server(&home, &hub, port);
    for _ in 0..3 {
        assert_eq!(call_echo(&client), "Echo: over the water");
        remote.send_signal(Signal::SIGKILL);
        remote.wait_until_exit(std::time::Duration::from_secs(5));
        remote = start_remote_server(&home, port);
        home.cli(&["servers", "sync", "remote"]).expect_success();
    }
    assert_eq!(call_echo(&client), "Echo: over the water");
}

#[test]
fn an_unreachable_remote_server_is_an_error_until_it_returns() {
    let (home, port) = (Home::new(), find_free_port());
    let mut remote = start_remote_server(&home, port);
    let hub = Hub::serve(&home);
    let client = add_remote_server(&home, &hub, port);
    remote.send_signal(Signal::SIGKILL);
    remote.wait_until_exit(std::time::Duration::from_secs(5));
    let answer = client.call("remote__echo", r#"{"message":"x"}"#);
    assert!(
        answer.is_error() && answer.text().contains("cannot connect"),
        "{}",
        answer.raw
    );
    let _restarted = start_remote_server(&home, port);
    assert_eq!(call_echo(&client), "Echo: over the water");
}

#[test]
fn an_http_sse_server_is_listed_called_and_reconnected() {
    let (home, port) = (Home::new(), find_free_port());
    let mut remote = start_remote_server_with(&home, port, "sse");
    let hub = Hub::serve(&home);
    let client =
        add_remote_server_with(&home, &hub, &format!("http://127.0.0.1:{port}/sse"), "sse");
    assert!(
        client.list_tools().contains(&"remote__get-sum".to_owned()),
        "{:?}",
        client.list_tools()
    );
    assert_eq!(call_echo(&client), "Echo: over the water");
    assert_eq!(hub.show_server("remote")["state"], "active");
    remote.send_signal(Signal::SIGKILL);
    remote.wait_until_exit(std::time::Duration::from_secs(5));
    wait_until("the hub notices the end of the server", || {
        some_if(hub.show_server("remote")["state"] != "active")
    });
    let _restarted = start_remote_server_with(&home, port, "sse");
    assert_eq!(call_echo(&client), "Echo: over the water");
}

/// Starts a server that redirects `/mcp` to `/mcp/`, and returns its URL. Every request except
/// `initialize` has to have the id of the server's session. If it does not, the server answers as
/// the Python SDK 1.x does: with HTTP 400, and with the id of a session that does not exist.
fn start_strict_server() -> String {
    use axum::{
        Json, Router,
        body::Bytes,
        http::{HeaderMap, StatusCode},
        response::{IntoResponse, Redirect, Response},
        routing::post,
    };
    async fn answer(headers: HeaderMap, body: Bytes) -> Response {
        let message: Value = serde_json::from_slice(&body).expect("JSON");
        let session = headers
            .get("mcp-session-id")
            .and_then(|id| id.to_str().ok());
        let result = match (message["method"].as_str().expect("a method"), session) {
            ("initialize", None) => {
                let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "strict", "version": "1"}});
                let body = Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                return ([("mcp-session-id", "the-session")], body).into_response();
            }
            (_, session) if session != Some("the-session") => {
                let error = json!({"code": -32600, "message": "Bad Request: Missing session ID"});
                let body = Json(json!({"jsonrpc": "2.0", "id": "server-error", "error": error}));
                return (
                    StatusCode::BAD_REQUEST,
                    [("mcp-session-id", "of-nothing")],
                    body,
                )
                    .into_response();
            }
            ("tools/list", _) => {
                json!({"tools": [{"name": "here", "inputSchema": {"type": "object"}}]})
            }
            ("tools/call", _) => json!({"content": [{"type": "text", "text": "here"}]}),
            _ => return StatusCode::ACCEPTED.into_response(),
        };
        Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    listener
        .set_nonblocking(true)
        .expect("a listener for tokio");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let redirect = post(|| async { Redirect::temporary("/mcp/") });
            let routes = Router::new()
                .route("/mcp", redirect)
                .route("/mcp/", post(answer));
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            axum::serve(listener, routes).await.expect("serve");
        });
    });
    format!("http://{address}/mcp")
}

#[test]
fn a_redirecting_legacy_server_is_listed_and_called() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = start_strict_server();
    home.cli(&["servers", "add", "strict", "--url", &url])
        .expect_success();
    hub.wait_until_synced("strict");
    hub.set_policy("strict", "allow");
    let client = hub.connect_client("desk");
    assert_eq!(client.list_tools(), ["strict__here"]);
    assert_eq!(client.call("strict__here", "{}").text(), "here");
}

#[test]
fn without_ca_certificates_only_https_fails_and_the_error_names_the_remedy() {
    let mut home = Home::new();
    let missing = paths::path_text(home.path().join("no-certificates"));
    home.set_variable("SSL_CERT_FILE", &missing);
    home.set_variable("SSL_CERT_DIR", &missing);
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    assert!(!client.call("probe__echo", "{}").is_error());
    let url = format!("https://127.0.0.1:{}/mcp", find_free_port());
    home.cli(&["servers", "add", "far", "--url", &url])
        .expect_success();
    let verified = home.cli(&["servers", "verify", "far"]);
    let output = format!("{}{}", verified.stdout(), verified.stderr());
    assert!(output.contains("CA certificates"), "{output}");
}
