//! Pairing: unknown clients on this computer that ask to be added.

use std::{env, io::BufReader, net::TcpStream};

use drawbridge_tests::{
    Home, Hub, McpClient,
    http::{Request, Response, Url},
    paths,
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");
const OWN_TOKEN: &str = "a-token-that-the-client-has-made-itself";
const LIST_TOOLS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

/// Begins `POST /pair`, which is answered after a person has decided.
fn begin_pairing(hub: &Hub, name: &str, token: Option<&str>) -> TcpStream {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![JSON];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    let url = Url::parse(&hub.url).with_path("/pair");
    let body = json!({ "name": name }).to_string();
    let request = Request {
        method: "POST",
        url: &url,
        headers: &headers,
        body: body.as_bytes(),
    };
    request.begin().expect("the hub listens")
}

/// Returns the status and the body of the answer.
fn read_answer(connection: TcpStream) -> (u16, Value) {
    let response = Response::read(BufReader::new(connection)).expect("an answer");
    let status = response.status;
    let text = response.text().expect("a body");
    (status, serde_json::from_str(&text).expect("JSON"))
}

/// Sends a message to the MCP route, and returns the status and the text of the answer.
fn post_mcp(hub: &Hub, token: Option<&str>, body: &str) -> (u16, String) {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![JSON, ACCEPT];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    let url = Url::parse(&hub.url);
    let request = Request {
        method: "POST",
        url: &url,
        headers: &headers,
        body: body.as_bytes(),
    };
    let response = request.send().expect("an answer");
    (response.status, response.text().expect("a body"))
}

fn list_pairings(home: &Home) -> Vec<Value> {
    let list = home.cli(&["clients", "pairing", "list", "--json"]);
    list.expect_json().as_array().expect("a list").clone()
}

/// Waits until this number of clients ask to be paired, and returns their requests.
fn wait_for_pairings(home: &Home, count: usize) -> Vec<Value> {
    wait_until(format!("{count} clients ask to be paired"), || {
        let pairings = list_pairings(home);
        some_if(pairings.len() == count).map(|()| pairings)
    })
}

fn pairing_id(pairing: &Value) -> &str {
    pairing["id"].as_str().expect("an id")
}

#[test]
fn an_approved_client_gets_a_token_that_lists_tools() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let connection = begin_pairing(&hub, "notes", None);
    let requests = wait_for_pairings(&home, 1);
    assert_eq!(requests[0]["name"], "notes");
    assert_eq!(requests[0]["has_token"], false);
    let (status, text) = post_mcp(&hub, None, LIST_TOOLS);
    assert_eq!(status, 401, "nothing is listed yet");
    assert!(
        text.contains("POST /pair") && text.contains("drawbridge config connect CLIENT"),
        "{text}"
    );
    home.cli(&["clients", "pairing", "approve", pairing_id(&requests[0])])
        .expect_success();
    let (status, paired) = read_answer(connection);
    assert_eq!(status, 200, "{paired}");
    assert_eq!(paired["client_id"], "notes");
    assert_eq!(paired["name"], "notes");
    assert_eq!(paired["url"], hub.url);
    let token = paired["token"].as_str().expect("a token");
    let client = McpClient::connect(&hub.url, token);
    let tools = client.list_tools();
    assert!(tools.contains(&"probe__echo".to_owned()), "{tools:?}");
    assert!(list_pairings(&home).is_empty());
    let second_output = home.cli(&["clients", "pairing", "approve", pairing_id(&requests[0])]);
    assert_ne!(
        second_output.exit_code(),
        0,
        "a request can be decided only once"
    );
}

