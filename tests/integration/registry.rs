//! The registry: spec files that any program may edit, and a hub that follows the edits. A person
//! accepts servers and pins packages on the command line.

use std::fs;

use drawbridge_tests::{
    Home, Hub, McpClient,
    hub::{received_calls, received_lines, spec_file, write_spec},
    paths, store,
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

fn edit_spec(home: &Home, id: &str, change: impl FnOnce(&mut Value)) {
    let text = fs::read_to_string(spec_file(&home.data_dir(), id)).expect("read the spec");
    let mut spec = serde_json::from_str(&text).expect("a spec is JSON");
    change(&mut spec);
    write_spec(home, id, &spec.to_string());
}

fn lists_probe_tools(client: &McpClient) -> bool {
    client
        .list_tools()
        .iter()
        .any(|name| name.starts_with("probe__"))
}

#[test]
fn tools_disappear_and_return_as_the_spec_file_is_edited() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let client = hub.connect_client("desk");
    assert!(
        lists_probe_tools(&client),
        "the tools are listed: {:?}",
        client.list_tools()
    );
    edit_spec(&home, "probe", |spec| spec["enabled"] = json!(false));
    wait_until("the tools are gone", || {
        some_if(!lists_probe_tools(&client))
    });
    let answer = client.call("probe__echo", "{}");
    assert!(
        answer.error_code().is_some() || answer.is_error(),
        "the tools cannot be called: {}",
        answer.raw
    );
    edit_spec(&home, "probe", |spec| spec["enabled"] = json!(true));
    wait_until("the tools are back", || some_if(lists_probe_tools(&client)));
    fs::remove_file(spec_file(&home.data_dir(), "probe")).expect("remove the spec");
    wait_until("the tools are gone with the file", || {
        some_if(!lists_probe_tools(&client))
    });
    assert_eq!(
        received_calls(&home),
        Vec::<String>::new(),
        "no call reached the server"
    );
}

#[test]
fn a_broken_spec_file_is_reported_with_its_position_and_affects_no_other_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("*", "allow");
    let client = hub.connect_client("desk");
    write_spec(
        &home,
        "broken",
        "{\n  \"command\": \"node\",\n  \"args\": [\"1\" \"2\"]\n}\n",
    );
    let reported = wait_until("the broken file is reported", || {
        home.cli(&["servers", "list", "--json"]).expect_json()["broken"]
            .as_array()?
            .first()
            .cloned()
    });
    assert!(
        reported["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("broken.json")),
        "{reported}"
    );
    assert_eq!(
        (reported["line"].as_u64(), reported["column"].as_u64()),
        (Some(3), Some(16)),
        "{reported}"
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
    let contradictory = wait_until("the contradiction is reported", || {
        let list = home.cli(&["servers", "list", "--json"]).expect_json();
        list["broken"]
            .as_array()?
            .iter()
            .find(|reported| reported["message"].to_string().contains("url"))
            .cloned()
    });
    assert!(
        contradictory["message"].to_string().contains("command"),
        "the error names both fields: {contradictory}"
    );
    fs::remove_file(spec_file(&home.data_dir(), "broken")).expect("remove the spec");
    wait_until("the removed file is no longer reported", || {
        some_if(home.cli(&["servers", "list", "--json"]).expect_json()["broken"] == json!([]))
    });
    assert!(
        lists_probe_tools(&client),
        "the tools of the other server are listed"
    );
}

#[test]
fn a_new_spec_file_starts_nothing_until_it_is_accepted() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = hub.connect_client("desk");
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    let file = paths::path_text(home.file("record"));
    // A file cannot accept its own server: the last two members mean nothing.
    let spec =
        json!({"command": program, "args": ["--record", file], "trusted": true, "accepted": true});
    write_spec(&home, "probe", &spec.to_string());
    wait_until("the server waits for acceptance", || {
        some_if(find_server(&home, "probe")?["state"] == "needs_acceptance")
    });
    assert!(
        !lists_probe_tools(&client),
        "no tool of the new server is listed"
    );
    assert!(
        client.call("probe__echo", "{}").error_code().is_some(),
        "the tools of the new server cannot be called"
    );
    assert_eq!(
        received_lines(&home),
        Vec::<String>::new(),
        "the new server was not started"
    );
    home.accept_server("probe");
    hub.wait_until_synced("probe");
    assert!(
        lists_probe_tools(&client),
        "the tools of the accepted server are listed"
    );
}

