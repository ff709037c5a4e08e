//! The rate limits of clients and of addresses that repeat a wrong token, and the rules of users.

use drawbridge_tests::{
    Home, Hub, McpClient,
    http::{Request, Response, Url},
    hub::received_calls,
};
use serde_json::{Value, json};

/// A part of the reason for which a call beyond the limit is denied. The answer to the call and its
/// record contain the reason.
const LIMIT_REASON: &str = "may make at most 2 calls a minute";

fn list_calls(home: &Home) -> Vec<Value> {
    let calls = home.cli(&["calls", "list", "--json"]).expect_json();
    calls.as_array().expect("a list").clone()
}

#[test]
fn calls_beyond_the_limit_of_a_client_are_recorded_and_denied_with_the_waiting_time() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    let (limited, other) = (hub.connect_client("limited"), hub.connect_client("other"));
    home.cli(&["clients", "limit", "limited", "--calls-per-minute", "2"])
        .expect_success();
    for number in 0..2 {
        let arguments = format!(r#"{{"n":{number}}}"#);
        assert!(!limited.call("probe__echo", &arguments).is_error());
    }
    let received_before = received_calls(&home).len();
    for number in 0..12 {
        let denied = limited.call("probe__echo", &format!(r#"{{"beyond":{number}}}"#));
        let text = denied.text();
        assert!(
            denied.is_error() && text.contains("Drawbridge denied this call"),
            "{text}"
        );
        assert!(
            text.contains(LIMIT_REASON) && text.contains("wait "),
            "{text}"
        );
    }
    assert!(
        limited
            .call("probe__no_such_tool", "{}")
            .text()
            .contains(LIMIT_REASON)
    );
    let prompt = limited.request("prompts/get", r#"{"name":"probe__greet"}"#);
    assert!(prompt.raw.contains("denied this request"), "{}", prompt.raw);
    assert_eq!(
        received_calls(&home).len(),
        received_before,
        "no further call reached the server"
    );
    assert!(
        !other.call("probe__echo", "{}").is_error(),
        "the other client has no limit"
    );
    let denied: Vec<_> = list_calls(&home)
        .into_iter()
        .filter(|call| {
            call["reason"]
                .as_str()
                .is_some_and(|reason| reason.contains(LIMIT_REASON))
        })
        .collect();
    assert_eq!(denied.len(), 14);
    assert!(
        denied.iter().all(|call| call["decision"] == "denied"),
        "{denied:?}"
    );
    let with_arguments = denied.iter().filter(|call| {
        let id = call["id"].as_str().expect("an id");
        let call = home.cli(&["calls", "show", id, "--json"]).expect_json();
        !call["arguments"].is_null()
    });
    assert_eq!(
        with_arguments.count(),
        10,
        "further arguments are not stored"
    );
    let clients = home.cli(&["clients", "list", "--json"]).expect_json();
    assert_eq!(clients[0]["calls_per_minute"], 2);
    home.cli(&["clients", "limit", "limited", "--calls-per-minute", "off"])
        .expect_success();
    assert!(
        !limited.call("probe__echo", "{}").is_error(),
        "the limit ends at once"
    );
    let output = home.cli(&["clients", "limit", "limited", "--calls-per-minute", "0"]);
    assert_eq!(output.exit_code(), 2, "{}", output.stderr());
}

fn ping(url: &Url, token: &str) -> Response {
    let bearer = format!("Bearer {token}");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let request = Request {
        method: "POST",
        url: &url.with_path("/mcp"),
        headers: &[
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ],
        body: body.as_bytes(),
    };
    request.send().expect("an answer")
}

#[test]
fn an_address_that_repeats_a_wrong_token_has_to_wait_and_a_known_client_does_not() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    let url = Url::parse(&hub.url);
    let refused = (0..5_000).find_map(|_| {
        let response = ping(&url, "not-a-token");
        (response.status != 401).then_some(response)
    });
    let refused = refused.expect("there is a limit");
    assert_eq!(refused.status, 429);
    let wait = refused.header("retry-after").expect("when to try again");
    assert!(
        (1..=60).contains(&wait.parse::<u64>().expect("seconds")),
        "{wait}"
    );
    assert!(!client.call("probe__echo", "{}").is_error());
}

#[test]
fn a_rule_of_a_user_covers_all_clients_of_the_user_and_no_others() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let tokens = ["a", "a2"].map(|name| {
        let added = home
            .cli(&["clients", "add", name, "--user", "ada", "--json"])
            .expect_json();
        added["token"].as_str().expect("a token").to_owned()
    });
    let call = |token: &str| McpClient::connect(&hub.url, token).call("probe__echo", "{}");
    home.cli(&["policy", "set", "probe", "deny", "--user", "ada"])
        .expect_success();
    let bob = hub.connect_client("b");
    assert!(!bob.call("probe__echo", "{}").is_error());
    for token in &tokens {
        let denied = call(token);
        assert!(denied.is_error(), "{}", denied.raw);
        assert!(
            denied.text().contains("for clients of ada"),
            "{}",
            denied.raw
        );
    }
    let file = home.cli(&["policy", "export"]).expect_success().stdout();
    assert!(file.contains(r#""user": "ada""#), "{file}");
    let path = home.file("policy.json");
    std::fs::write(&path, &file).expect("write the policy");
    home.cli(&["policy", "remove", "probe", "--user", "ada"])
        .expect_success();
    assert!(!call(&tokens[0]).is_error());
    let path = path.to_str().expect("text");
    home.cli(&["policy", "import", path, "--replace"])
        .expect_success();
    assert!(call(&tokens[0]).is_error(), "the imported rule applies");
    let preset = ["policy", "preset", "ask-listed", "--server", "probe"];
    assert_ne!(
        home.cli(&preset).exit_code(),
        0,
        "a preset that allows all other servers needs --yes"
    );
    home.cli(&[&preset[..], &["--yes"]].concat())
        .expect_success();
    assert!(
        call(&tokens[0]).text().contains("for clients of ada"),
        "a preset keeps the rule of the user"
    );
    let dry_run = home
        .cli(&[
            "policy",
            "add",
            "probe/echo",
            "deny",
            "--user",
            "ada",
            "--dry-run",
            "--json",
        ])
        .expect_json();
    let newest = dry_run["newest"].as_array().expect("calls");
    assert!(
        !newest.is_empty() && newest.iter().all(|call| call["client"] != "b"),
        "{dry_run}"
    );
}
