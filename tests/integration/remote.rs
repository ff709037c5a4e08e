//! A server at a URL: the public one over streamable HTTP and over HTTP+SSE, and what happens when it goes and comes back.

use std::net::TcpStream;

use drawbridge_tests::{Home, Hub, McpClient, driver::free_port, places, process::Process, until, wait::yes};
use nix::sys::signal::Signal;

/// The public server, listening.
fn serve(home: &Home, port: u16) -> Process {
    serve_as(home, port, "streamableHttp")
}

fn serve_as(home: &Home, port: u16, transport: &str) -> Process {
    let mut command = home.command("node");
    command.arg(places::npm("@modelcontextprotocol/server-everything/dist/index.js")).arg(transport);
    command.env("PORT", port.to_string());
    let process = Process::start(home, "remote", &mut command);
    until("the remote server listens", || yes(TcpStream::connect(("127.0.0.1", port)).is_ok()));
    process
}

/// Drawbridge before it.
fn add(home: &Home, hub: &Hub<'_>, port: u16) -> McpClient {
    add_as(home, hub, &format!("http://127.0.0.1:{port}/mcp"), "http")
}

fn add_as(home: &Home, hub: &Hub<'_>, url: &str, transport: &str) -> McpClient {
    home.cli(&["servers", "add", "remote", "--url", url, "--transport", transport, "--header", "X-Desk=1"]).ok();
    hub.until_synced("remote");
    hub.policy("remote", "allow");
    hub.client("desk")
}

fn echo(client: &McpClient) -> String {
    client.call("remote__echo", r#"{"message":"over the water"}"#).text()
}

#[test]
fn a_remote_server_is_listed_and_called() {
    let (home, port) = (Home::new(), free_port());
    let remote = serve(&home, port);
    let hub = Hub::serve(&home);
    let client = add(&home, &hub, port);
    assert!(client.tools().contains(&"remote__get-sum".to_owned()), "{:?}", client.tools());
    assert_eq!(echo(&client), "Echo: over the water");
    assert_eq!(hub.server("remote")["state"], "active");
    drop(remote);
}

#[test]
fn a_remote_server_that_comes_back_is_found_again_though_it_forgot_the_session() {
    let (home, port) = (Home::new(), free_port());
    let mut remote = serve(&home, port);
    let hub = Hub::serve(&home);
    let client = add(&home, &hub, port);
    assert_eq!(echo(&client), "Echo: over the water");
    remote.signal(Signal::SIGKILL);
    remote.finish(std::time::Duration::from_secs(5));
    let _again = serve(&home, port);
    let first = client.call("remote__echo", r#"{"message":"are you there?"}"#);
    // Where Drawbridge listens to the server again before the call, it has begun a new session by itself.
    let is_noticed = first.text() == "Echo: are you there?";
    assert!(is_noticed || first.text().contains("did not reach"), "it is not sent twice: {}", first.raw);
    assert_eq!(echo(&client), "Echo: over the water", "the next call begins a new session");
}

#[test]
fn a_remote_server_that_forgot_the_session_is_read_anew_at_once() {
    let (home, port) = (Home::new(), free_port());
    let mut remote = serve(&home, port);
    let hub = Hub::serve(&home);
    let client = add(&home, &hub, port);
    for _ in 0..3 {
        assert_eq!(echo(&client), "Echo: over the water");
        remote.signal(Signal::SIGKILL);
        remote.finish(std::time::Duration::from_secs(5));
        remote = serve(&home, port);
        home.cli(&["servers", "sync", "remote"]).ok();
    }
    assert_eq!(echo(&client), "Echo: over the water");
}

#[test]
fn a_remote_server_that_is_away_is_an_error_in_words_and_found_when_it_is_back() {
    let (home, port) = (Home::new(), free_port());
    let mut remote = serve(&home, port);
    let hub = Hub::serve(&home);
    let client = add(&home, &hub, port);
    remote.signal(Signal::SIGKILL);
    remote.finish(std::time::Duration::from_secs(5));
    let away = client.call("remote__echo", r#"{"message":"x"}"#);
    assert!(away.is_error() && away.text().contains("cannot connect"), "{}", away.raw);
    let _back = serve(&home, port);
    assert_eq!(echo(&client), "Echo: over the water");
}

#[test]
fn a_legacy_server_over_http_and_sse_is_listed_called_and_found_again_when_it_is_back() {
    let (home, port) = (Home::new(), free_port());
    let mut remote = serve_as(&home, port, "sse");
    let hub = Hub::serve(&home);
    let client = add_as(&home, &hub, &format!("http://127.0.0.1:{port}/sse"), "sse");
    assert!(client.tools().contains(&"remote__get-sum".to_owned()), "{:?}", client.tools());
    assert_eq!(echo(&client), "Echo: over the water");
    assert_eq!(hub.server("remote")["state"], "active");
    remote.signal(Signal::SIGKILL);
    remote.finish(std::time::Duration::from_secs(5));
    until("its end is seen", || yes(hub.server("remote")["state"] != "active"));
    let _again = serve_as(&home, port, "sse");
    assert_eq!(echo(&client), "Echo: over the water");
}
