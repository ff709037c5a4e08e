//! The start of servers: how the revision is negotiated, and which clients wait for a slow server.

use std::{
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{Faulty, Home, Hub, McpClient, places, until, wait::yes, within};
use nix::sys::signal::Signal;
use serde_json::json;

#[test]
fn a_server_that_refuses_calls_before_initialize_is_called_with_it_also_after_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "half", &json!({}), &["--claims-modern"]).synced();
    let token = hub.token("desk");
    let client = McpClient::connect(&hub.url, &token);
    assert_eq!(client.call("half__echo", r#"{"n":1}"#).text(), r#"{"n":1}"#);
    assert_eq!(client.call("half__echo", r#"{"n":2}"#).text(), r#"{"n":2}"#);
    assert_eq!(
        faulty.calls("echo").len(),
        3,
        "the first one was refused, and sent once more"
    );
    assert_eq!(faulty.starts(), 2);
    until("its lists are read again in that revision", || {
        yes(faulty.heard_of("tools/list").len() >= 2)
    });
    until("they are", || {
        yes(hub.server("half")["sync_status"] == "SYNCED")
    });
    hub.end(Signal::SIGTERM);

    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    assert_eq!(client.call("half__echo", r#"{"n":3}"#).text(), r#"{"n":3}"#);
    let heard = std::fs::read_to_string(home.file("half.heard")).expect("what it heard");
    assert_eq!(
        heard.matches("tools/call").count(),
        4,
        "it is remembered: {heard}"
    );
}

#[test]
fn a_server_that_names_its_revision_in_a_refusal_is_addressed_in_that() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "strict", &json!({}), &["--in-two-steps"]).synced();
    assert_eq!(
        hub.client("desk").call("strict__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#
    );
    assert_eq!(
        (
            faulty.heard_of("server/discover").len(),
            faulty.heard_of("initialize").len()
        ),
        (2, 0)
    );
}

#[test]
fn a_spec_can_name_the_revision_and_one_that_is_unknown_is_refused() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "half", &json!({}), &["--claims-modern"]).synced();
    let mut spec = faulty.seen()["spec"].clone();
    spec["protocol_version"] = json!("2025-03-26");
    hub.verb("servers.update", &json!({"id": "half", "spec": spec}));
    assert_eq!(hub.client("desk").call("half__echo", "{}").text(), "{}");
    let asked: Vec<_> = faulty.heard_of("initialize");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["params"]["protocolVersion"], "2025-03-26");
    spec["protocol_version"] = json!("2025-04-01");
    let (status, said) = hub.try_verb("servers.update", &json!({"id": "half", "spec": spec}));
    assert!(
        status == 400 && said.contains("2025-06-18"),
        "it names the possible ones: {status} {said}"
    );
}

/// Returns the durations of several list requests, with a pause between them.
fn lists(client: &McpClient, count: usize) -> Vec<Duration> {
    let list = |_| {
        thread::sleep(Duration::from_millis(200));
        let start = Instant::now();
        client.tools();
        start.elapsed()
    };
    (0..count).map(list).collect()
}

#[test]
fn fifty_servers_of_which_some_start_slowly_hold_up_nobody_and_all_arrive() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let fast: Vec<_> = (0..47).map(|number| format!("fast-{number}")).collect();
    // The servers are added while the hub does not run, so that none is read before the first list.
    let token = hub.token("desk");
    let slow = [
        ("never", ["--mute", ""]),
        ("late-12", ["--late-start", "12000"]),
        ("late-30", ["--late-start", "30000"]),
    ];
    let names: Vec<_> = fast
        .iter()
        .map(String::as_str)
        .chain(slow.map(|(name, _)| name))
        .collect();
    hub.end(Signal::SIGTERM);
    let program = places::text(places::built("upstream-faulty"));
    for name in &names {
        let options = slow
            .iter()
            .find(|(slow, _)| slow == name)
            .map_or(&[][..], |(_, options)| options);
        let options: Vec<_> = options
            .iter()
            .copied()
            .filter(|option| !option.is_empty())
            .collect();
        let command = [&["servers", "add", name, "--", &program][..], &options].concat();
        home.cli(&command).ok();
    }

    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    let events = client.listen(None);
    let told = thread::spawn(move || {
        let mut events = events;
        events
            .find(|event| event.data.contains("notifications/tools/list_changed"))
            .is_some()
    });
    let started = Instant::now();
    client.tools();
    let first = started.elapsed();
    let mut later = lists(&client, 40);
    later.sort();
    let (median, slowest) = (later[later.len() / 2], later[later.len() - 1]);
    println!(
        "the first list took {first:?}, later ones {median:?} in the median and {slowest:?} at most"
    );
    assert!(
        first < Duration::from_secs(2),
        "the first list took {first:?}"
    );
    assert!(
        slowest < Duration::from_secs(1),
        "a later list waited: {later:?}"
    );
    let has = |name: &str| {
        let prefix = format!("{name}__");
        client.tools().iter().any(|tool| tool.starts_with(&prefix))
    };
    for name in ["late-12", "late-30"] {
        within(Duration::from_secs(40), format!("{name} is listed"), || {
            assert_ne!(
                hub.server(name)["state"],
                "error",
                "{name} is still starting"
            );
            yes(has(name))
        });
    }
    assert!(
        fast.iter().all(|name| has(name)),
        "all the fast ones are listed"
    );
    assert_eq!(
        hub.server("never")["state"],
        "initializing",
        "it has more time"
    );
    assert!(
        told.join().expect("the stream"),
        "the client was told that the list has changed"
    );
}