#[test]
fn a_changed_spec_waits_for_acceptance() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("*", "allow");
    let client = hub.connect_client("desk");
    assert!(!client.call("probe__echo", "{}").is_error());
    let lines_before = received_lines(&home).len();
    edit_spec(&home, "probe", |spec| {
        spec["env"] = json!({"LD_PRELOAD": "/tmp/evil.so"})
    });
    wait_until("the hub has noticed the change", || {
        some_if(find_server(&home, "probe")?["acceptance"] == "changed")
    });
    wait_until("the old process is ended", || {
        some_if(
            home.server_processes()
                .iter()
                .all(|process| !process.command.contains("upstream-probe")),
        )
    });
    let answer = client.call("probe__echo", "{}");
    assert!(
        answer.error_code().is_some() || answer.is_error(),
        "the changed server cannot be called: {}",
        answer.raw
    );
    assert_eq!(
        received_lines(&home).len(),
        lines_before,
        "the changed server was neither called nor restarted"
    );
}

fn find_server(home: &Home, id: &str) -> Option<Value> {
    let list = home.cli(&["servers", "list", "--json"]).expect_json();
    list["servers"]
        .as_array()?
        .iter()
        .find(|server| server["id"] == id)
        .cloned()
}

#[test]
fn a_machine_can_be_provisioned_before_any_hub_runs() {
    let home = Home::new();
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    home.cli(&[
        "servers",
        "add",
        "probe",
        "--env",
        "GREETING=hello",
        "--",
        &program,
    ])
    .expect_success();
    home.cli(&["policy", "set", "probe", "allow"])
        .expect_success();
    let added = home
        .cli(&["clients", "add", "desk", "--json"])
        .expect_json();
    let token = added["token"].as_str().expect("a token").to_owned();
    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    wait_until("the tools are listed", || {
        some_if(lists_probe_tools(&client))
    });
    assert_eq!(
        client
            .call("probe__variable", r#"{"name":"GREETING"}"#)
            .text(),
        "hello"
    );
}

#[test]
fn a_failed_start_names_the_program_and_affects_no_other_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.add_server("absent", &[], &["/no/such/program"]);
    let verified = home.cli(&["servers", "verify", "absent"]);
    assert_eq!(verified.exit_code(), 1);
    assert!(
        verified.stderr().contains("/no/such/program"),
        "the error names the program: {}",
        verified.stderr()
    );
    let server = hub.show_server("absent");
    assert!(
        server["tools"].as_array().is_some_and(Vec::is_empty),
        "{server}"
    );
    assert!(
        lists_probe_tools(&hub.connect_client("desk")),
        "the other server is not affected"
    );
}

#[test]
fn the_command_line_accepts_a_server_only_with_its_identity_and_with_granted_secrets() {
    let home = Home::new();
    home.cli(&["servers", "list"]).expect_success();
    let spec = json!({"url": "http://127.0.0.1:9/mcp", "bearer_token": "${keyring:github.TOKEN}"});
    write_spec(&home, "weather", &spec.to_string());

    let shown = home.cli(&["servers", "show", "weather"]).expect_success();
    assert!(
        shown
            .stdout()
            .contains("github.TOKEN is not a secret of this server"),
        "{}",
        shown.stdout()
    );
    let refused = home.cli(&["servers", "accept", "weather"]);
    assert_eq!(refused.exit_code(), 1);
    assert!(
        refused.stderr().contains("--identity"),
        "{}",
        refused.stderr()
    );

    let view = home
        .cli(&["servers", "show", "weather", "--json"])
        .expect_json();
    let identity = view["identity"].as_str().expect("an identity");
    let accept = ["servers", "accept", "weather", "--identity", identity];
    let refused = home.cli(&accept);
    assert_eq!(refused.exit_code(), 1);
    assert!(
        refused.stderr().contains("github.TOKEN"),
        "{}",
        refused.stderr()
    );
    home.cli(&[&accept[..], &["--grant-secret", "github.TOKEN"]].concat())
        .expect_success();
    let view = home
        .cli(&["servers", "show", "weather", "--json"])
        .expect_json();
    assert_eq!(view["acceptance"], "accepted");

    write_spec(
        &home,
        "weather",
        &json!({"name": "GitHub", "url": spec["url"], "bearer_token": spec["bearer_token"]})
            .to_string(),
    );
    let shown = home.cli(&["servers", "show", "weather"]).expect_success();
    let differences = "/name\n      - (none)\n      + \"GitHub\"";
    assert!(shown.stdout().contains(differences), "{}", shown.stdout());
}

