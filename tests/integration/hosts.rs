//! The hosts under which the hub answers, and the admin token of a hub that other computers can
//! reach.

use std::time::Duration;

use drawbridge_tests::{
    Home, Hub, McpClient,
    http::{Request, Response, Url},
    hub::ADMIN_TOKEN,
    paths,
    process::Process,
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

/// Sends `GET /health` with these headers.
#[track_caller]
fn get_health(hub: &Hub<'_>, headers: &[(&str, &str)]) -> Response {
    let request = Request {
        method: "GET",
        url: &Url::parse(&hub.url).with_path("/health"),
        headers,
        body: b"",
    };
    request
        .send()
        .unwrap_or_else(|e| panic!("{headers:?}: {e}"))
}

#[track_caller]
fn status(hub: &Hub<'_>, headers: &[(&str, &str)]) -> u16 {
    get_health(hub, headers).status
}

#[test]
fn the_hub_answers_under_allowed_hosts_with_their_ports_only() {
    let home = Home::new();
    let hosts = [
        "--allow-host",
        "mcp-hub",
        "--allow-host",
        "localhost:8082",
        "--allow-host",
        "hub.example:443",
    ];
    let hub = Hub::serve_with_arguments(&home, &hosts);
    let own_port = format!("mcp-hub:{}", hub.port());
    let origin = format!("http://{own_port}");
    for headers in [
        vec![("Host", own_port.as_str())],
        vec![("Host", own_port.as_str()), ("Origin", origin.as_str())],
        // A container engine maps this port to the port of the hub.
        vec![
            ("Host", "localhost:8082"),
            ("Origin", "http://localhost:8082"),
        ],
        // A reverse proxy with TLS passes the host and the origin on.
        vec![("Host", "hub.example"), ("Origin", "https://hub.example")],
    ] {
        assert_eq!(status(&hub, &headers), 200, "{headers:?}");
    }
    for headers in [
        vec![("Host", "mcp-hub")],
        vec![("Host", "mcp-hub:1")],
        vec![("Host", "localhost:8083")],
        vec![("Host", "hub.example:8765")],
        // A name that an attacker points at this computer (DNS rebinding).
        vec![("Host", "evil.example:8082")],
        vec![("Host", "mcp-hub.evil.example")],
        // A page of another site, even if it knows an allowed name.
        vec![
            ("Host", own_port.as_str()),
            ("Origin", "http://evil.example"),
        ],
        vec![("Host", own_port.as_str()), ("Origin", "http://mcp-hub")],
        vec![
            ("Host", own_port.as_str()),
            ("Sec-Fetch-Site", "cross-site"),
        ],
    ] {
        assert_eq!(status(&hub, &headers), 403, "{headers:?}");
    }
    let refused = get_health(&hub, &[("Host", "other-name:8765")])
        .text()
        .expect("a body");
    assert!(
        refused.contains("--allow-host other-name:8765") && refused.contains("Settings screen"),
        "the refusal says how to allow the host: {refused}"
    );
}

#[test]
fn a_host_in_the_settings_applies_at_once_and_to_new_clients() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let host = format!("mcp-hub:{}", hub.port());
    assert_eq!(status(&hub, &[("Host", &host)]), 403);
    let set = |hosts: &str| home.cli(&["settings", "set", "allowed-hosts", hosts]);
    set("Mcp-Hub, hub.example:443").expect_success();
    wait_until("the host is allowed", || {
        some_if(status(&hub, &[("Host", &host)]) == 200)
    });
    let value = home
        .cli(&["settings", "get", "allowed-hosts"])
        .expect_success();
    assert_eq!(value.stdout().trim(), "mcp-hub,hub.example:443");
    let added = home
        .cli(&["clients", "add", "desk", "--json"])
        .expect_json();
    let url = format!("http://{host}/mcp");
    assert_eq!(added["url"], url);
    assert_eq!(added["config"]["mcpServers"]["drawbridge"]["url"], url);
    assert!(
        !added["stdio_config"].to_string().contains("mcp-hub"),
        "the bridge needs no host: {added}"
    );
    for wrong in ["*", "http://hub", "hub:0", "0.0.0.0"] {
        let refused = set(wrong);
        assert_eq!(refused.exit_code(), 1, "{wrong}");
        assert!(
            refused.stderr().contains("allowed_hosts"),
            "{}",
            refused.stderr()
        );
    }
    set("").expect_success();
    wait_until("the host is forbidden again", || {
        some_if(status(&hub, &[("Host", &host)]) == 403)
    });
}