#[test]
fn a_call_waits_for_a_start_as_long_as_for_an_answer_and_the_start_goes_on() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let slow = Faulty::add(
        &hub,
        "slow",
        &json!({"call_ms": 1000, "idle_ms": 60_000}),
        &["--late-start", "3000"],
    );
    let slow = slow.synced();
    home.cli(&["servers", "disable", "slow"]).ok();
    home.cli(&["servers", "enable", "slow"]).ok();
    let client = hub.client("desk");
    let early = client.call("slow__echo", "{}");
    assert!(
        early.is_error() && early.text().contains("still starting"),
        "{}",
        early.raw
    );
    assert!(
        early.text().contains("did not reach"),
        "nothing was sent: {}",
        early.raw
    );
    until("it runs", || yes(slow.seen()["state"] == "active"));
    assert_eq!(client.call("slow__echo", "{}").text(), "{}");
    assert_eq!(slow.calls("echo").len(), 1);
}

/// A program that does not answer unknown methods.
const TACITURN: &str = r#"
const fs = require("fs"), [heard] = process.argv.slice(2);
const answers = {
  initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } },
  "tools/list": { tools: [{ name: "here", inputSchema: { type: "object" } }] },
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  fs.appendFileSync(heard, method + "\n");
  if (answers[method]) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] }));
});
"#;

#[test]
fn a_second_server_of_a_package_that_answers_nothing_unknown_is_not_probed_also_after_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (program, heard) = (home.file("taciturn.js"), |name: &str| {
        home.file(&format!("{name}.heard"))
    });
    std::fs::write(&program, TACITURN).expect("write the program");
    let add = |hub: &Hub<'_>, name: &str| {
        let command =
            ["node", &places::text(&program), &places::text(heard(name))].map(str::to_owned);
        hub.add_server(name, &[], &command.each_ref().map(String::as_str));
        hub.until_synced(name);
        std::fs::read_to_string(heard(name)).expect("what it heard")
    };
    assert!(
        add(&hub, "first").starts_with("server/discover\ninitialize\n"),
        "nothing is known of it"
    );
    assert!(
        add(&hub, "second").starts_with("initialize\n"),
        "the package is known"
    );
    hub.end(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    assert!(
        add(&hub, "third").starts_with("initialize\n"),
        "the package is remembered"
    );
}
