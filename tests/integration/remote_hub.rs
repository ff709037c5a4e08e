//! The command line as a client of a remote hub: `MCP_HUB_URL`.

use std::{fs, io::Write, time::Duration};

use drawbridge_tests::{
    Home, Hub, host_name::find_other_name, hub::ADMIN_TOKEN, paths, process::Process,
};
use serde_json::{Value, json};

/// Starts a hub under another name of this computer. Also returns `http://NAME:PORT`.
fn serve(home: &Home) -> (Hub<'_>, String) {
    Hub::serve_as(home, &find_other_name())
}

#[test]
fn every_kind_of_command_works_on_a_remote_hub() {
    let (hub_home, client_home) = (Home::new(), Home::new());
    let (hub, origin) = serve(&hub_home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    // The path of the URL is ignored.
    let url = format!("{origin}/sse");
    let remote = |arguments: &[&str]| client_home.remote_cli(&url, Some(ADMIN_TOKEN), arguments);
    let servers = remote(&["servers", "list", "--json"]).expect_json();
    let has_probe = servers["servers"]
        .as_array()
        .is_some_and(|servers| servers.iter().any(|server| server["id"] == "probe"));
    assert!(has_probe, "{servers}");
    let called = remote(&["tools", "call", "probe__echo", "--args", r#"{"n":1}"#]).expect_success();
    assert_eq!(called.stdout().trim(), r#"{"n":1}"#);
    let added = remote(&["clients", "add", "desk", "--json"]).expect_json();
    assert_eq!(added["url"], format!("{origin}/mcp"));
    let logs = remote(&["logs", "--server", "probe", "--json"]).expect_json();
    assert!(
        logs.as_array().is_some_and(|lines| !lines.is_empty()),
        "{logs}"
    );
    remote(&["pause"]).expect_success();
    remote(&["resume"]).expect_success();
    let link = remote(&["open", "--print"]).expect_success().stdout();
    assert!(
        link.starts_with(&format!("{origin}/#login=")),
        "the link leads to the hub as this computer reaches it: {link}"
    );
    let report = remote(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&report.stdout()).expect("a report");
    let text = report["checks"][0]["text"].as_str().expect("a text");
    assert!(
        text.contains(&paths::path_text(hub_home.data_dir())),
        "{text}"
    );
    let listed = remote(&["config", "list"]).expect_success();
    assert!(
        listed.stderr().contains("on the computer of the hub"),
        "{}",
        listed.stderr()
    );
    assert!(
        !client_home.file("share/drawbridge").exists(),
        "nothing is created on this computer"
    );
}

#[test]
fn a_hub_that_refuses_or_does_not_answer_leads_to_an_error_with_the_remedy() {
    let (hub_home, client_home) = (Home::new(), Home::new());
    let (hub, url) = serve(&hub_home);
    for (url, token, expected) in [
        (
            url.as_str(),
            None,
            "requires its admin token. Set DRAWBRIDGE_ADMIN_TOKEN",
        ),
        (
            url.as_str(),
            Some("wrong"),
            "does not accept the token in DRAWBRIDGE_ADMIN_TOKEN",
        ),
        ("http://127.0.0.1:1", Some(ADMIN_TOKEN), "cannot be reached"),
        ("ftp://hub", Some(ADMIN_TOKEN), "is not a URL such as"),
    ] {
        let refused = client_home.remote_cli(url, token, &["servers", "list"]);
        assert_eq!(refused.exit_code(), 1, "{url}");
        assert!(
            refused.stdout().is_empty() && refused.stderr().contains(expected),
            "{url}: {}",
            refused.stderr()
        );
    }
    let client = hub.add_client("desk");
    let refused = client_home.remote_cli(&url, Some(&client), &["servers", "list"]);
    assert!(
        refused.stderr().contains("admin token"),
        "{}",
        refused.stderr()
    );

    // This hub has the same name, but nobody has allowed the name.
    drop(hub);
    let other_name = find_other_name();
    let address = other_name.address.to_string();
    let hub = Hub::serve_with_arguments(&hub_home, &["--host", &address]);
    let url = format!("http://{}:{}/mcp", other_name.name, hub.port());
    let refused = client_home.remote_cli(&url, Some(ADMIN_TOKEN), &["servers", "list"]);
    assert_eq!(refused.exit_code(), 1);
    let remedy = format!("--allow-host {}:{}", other_name.name, hub.port());
    assert!(refused.stderr().contains(&remedy), "{}", refused.stderr());
}

#[test]
fn the_bridge_serves_a_remote_hub_with_a_clients_token() {
    let (hub_home, client_home) = (Home::new(), Home::new());
    let (hub, url) = serve(&hub_home);
    hub.add_probe(&[]);
    let without = client_home.remote_cli(&url, None, &["stdio"]);
    assert_eq!(without.exit_code(), 1);
    assert!(
        without.stderr().contains("DRAWBRIDGE_CLIENT_TOKEN"),
        "{}",
        without.stderr()
    );
    let mut command = client_home.command(paths::built_binary("drawbridge"));
    command.arg("stdio").stdin(std::process::Stdio::piped());
    command.env("MCP_HUB_URL", &url);
    command.env("DRAWBRIDGE_CLIENT_TOKEN", hub.add_client("desk"));
    let mut bridge = Process::start(&client_home, "bridge", &mut command);
    let mut stdin = bridge.take_stdin();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}
    }});
    writeln!(stdin, "{hello}").expect("write");
    assert!(bridge.read_line().contains("protocolVersion"));
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    writeln!(stdin, "{list}").expect("write");
    let answer = bridge.read_line();
    assert!(answer.contains("probe__echo"), "{answer}");
    let clients = hub_home.cli(&["clients", "list", "--json"]).expect_json();
    assert_eq!(
        clients[0]["name"], "desk",
        "the token names the client: {clients}"
    );
}

#[test]
fn without_the_app_no_local_hub_runs_in_place_of_the_remote_hub() {
    let home = Home::new();
    let alone = home.file("drawbridge");
    let built = paths::built_binary("drawbridge");
    // A link is much faster than a copy, but both must be on the same file system.
    if fs::hard_link(&built, &alone).is_err() {
        fs::copy(&built, &alone).expect("install the program");
    }
    let mut command = home.command(&alone);
    command
        .env("MCP_HUB_URL", "https://hub.example.com/mcp")
        .env("DISPLAY", ":99");
    let mut program = Process::start(&home, "alone", &mut command);
    let (status, _) = program.wait_until_exit(Duration::from_secs(15));
    assert_eq!(status.code(), Some(1), "{}", program.stderr());
    assert!(
        program.stderr().contains("drawbridge open"),
        "{}",
        program.stderr()
    );
}