#[test]
fn a_denied_client_cannot_ask_to_be_paired_again() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let connection = begin_pairing(&hub, "notes", None);
    let requests = wait_for_pairings(&home, 1);
    home.cli(&["clients", "pairing", "deny", pairing_id(&requests[0])])
        .expect_success();
    let (status, error) = read_answer(connection);
    assert_eq!(status, 403, "{error}");
    assert_eq!(error["error"]["code"], "forbidden");
    let (status, error) = read_answer(begin_pairing(&hub, "another name", None));
    assert_eq!(status, 403, "the same program: {error}");
    post_mcp(&hub, Some(OWN_TOKEN), LIST_TOOLS);
    let requests = wait_for_pairings(&home, 1);
    home.cli(&["clients", "pairing", "deny", pairing_id(&requests[0])])
        .expect_success();
    let (status, text) = post_mcp(&hub, Some(OWN_TOKEN), LIST_TOOLS);
    assert_eq!(status, 401);
    assert!(!text.contains("has asked its user"), "{text}");
    let (status, _) = read_answer(begin_pairing(&hub, "notes", Some(OWN_TOKEN)));
    assert_eq!(status, 403);
    assert!(list_pairings(&home).is_empty());
    assert_eq!(
        home.cli(&["clients", "list", "--json"]).expect_json(),
        json!([]),
        "no client was added"
    );
}

#[test]
fn an_unknown_token_makes_one_pairing_request_and_works_after_its_approval() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "notes", "version": "1" } } })
    .to_string();
    for _ in 0..3 {
        let (status, text) = post_mcp(&hub, Some(OWN_TOKEN), &initialize);
        assert_eq!(status, 401);
        assert!(
            text.contains("has asked its user to pair this client"),
            "{text}"
        );
    }
    let requests = list_pairings(&home);
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!(requests[0]["name"], "notes");
    assert_eq!(requests[0]["has_token"], true);
    assert_eq!(requests[0]["revoked_client"], Value::Null);
    home.cli(&["clients", "pairing", "approve", pairing_id(&requests[0])])
        .expect_success();
    let client = McpClient::connect(&hub.url, OWN_TOKEN);
    assert!(client.list_tools().contains(&"probe__echo".to_owned()));
    let (status, error) = read_answer(begin_pairing(&hub, "notes", Some(OWN_TOKEN)));
    assert_eq!(status, 409, "there is nothing to pair: {error}");

    home.cli(&["clients", "revoke", "notes"]).expect_success();
    let (status, _) = post_mcp(&hub, Some(OWN_TOKEN), &initialize);
    assert_eq!(status, 401, "the token is unknown again");
    let requests = wait_for_pairings(&home, 1);
    assert_eq!(requests[0]["revoked_client"], "notes");
}

#[test]
fn a_short_token_makes_no_pairing_request() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (status, _) = post_mcp(&hub, Some("short"), LIST_TOOLS);
    assert_eq!(status, 401);
    let (status, _) = read_answer(begin_pairing(&hub, "notes", Some("short")));
    assert_eq!(status, 400);
    assert!(list_pairings(&home).is_empty());
}

#[test]
fn a_client_can_pair_with_a_token_of_its_own() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let connection = begin_pairing(&hub, "notes", Some(OWN_TOKEN));
    let requests = wait_for_pairings(&home, 1);
    let (status, _) = post_mcp(&hub, Some(OWN_TOKEN), LIST_TOOLS);
    assert_eq!(status, 401);
    assert_eq!(
        list_pairings(&home).len(),
        1,
        "one pairing request per token"
    );
    // A profile with one server, which does not exist, so its clients see no tool.
    home.cli(&["profiles", "set", "empty", "other"])
        .expect_success();
    let approve = ["clients", "pairing", "approve", pairing_id(&requests[0])];
    let with_profile = [&approve[..], &["--name", "mine", "--profile"]].concat();
    let unknown = home.cli(&[&with_profile[..], &["unknown"]].concat());
    assert_ne!(unknown.exit_code(), 0);
    assert_eq!(list_pairings(&home).len(), 1, "the client still waits");
    home.cli(&[&with_profile[..], &["empty"]].concat())
        .expect_success();
    let (status, paired) = read_answer(connection);
    assert_eq!(status, 200, "{paired}");
    assert_eq!(paired["name"], "mine");
    assert_eq!(paired["token"], Value::Null);
    let tools = McpClient::connect(&hub.url, OWN_TOKEN).list_tools();
    assert!(tools.is_empty(), "the profile applies: {tools:?}");
}