#[test]
fn a_hub_on_all_addresses_hands_out_urls_that_clients_can_use() {
    let home = Home::new();
    let hub = Hub::serve_with_arguments(&home, &["--host", "0.0.0.0"]);
    assert!(
        hub.stderr().contains("other computers can reach the hub"),
        "{}",
        hub.stderr()
    );
    let port = hub.port();
    let add = |name: &str| home.cli(&["clients", "add", name, "--json"]).expect_json();
    let local = add("here");
    assert_eq!(local["url"], format!("http://127.0.0.1:{port}/mcp"));
    let token = local["token"].as_str().expect("a token");
    McpClient::connect(local["url"].as_str().expect("a URL"), token).list_tools();
    home.cli(&["settings", "set", "allowed-hosts", "mcp-hub.localhost"])
        .expect_success();
    assert_eq!(
        add("there")["url"],
        format!("http://mcp-hub.localhost:{port}/mcp")
    );
    let shown = home.cli(&["open", "--print"]).expect_success().stdout();
    assert!(
        shown.starts_with(&format!("http://127.0.0.1:{port}/")),
        "{shown}"
    );
}

#[test]
fn a_hub_that_others_can_reach_needs_a_long_admin_token() {
    let home = Home::new();
    let start = |token: Option<&str>, file: Option<&str>| {
        let mut command = home.command(paths::built_binary("drawbridge"));
        command.args(["serve", "--host", "0.0.0.0", "--port", "0", "--data-dir"]);
        command.arg(home.data_dir());
        if let Some(token) = token {
            command.env("DRAWBRIDGE_ADMIN_TOKEN", token);
        }
        if let Some(file) = file {
            command.env("DRAWBRIDGE_ADMIN_TOKEN_FILE", file);
        }
        Process::start(&home, "serve", &mut command)
    };
    let missing_file = paths::path_text(home.file("no-such-file"));
    for (token, file, expected) in [
        (None, None, "there is none"),
        (Some("short"), None, "the admin token has 5 characters"),
        (
            None,
            Some(missing_file.as_str()),
            "cannot read the admin token",
        ),
    ] {
        let mut hub = start(token, file);
        let (exit, output) = hub.wait_until_exit(Duration::from_secs(15));
        assert_eq!((exit.code(), output.as_str()), (Some(1), ""), "{token:?}");
        assert!(hub.stderr().contains(expected), "{}", hub.stderr());
    }
    let file = home.file("token");
    std::fs::write(&file, format!("{ADMIN_TOKEN}\n")).expect("write the token");
    let mut hub = start(None, Some(&paths::path_text(&file)));
    let url = hub
        .read_line()
        .replace("listening on http://0.0.0.0", "http://127.0.0.1");
    let (status, text) = drawbridge_tests::hub::try_verb(&url, "settings.show", &json!({}));
    assert_eq!(
        status, 200,
        "the token of the file is the administrator's: {text}"
    );
}

#[test]
fn health_names_no_path_of_the_user() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let text = get_health(&hub, &[]).text().expect("a body");
    let health: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(health["transports"].as_array().map(Vec::len), Some(2));
    assert!(!text.contains(&paths::path_text(home.path())), "{text}");
}

#[test]
fn a_client_that_connects_under_an_allowed_host_cannot_ask_to_be_paired() {
    let home = Home::new();
    let hub = Hub::serve_with_arguments(&home, &["--allow-host", "hub.example:443"]);
    let request = Request {
        method: "POST",
        url: &Url::parse(&hub.url).with_path("/pair"),
        headers: &[
            ("Host", "hub.example"),
            ("Content-Type", "application/json"),
        ],
        body: br#"{"name":"far away"}"#,
    };
    let response = request.send().expect("an answer");
    assert_eq!(response.status, 403);
    assert!(
        response
            .text()
            .expect("a body")
            .contains("from this computer")
    );
}