#[test]
fn a_person_at_a_terminal_sees_the_spec_and_accepts_it_with_yes_only() {
    let home = Home::new();
    home.cli(&["servers", "list"]).expect_success();
    write_spec(&home, "weather", r#"{"url": "http://127.0.0.1:9/mcp"}"#);
    for (typed, is_accepted) in [("\n", false), ("no\n", false), ("y\n", true)] {
        let answered = home.cli_at_terminal(&["servers", "accept", "weather"], typed);
        let output = answered.stdout();
        assert!(
            output.contains("http://127.0.0.1:9/mcp")
                && output.contains("Accept this server? [y/N]"),
            "{output}"
        );
        assert_eq!(
            answered.exit_code() == 0,
            is_accepted,
            "{typed:?}: {output}"
        );
        let view = home
            .cli(&["servers", "show", "weather", "--json"])
            .expect_json();
        assert_eq!(view["acceptance"] == "accepted", is_accepted, "{typed:?}");
    }
}

#[test]
fn a_replaced_program_waits_for_acceptance() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let program = home.file("server");
    fs::copy(paths::built_binary("upstream-probe"), &program).expect("copy the server");
    let (command, record) = (
        paths::path_text(&program),
        paths::path_text(home.file("record")),
    );
    hub.add_server("probe", &[], &[&command, "--record", &record]);
    hub.wait_until_synced("probe");
    hub.set_policy("*", "allow");
    let client = hub.connect_client("desk");
    assert!(!client.call("probe__echo", "{}").is_error());

    let replaced = home.file("replaced");
    fs::write(&replaced, "#!/bin/sh\ntouch \"$0.started\"\n").expect("write");
    fs::set_permissions(
        &replaced,
        fs::metadata(&program).expect("read").permissions(),
    )
    .expect("make executable");
    fs::rename(&replaced, &program).expect("replace the server");
    home.cli(&["servers", "restart", "probe"]);
    let server = wait_until("the server waits for acceptance", || {
        let server = find_server(&home, "probe")?;
        (server["state"] == "needs_acceptance").then_some(server)
    });
    assert_eq!(
        server["reason"],
        format!("{command} was replaced since you accepted it")
    );
    assert!(client.call("probe__echo", "{}").error_code().is_some());
    assert!(!home.file("server.started").exists(), "nothing was started");
}

#[test]
fn a_floating_package_is_pinned_to_the_version_in_use_and_keeps_running() {
    const PACKAGE: &str = "@modelcontextprotocol/server-everything";
    let home = Home::new();
    let hub = Hub::serve(&home);
    let folder = paths::path_text(paths::pinned_packages_dir());
    let command = ["npx", "-y", PACKAGE, "stdio"];
    hub.add_server("everything", &["--cwd", &folder], &command);
    hub.wait_until_synced("everything");
    let shown = hub.show_server("everything");
    assert_eq!(shown["floating"], json!([PACKAGE]), "{shown}");
    hub.set_policy("*", "allow");
    let client = hub.connect_client("desk");
    let echo = || {
        client
            .call("everything__echo", r#"{"message":"hi"}"#)
            .text()
    };
    assert_eq!(echo(), "Echo: hi");

    home.cli(&["servers", "pin", "everything"]).expect_success();

    let pinned = format!("{PACKAGE}@{}", paths::npm_version(PACKAGE));
    let shown = hub.show_server("everything");
    assert_eq!(shown["spec"]["args"], json!(["-y", pinned, "stdio"]));
    assert_eq!(shown["floating"], json!([]));
    assert_eq!(shown["acceptance"], "accepted", "a person pinned it");
    assert_eq!(echo(), "Echo: hi");
    let kinds = store::read_audit_kinds(&home.data_dir()).expect("read the store");
    assert!(
        kinds
            .windows(2)
            .any(|pair| pair == ["server_changed", "server_accepted"]),
        "{kinds:?}"
    );
    let second_output = home.cli(&["servers", "pin", "everything"]);
    assert_ne!(
        second_output.exit_code(),
        0,
        "every package has an exact version"
    );
}

#[test]
fn a_package_whose_version_is_unknown_says_how_to_pin_it_by_hand() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_server("never", &["--pending"], &["npx", "-y", "@drawbridge/never"]);
    let refused = home.cli(&["servers", "pin", "never"]);
    assert_ne!(refused.exit_code(), 0);
    let message = refused.stderr();
    assert!(
        message.contains("npx has not downloaded it yet")
            && message.contains("'@drawbridge/never@1.2.3'"),
        "{message}"
    );
    let args = &hub.show_server("never")["spec"]["args"];
    assert_eq!(*args, json!(["-y", "@drawbridge/never"]));
}
