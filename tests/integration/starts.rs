//! The start of servers: the negotiation of the revision, and the clients that wait for a slow
//! server.

use std::{thread, time::Duration};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, paths, ports::find_free_port, wait::some_if, wait_until,
    wait_until_within,
};
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn a_server_that_requires_initialize_works_also_after_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    // With this option, the server claims to be modern, but refuses calls before `initialize`.
    let faulty =
        FaultyServer::add(&hub, "half", &json!({}), &["--claims-modern"]).wait_until_synced();
    let token = hub.add_client("desk");
    let client = McpClient::connect(&hub.url, &token);
    assert_eq!(client.call("half__echo", r#"{"n":1}"#).text(), r#"{"n":1}"#);
    assert_eq!(client.call("half__echo", r#"{"n":2}"#).text(), r#"{"n":2}"#);
    assert_eq!(
        faulty.received_calls("echo").len(),
        3,
        "the rejected first call is sent once more"
    );
    assert_eq!(faulty.count_starts(), 2);
    wait_until("the lists are read again in the legacy revision", || {
        some_if(faulty.received_by_method("tools/list").len() >= 2)
    });
    wait_until("the server is synced", || {
        some_if(hub.show_server("half")["sync_status"] == "SYNCED")
    });
    hub.stop(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    assert_eq!(client.call("half__echo", r#"{"n":3}"#).text(), r#"{"n":3}"#);
    let record =
        std::fs::read_to_string(home.file("half.record")).expect("read the record of the server");
    assert_eq!(
        record.matches("tools/call").count(),
        4,
        "the negotiated revision is remembered: {record}"
    );
}

#[test]
fn a_failed_start_that_is_tried_again_says_when() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let url = format!("http://127.0.0.1:{}/mcp", find_free_port());
    let spec = json!({"name": "away", "url": url, "retries": 8});
    hub.run_verb("servers.add", &json!({"spec": spec}));
    wait_until("the server's error says when it is started again", || {
        let server = hub.show_server("away");
        some_if(server["state"] == "error" && server["retry_at"].is_number())
    });
}

#[test]
fn a_revision_named_in_an_error_is_used() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty =
        FaultyServer::add(&hub, "strict", &json!({}), &["--in-two-steps"]).wait_until_synced();
    assert_eq!(
        hub.connect_client("desk")
            .call("strict__echo", r#"{"n":1}"#)
            .text(),
        r#"{"n":1}"#
    );
    assert_eq!(
        (
            faulty.received_by_method("server/discover").len(),
            faulty.received_by_method("initialize").len()
        ),
        (2, 0)
    );
}

#[test]
fn a_spec_can_pin_a_known_revision() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty =
        FaultyServer::add(&hub, "half", &json!({}), &["--claims-modern"]).wait_until_synced();
    let mut spec = faulty.show()["spec"].clone();
    spec["protocol_version"] = json!("2025-03-26");
    hub.run_verb("servers.update", &json!({"id": "half", "spec": spec}));
    assert_eq!(
        hub.connect_client("desk").call("half__echo", "{}").text(),
        "{}"
    );
    let requests: Vec<_> = faulty.received_by_method("initialize");
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!(requests[0]["params"]["protocolVersion"], "2025-03-26");
    spec["protocol_version"] = json!("2025-04-01");
    let (status, answer) = hub.try_verb("servers.update", &json!({"id": "half", "spec": spec}));
    assert!(
        status == 400 && answer.contains("2025-06-18"),
        "the error names the known revisions: {status} {answer}"
    );
}

/// How many lists have to be answered before the server that takes twelve seconds has started. If
/// each list waited for a server, only eight would be answered.
const MIN_LISTS: usize = 40;

#[test]
fn slow_starts_among_fifty_servers_block_no_other_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let fast_servers: Vec<_> = (0..47).map(|number| format!("fast-{number}")).collect();
    // The servers are added while the hub does not run, so that none is read before the first list.
    let token = hub.add_client("desk");
    let slow_servers = [
        ("never", ["--mute", ""]),
        ("late-12", ["--late-start", "12000"]),
        ("late-30", ["--late-start", "30000"]),
    ];
    let names: Vec<_> = fast_servers
        .iter()
        .map(String::as_str)
        .chain(slow_servers.map(|(name, _)| name))
        .collect();
    hub.stop(Signal::SIGTERM);
    let program = paths::path_text(paths::built_binary("upstream-faulty"));
    for name in &names {
        let options = slow_servers
            .iter()
            .find(|(slow_name, _)| slow_name == name)
            .map_or(&[][..], |(_, options)| options);
        let options: Vec<_> = options
            .iter()
            .copied()
            .filter(|option| !option.is_empty())
            .collect();
        let command = [&["servers", "add", name, "--", &program][..], &options].concat();
        home.cli(&command).expect_success();
    }

    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    let events = client.listen(None);
    let listener = thread::spawn(move || {
        let mut events = events;
        events
            .find(|event| event.data.contains("notifications/tools/list_changed"))
            .is_some()
    });
    client.list_tools();
    let server_state =
        |name: &str| hub.run_verb("servers.show", &json!({"id": name}))["state"].clone();
    for (name, _) in slow_servers {
        assert_ne!(
            server_state(name),
            "active",
            "the first list must not wait for {name}"
        );
    }
    let is_listed = |name: &str| {
        let prefix = format!("{name}__");
        client
            .list_tools()
            .iter()
            .any(|tool| tool.starts_with(&prefix))
    };
    let mut lists = 0;
    for name in ["late-12", "late-30"] {
        wait_until_within(Duration::from_secs(40), format!("{name} is listed"), || {
            lists += 1;
            assert_ne!(server_state(name), "error", "{name} is still starting");
            some_if(is_listed(name))
        });
        println!("{lists} lists were answered until {name} was listed");
        assert!(
            lists >= MIN_LISTS,
            "a later list waited: only {lists} were answered until {name} was listed"
        );
    }
    assert!(
        fast_servers.iter().all(|name| is_listed(name)),
        "the tools of all fast servers are listed"
    );
    assert_eq!(
        hub.show_server("never")["state"],
        "initializing",
        "the mute server may still start"
    );
    assert!(
        listener.join().expect("the listening thread ends"),
        "the client was notified of the changed list"
    );
}

#[test]
fn a_call_waits_for_a_start_up_to_its_timeout_and_the_start_continues() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = FaultyServer::add(
        &hub,
        "slow",
        &json!({"call_ms": 1000, "idle_ms": 60_000}),
        &["--late-start", "3000"],
    );
    let server = server.wait_until_synced();
    home.cli(&["servers", "disable", "slow"]).expect_success();
    home.cli(&["servers", "enable", "slow"]).expect_success();
    let client = hub.connect_client("desk");
    let early_answer = client.call("slow__echo", "{}");
    assert!(
        early_answer.is_error() && early_answer.text().contains("still starting"),
        "{}",
        early_answer.raw
    );
    assert!(
        early_answer.text().contains("did not reach"),
        "the call was not sent: {}",
        early_answer.raw
    );
    wait_until("the server runs", || {
        some_if(server.show()["state"] == "active")
    });
    assert_eq!(client.call("slow__echo", "{}").text(), "{}");
    assert_eq!(server.received_calls("echo").len(), 1);
}

#[test]
fn a_call_waits_for_the_first_read_of_its_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.set_policy("*", "allow");
    let client = hub.connect_client("desk");
    let timeouts = json!({"call_ms": 10_000});
    // A list of tools would not wait this long for the first read of the server, but a call does.
    FaultyServer::add(&hub, "slow", &timeouts, &["--late-start", "3000"]);
    assert_eq!(client.call("slow__echo", "{}").text(), "{}");

    FaultyServer::add(&hub, "mute", &json!({"call_ms": 2000}), &["--mute"]);
    let early_answer = client.call("mute__echo", "{}");
    assert!(
        early_answer.is_error() && early_answer.text().contains("are not known yet"),
        "{}",
        early_answer.raw
    );
    assert_eq!(
        client.call("no-server__echo", "{}").error_code(),
        Some(-32602),
        "a name that belongs to no server"
    );
}

/// A program that does not answer unknown methods.
const SILENT_SERVER: &str = r#"
const fs = require("fs"), [record] = process.argv.slice(2);
const answers = {
  initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } },
  "tools/list": { tools: [{ name: "here", inputSchema: { type: "object" } }] },
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  fs.appendFileSync(record, method + "\n");
  if (answers[method]) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] }));
});
"#;

#[test]
fn a_second_server_of_a_silent_package_is_not_probed_even_after_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (program, record_file) = (home.file("taciturn.js"), |name: &str| {
        home.file(&format!("{name}.record"))
    });
    std::fs::write(&program, SILENT_SERVER).expect("write the program");
    let add_server = |hub: &Hub<'_>, name: &str| {
        let command = [
            "node",
            &paths::path_text(&program),
            &paths::path_text(record_file(name)),
        ]
        .map(str::to_owned);
        hub.add_server(name, &[], &command.each_ref().map(String::as_str));
        hub.wait_until_synced(name);
        std::fs::read_to_string(record_file(name)).expect("read the record of the server")
    };
    assert!(
        add_server(&hub, "first").starts_with("server/discover\ninitialize\n"),
        "an unknown package is probed"
    );
    assert!(
        add_server(&hub, "second").starts_with("initialize\n"),
        "a known package is not probed"
    );
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    assert!(
        add_server(&hub, "third").starts_with("initialize\n"),
        "the package is still known after a restart"
    );
}