#[test]
fn a_new_client_does_not_get_the_name_of_another_client() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_client("notes");
    let connection = begin_pairing(&hub, "notes", None);
    let requests = wait_for_pairings(&home, 1);
    assert_eq!(requests[0]["suggested_name"], "notes 2");
    let output = home.cli(&[
        "clients",
        "pairing",
        "approve",
        pairing_id(&requests[0]),
        "--name",
        "notes",
    ]);
    assert_ne!(output.exit_code(), 0);
    home.cli(&["clients", "pairing", "approve", pairing_id(&requests[0])])
        .expect_success();
    assert_eq!(read_answer(connection).1["name"], "notes 2");
}

#[test]
fn the_fifth_client_is_refused_and_a_closed_connection_frees_its_place() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let token = |number: usize| format!("{OWN_TOKEN}-{number}");
    let mut connections: Vec<_> = (0..4)
        .map(|number| begin_pairing(&hub, "notes", Some(&token(number))))
        .collect();
    wait_for_pairings(&home, 4);
    let (status, error) = read_answer(begin_pairing(&hub, "notes", Some(&token(4))));
    assert_eq!(status, 429, "{error}");
    assert!(error["error"]["message"].is_string(), "{error}");
    let (_, text) = post_mcp(&hub, Some(&token(5)), LIST_TOOLS);
    assert!(!text.contains("has asked its user"), "{text}");
    drop(connections.pop());
    wait_for_pairings(&home, 3);
    let _fifth = begin_pairing(&hub, "notes", Some(&token(4)));
    wait_for_pairings(&home, 4);
}

#[test]
fn the_pairing_request_names_the_program_behind_the_connection() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _connection = begin_pairing(&hub, "notes", None);
    let requests = wait_for_pairings(&home, 1);
    let program = &requests[0]["program"];
    let own = env::current_exe().expect("the program of this test");
    assert_eq!(program["executable"], paths::path_text(&own));
    assert_eq!(program["pid"], std::process::id());
    let folder = env::current_dir().expect("a folder");
    assert_eq!(program["folder"], paths::path_text(&folder));
    let shown = home.cli(&["clients", "pairing", "list"]).expect_success();
    assert!(shown.stdout().contains(&paths::path_text(&own)));
}

#[test]
fn websites_and_bad_requests_are_refused_without_a_pairing_request() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = Url::parse(&hub.url).with_path("/pair");
    let valid_body = r#"{"name":"notes"}"#.to_owned();
    let long_body = json!({ "name": "notes", "more": "x".repeat(5000) }).to_string();
    for (headers, body, expected) in [
        (vec![JSON, ("Host", "evil.example")], &valid_body, 403),
        (
            vec![JSON, ("Origin", "http://evil.example")],
            &valid_body,
            403,
        ),
        (
            vec![JSON, ("Sec-Fetch-Site", "cross-site")],
            &valid_body,
            403,
        ),
        (vec![("Content-Type", "text/plain")], &valid_body, 415),
        (vec![JSON], &r#"{"name":""}"#.to_owned(), 400),
        (vec![JSON], &r#"{"name":"a\u202eb"}"#.to_owned(), 400),
        (
            vec![JSON],
            &json!({ "name": "x".repeat(65) }).to_string(),
            400,
        ),
        (vec![JSON], &"{}".to_owned(), 400),
        (vec![JSON], &long_body, 413),
    ] {
        let request = Request {
            method: "POST",
            url: &url,
            headers: &headers,
            body: body.as_bytes(),
        };
        let response = request.send().expect("an answer");
        assert_eq!(response.status, expected, "{headers:?} {body:.80}");
    }
    assert!(list_pairings(&home).is_empty());
}

#[test]
fn pairing_requests_and_decisions_are_in_the_audit_log() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    post_mcp(&hub, Some(OWN_TOKEN), LIST_TOOLS);
    let requests = wait_for_pairings(&home, 1);
    home.cli(&["clients", "pairing", "approve", pairing_id(&requests[0])])
        .expect_success();
    for kind in ["pairing_requested", "pairing_approved", "client_added"] {
        let page = home
            .cli(&["audit", "list", "--kind", kind, "--json"])
            .expect_json();
        let entries = page["entries"].as_array().expect("entries");
        assert_eq!(entries.len(), 1, "{kind}: {page}");
        assert!(!page.to_string().contains(OWN_TOKEN), "{page}");
    }
}
