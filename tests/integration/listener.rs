//! The HTTP listener: its port, and the behaviour of the hub while it cannot listen.

use std::net::{TcpListener, TcpStream};

use drawbridge_tests::{
    Home, McpClient, hub::ADMIN_TOKEN, paths, ports::find_free_port, process::Process,
    wait::some_if, wait_until,
};
use serde_json::Value;

/// Starts a hub on the port of its settings.
fn spawn_hub(home: &Home) -> Process {
    let mut command = home.command(paths::built_binary("drawbridge"));
    command
        .args(["serve", "--skip-config-gen", "--data-dir"])
        .arg(home.data_dir())
        .env("DRAWBRIDGE_ADMIN_TOKEN", ADMIN_TOKEN);
    Process::start(home, "serve", &mut command)
}

fn bind_any_port() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port.to_string())
}

fn set_port(home: &Home, port: &str) {
    home.cli(&["settings", "set", "port", port])
        .expect_success();
}

/// Adds a client and returns its token and the URL of the endpoint.
fn add_client(home: &Home, name: &str) -> (String, String) {
    let added = home.cli(&["clients", "add", name, "--json"]).expect_json();
    let text = |key: &str| added[key].as_str().expect("a text").to_owned();
    (text("token"), text("url"))
}

#[test]
fn nobody_gets_a_token_while_another_program_has_the_port() {
    let home = Home::new();
    let (other_program, port) = bind_any_port();
    set_port(&home, &port);
    let hub = spawn_hub(&home);
    wait_until("the hub says who has the port", || {
        let owner = format!("(process {}) uses port {port}", std::process::id());
        some_if(hub.stderr().contains(&owner))
    });
    let refused = home.cli(&["clients", "add", "desk"]);
    assert_eq!(refused.exit_code(), 1);
    assert!(
        refused.stdout().is_empty() && refused.stderr().contains("drawbridge settings set port"),
        "{}",
        refused.stderr()
    );
    let clients = home.cli(&["clients", "list", "--json"]).expect_json();
    assert_eq!(clients, Value::Array(vec![]), "no client was added");

    let by_url = home.cli(&["config", "connect", "cursor", "--http", "--yes"]);
    assert_eq!(by_url.exit_code(), 1);
    assert!(by_url.stderr().contains("over HTTP"), "{}", by_url.stderr());

    drop(other_program);
    let (token, url) = wait_until("the hub listens as soon as the port is free", || {
        let output = home.cli(&["clients", "add", "desk", "--json"]);
        some_if(output.exit_code() == 0)?;
        let added: Value = serde_json::from_str(&output.stdout()).ok()?;
        let text = |key: &str| added[key].as_str().map(str::to_owned);
        Some((text("token")?, text("url")?))
    });
    assert_eq!(url, format!("http://127.0.0.1:{port}/mcp"));
    McpClient::connect(&url, &token);
}

#[test]
fn a_client_that_starts_the_bridge_needs_no_port() {
    let home = Home::new();
    let (_other_program, port) = bind_any_port();
    set_port(&home, &port);
    let hub = spawn_hub(&home);
    wait_until("the hub cannot listen", || {
        some_if(hub.stderr().contains(&format!("uses port {port}")))
    });
    let shown = home.cli(&["config", "show", "cursor"]).expect_success();
    assert!(shown.stdout().contains("stdio"), "{}", shown.stdout());
    home.cli(&["config", "connect", "cursor", "--yes"])
        .expect_success();
    let tested = home
        .cli(&["config", "test", "cursor", "--json"])
        .expect_json();
    assert_eq!(tested["problem"], Value::Null, "{tested}");
}

#[test]
fn a_changed_port_applies_at_once_and_after_a_restart() {
    let home = Home::new();
    let (first, second) = (find_free_port().to_string(), find_free_port().to_string());
    set_port(&home, &first);
    let mut hub = spawn_hub(&home);
    assert_eq!(
        hub.read_line(),
        format!("listening on http://127.0.0.1:{first}/mcp")
    );
    let (token, url) = add_client(&home, "desk");
    McpClient::connect(&url, &token);

    let (_other_program, used) = bind_any_port();
    let refused = home.cli(&["settings", "set", "port", &used]);
    assert_eq!(refused.exit_code(), 1);
    assert!(
        refused.stderr().contains("choose another port"),
        "{}",
        refused.stderr()
    );
    McpClient::connect(&url, &token);

    set_port(&home, &second);
    let new_url = format!("http://127.0.0.1:{second}/mcp");
    wait_until("the endpoint moves", || {
        TcpStream::connect(format!("127.0.0.1:{second}")).ok()
    });
    McpClient::connect(&new_url, &token);
    wait_until("nothing listens on the old port", || {
        TcpListener::bind(format!("127.0.0.1:{first}")).ok()
    });
    drop(hub);
    assert_eq!(
        spawn_hub(&home).read_line(),
        format!("listening on {new_url}")
    );
}
