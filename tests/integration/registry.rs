//! The registry: spec files that any program may edit, and a hub that follows the edits.

use std::{fs, time::Duration};

use drawbridge_tests::{
    Home, Hub, McpClient,
    hub::{calls_heard, heard, spec_file, write_spec},
    places, until,
    wait::yes,
    within,
};
use serde_json::{Value, json};

/// The README promises a second; a loaded machine gets more.
const SOON: Duration = Duration::from_secs(5);

fn edit(home: &Home, id: &str, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(spec_file(&home.data_dir(), id)).expect("read the spec");
    let mut spec = serde_json::from_str(&text).expect("a spec is JSON");
    change(&mut spec);
    write_spec(home, id, &spec.to_string());
}

fn sees_probe(client: &McpClient) -> bool {
    client
        .tools()
        .iter()
        .any(|name| name.starts_with("probe__"))
}

#[test]
fn the_tools_of_a_server_go_and_come_as_its_file_is_edited() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.client("desk");
    assert!(
        sees_probe(&client),
        "its tools are there: {:?}",
        client.tools()
    );
    edit(&home, "probe", |spec| spec["enabled"] = json!(false));
    within(SOON, "the tools are gone", || yes(!sees_probe(&client)));
    let answer = client.call("probe__echo", "{}");
    assert!(
        answer.error_code().is_some() || answer.is_error(),
        "nor can they be called: {}",
        answer.raw
    );
    edit(&home, "probe", |spec| spec["enabled"] = json!(true));
    within(SOON, "the tools are back", || yes(sees_probe(&client)));
    fs::remove_file(spec_file(&home.data_dir(), "probe")).expect("remove the spec");
    within(SOON, "the tools are gone with the file", || {
        yes(!sees_probe(&client))
    });
    assert_eq!(
        calls_heard(&home),
        Vec::<String>::new(),
        "no call reached the server"
    );
}

#[test]
fn a_broken_file_names_its_line_and_column_and_disturbs_nobody() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("*", "allow");
    let client = hub.client("desk");
    write_spec(
        &home,
        "broken",
        "{\n  \"command\": \"node\",\n  \"args\": [\"1\" \"2\"]\n}\n",
    );
    let broken = within(SOON, "the broken file is told", || {
        home.cli(&["servers", "list", "--json"]).json()["broken"]
            .as_array()?
            .first()
            .cloned()
    });
    assert!(
        broken["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("broken.json")),
        "{broken}"
    );
    assert_eq!(
        (broken["line"].as_u64(), broken["column"].as_u64()),
        (Some(3), Some(16)),
        "{broken}"
    );
    assert_eq!(
        client.call("probe__echo", r#"{"still":"here"}"#).text(),
        r#"{"still":"here"}"#
    );
    write_spec(
        &home,
        "broken",
        r#"{"command": "node", "url": "http://127.0.0.1:1/mcp"}"#,
    );
    let contradiction = until("the contradiction is told", || {
        let list = home.cli(&["servers", "list", "--json"]).json();
        list["broken"]
            .as_array()?
            .iter()
            .find(|broken| broken["message"].to_string().contains("url"))
            .cloned()
    });
    assert!(
        contradiction["message"].to_string().contains("command"),
        "both are named: {contradiction}"
    );
    fs::remove_file(spec_file(&home.data_dir(), "broken")).expect("remove the spec");
    within(SOON, "it is forgotten", || {
        yes(home.cli(&["servers", "list", "--json"]).json()["broken"] == json!([]))
    });
    assert!(
        sees_probe(&client),
        "the other server was there all the time"
    );
}

#[test]
fn a_file_that_somebody_dropped_there_starts_nothing_until_it_is_accepted() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = hub.client("desk");
    let program = places::text(places::built("upstream-probe"));
    let file = places::text(home.file("heard"));
    let spec =
        json!({"command": program, "args": ["--heard", file], "trusted": true, "accepted": true});
    write_spec(&home, "probe", &spec.to_string());
    within(SOON, "it waits for the user", || {
        yes(find(&home, "probe")?["state"] == "needs_acceptance")
    });
    assert!(!sees_probe(&client), "no tool of it is shown");
    assert!(
        client.call("probe__echo", "{}").error_code().is_some(),
        "nor can be called"
    );
    assert_eq!(heard(&home), Vec::<String>::new(), "it was not started");
    home.cli(&["servers", "accept", "probe"]).ok();
    hub.until_synced("probe");
    assert!(sees_probe(&client), "now its tools are there");
}

#[test]
fn a_changed_command_waits_until_it_is_accepted_anew() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.policy("*", "allow");
    let client = hub.client("desk");
    assert!(!client.call("probe__echo", "{}").is_error());
    let before = heard(&home).len();
    edit(&home, "probe", |spec| {
        spec["env"] = json!({"LD_PRELOAD": "/tmp/evil.so"})
    });
    within(SOON, "the change is noticed", || {
        yes(find(&home, "probe")?["acceptance"] == "changed")
    });
    within(SOON, "the old process is ended", || {
        yes(home
            .servers()
            .iter()
            .all(|p| !p.command.contains("upstream-probe")))
    });
    let answer = client.call("probe__echo", "{}");
    assert!(
        answer.error_code().is_some() || answer.is_error(),
        "it cannot be called: {}",
        answer.raw
    );
    assert_eq!(
        heard(&home).len(),
        before,
        "nothing reached it, and it was not started anew"
    );
}

fn find(home: &Home, id: &str) -> Option<Value> {
    let list = home.cli(&["servers", "list", "--json"]).json();
    list["servers"]
        .as_array()?
        .iter()
        .find(|server| server["id"] == id)
        .cloned()
}

#[test]
fn a_machine_is_provisioned_before_any_hub_runs() {
    let home = Home::new();
    let program = places::text(places::built("upstream-probe"));
    home.cli(&[
        "servers",
        "add",
        "probe",
        "--env",
        "GREETING=hello",
        "--",
        &program,
    ])
    .ok();
    home.cli(&["policy", "set", "probe", "allow"]).ok();
    let added = home.cli(&["clients", "add", "desk", "--json"]).json();
    let token = added["token"].as_str().expect("a token").to_owned();
    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    until("its tools are there", || yes(sees_probe(&client)));
    assert_eq!(
        client
            .call("probe__variable", r#"{"name":"GREETING"}"#)
            .text(),
        "hello"
    );
}

#[test]
fn a_server_that_cannot_be_started_says_what_to_do() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.add_server("absent", &[], &["/no/such/program"]);
    let verified = home.cli(&["servers", "verify", "absent"]);
    assert_eq!(verified.code(), 1);
    assert!(
        verified.stderr().contains("/no/such/program"),
        "it names the program: {}",
        verified.stderr()
    );
    let server = hub.server("absent");
    assert!(
        server["tools"].as_array().is_some_and(Vec::is_empty),
        "{server}"
    );
    assert!(
        sees_probe(&hub.client("desk")),
        "the other server is not disturbed"
    );
}
