//! `kill -9` of the hub under load, repeatedly: decisions are recorded, and nothing is torn,
//! replayed or left over.
//!
//! `DRAWBRIDGE_KILL_ROUNDS` sets the number of rounds; the default is 20 for calls, and 8 for other
//! requests. `DRAWBRIDGE_KILL_SESSIONS` sets the number of sessions that call; the default is 4.

mod other_requests;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient,
    http::{Request, Url},
    hub::ADMIN_TOKEN,
    paths,
    process::signal_process,
    store::{self, CallRow},
    wait::{shift_moment, some_if},
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn count_rounds(default: usize) -> usize {
    read_number("DRAWBRIDGE_KILL_ROUNDS", default)
}

/// Returns the number in an environment variable.
fn read_number(name: &str, default: usize) -> usize {
    env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|e| panic!("{name} is not a number: {e}"))
    })
}

/// Returns a pseudorandom number that depends only on the round.
fn pseudorandom(round: usize) -> usize {
    Sha256::digest(format!("round {round}"))
        .iter()
        .take(4)
        .fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// What the threads share that put load on a hub.
#[derive(Default)]
struct Load {
    /// Whether the hub is being killed, so that requests may fail.
    is_over: AtomicBool,
    /// The number of answered calls.
    answered: AtomicUsize,
}

impl Load {
    /// Calls as a client until the hub stops answering. Some calls take a while, so that some are
    /// in flight at every moment.
    fn call(&self, client: &McpClient, name: &str) -> Vec<String> {
        let mut answered = Vec::new();
        for number in 0.. {
            let ms = if number % 3 == 0 { 20 } else { 0 };
            let arguments = json!({"nonce": format!("{name}-{number}"), "ms": ms}).to_string();
            let params = format!(r#"{{"name":"faulty__echo","arguments":{arguments}}}"#);
            match client.try_request("tools/call", &params) {
                Ok(answer) if answer.error_code().is_none() && answer.text() == arguments => {
                    answered.push(arguments)
                }
                result => {
                    let is_over = self.is_over.load(Ordering::Relaxed);
                    assert!(is_over, "a call failed although the hub runs: {result:?}");
                    break;
                }
            }
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        answered
    }

    /// Changes a spec repeatedly until the hub stops answering.
    fn rewrite_spec(&self, hub_url: &str) {
        let url = Url::parse(hub_url).with_path("/api/verbs/servers.update");
        let bearer = format!("Bearer {ADMIN_TOKEN}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
        ];
        for number in 0.. {
            let spec = json!({"name": format!("Other {number}"), "command": "true", "args": vec!["x".repeat(200); 50]});
            let body = json!({"id": "other", "spec": spec}).to_string();
            match (Request {
                method: "POST",
                url: &url,
                headers: &headers,
                body: body.as_bytes(),
            })
            .send()
            {
                Ok(answer) => assert_eq!(answer.status, 200, "the spec is written"),
                Err(error) => {
                    return assert!(
                        self.is_over.load(Ordering::Relaxed),
                        "the running hub does not answer: {error}"
                    );
                }
            }
        }
    }
}

/// Loads a hub and kills it at a pseudorandom moment. Returns the arguments of the answered calls.
fn run_round(hub: Hub<'_>, tokens: &[String], round: usize) -> BTreeSet<String> {
    let load = Load::default();
    let url = hub.url.clone();
    let clients: Vec<_> = tokens
        .iter()
        .map(|token| McpClient::connect(&url, token))
        .collect();
    let answered = thread::scope(|scope| {
        let calls = |(number, client)| {
            let (load, name) = (&load, format!("{round}-{number}"));
            scope.spawn(move || load.call(client, &name))
        };
        let clients: Vec<_> = clients.iter().enumerate().map(calls).collect();
        let writer = scope.spawn(|| load.rewrite_spec(&url));
        // The number of calls before the kill and the delay after them are pseudorandom.
        let min_answered = pseudorandom(round) % 60;
        wait_until("enough calls are answered", || {
            some_if(load.answered.load(Ordering::Relaxed) >= min_answered)
        });
        shift_moment(Duration::from_micros(
            (pseudorandom(round + 1_000_000) % 30_000) as u64,
        ));
        load.is_over.store(true, Ordering::Relaxed);
        signal_process(hub.pid(), Signal::SIGKILL);
        let answered = clients
            .into_iter()
            .flat_map(|client| client.join().expect("the client's thread ends"))
            .collect();
        writer.join().expect("the writer's thread ends");
        answered
    });
    hub.stop(Signal::SIGKILL);
    answered
}

/// Returns the number of times that the server received each call, by arguments.
fn count_received(home: &Home) -> BTreeMap<String, usize> {
    let text =
        fs::read_to_string(home.file("faulty.record")).expect("read the record of the server");
    assert!(
        !text.contains("\"undecided\""),
        "a call reached the server without a recorded decision: {text}"
    );
    let mut received = BTreeMap::new();
    for line in text.lines() {
        let message: Value =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"));
        if message["method"] == "tools/call" {
            *received
                .entry(message["params"]["arguments"].to_string())
                .or_default() += 1;
        }
    }
    received
}

/// Checks that no spec file is torn by an interrupted write.
fn assert_specs_intact(home: &Home) {
    for entry in fs::read_dir(home.data_dir().join("servers")).expect("read the folder of specs") {
        let path = entry.expect("an entry").path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let text = fs::read_to_string(&path).expect("read a spec");
        let spec: Result<Value, _> = serde_json::from_str(&text);
        assert!(
            is_hidden || spec.is_ok_and(|spec| spec["command"].is_string()),
            "{}: {text}",
            path.display()
        );
    }
}

/// Checks that each received call arrived once, and is recorded as allowed and with the outcome
/// `ok` or `unknown`. Each answered call must be among them.
fn assert_calls_recorded(
    received: &BTreeMap<String, usize>,
    answered: &BTreeSet<String>,
    rows: &[CallRow],
) {
    let mut by_digest: BTreeMap<&str, Vec<&CallRow>> = BTreeMap::new();
    rows.iter().for_each(|row| {
        by_digest
            .entry(&row.arguments_digest)
            .or_default()
            .push(row)
    });
    for (arguments, count) in received {
        assert_eq!(*count, 1, "{arguments} reached the server more than once");
        let rows = by_digest.get(store::digest(arguments).as_str());
        let rows = rows.unwrap_or_else(|| {
            panic!("{arguments} reached the server, but no decision is recorded")
        });
        assert!(
            rows.len() == 1 && rows[0].decision == "allowed",
            "{arguments}: {rows:?}"
        );
        assert!(
            ["ok", "unknown"].contains(&rows[0].outcome.as_str()),
            "{arguments}: {rows:?}"
        );
    }
    assert!(
        answered
            .iter()
            .all(|arguments| received.contains_key(arguments)),
        "each answered call has reached the server"
    );
}

#[test]
fn a_hub_killed_under_load_has_recorded_every_decision_and_replays_no_call() {
    let rounds = count_rounds(20);
    let home = Home::new();
    let hub = Hub::serve(&home);
    let data_dir = paths::path_text(home.data_dir());
    drop(
        FaultyServer::add(
            &hub,
            "faulty",
            &json!({}),
            &["--check-decisions-in", &data_dir],
        )
        .wait_until_synced(),
    );
    hub.run_verb(
        "servers.add",
        &json!({"spec": {"name": "Other", "command": "true"}, "pending": true}),
    );
    let tokens: Vec<String> = (0..read_number("DRAWBRIDGE_KILL_SESSIONS", 4))
        .map(|number| hub.add_client(&format!("desk-{number}")))
        .collect();
    let (mut running_hub, mut answered) = (Some(hub), BTreeSet::new());
    for number in 0..rounds {
        answered.append(&mut run_round(
            running_hub.take().expect("a hub"),
            &tokens,
            number,
        ));
        home.assert_no_survivors();
        assert!(
            store::passes_integrity_check(&home.data_dir()).expect("read the store"),
            "round {number}: the database is sound"
        );
        assert_specs_intact(&home);
        let received = count_received(&home);
        let hub = running_hub.insert(Hub::serve(&home));
        let rows = store::read_calls(&home.data_dir()).expect("read the store");
        assert_calls_recorded(&received, &answered, &rows);
        assert_eq!(
            hub.run_verb("approvals.list", &json!({})),
            json!([]),
            "no approval is pending"
        );
        assert_eq!(
            count_received(&home),
            received,
            "round {number}: no call is sent twice"
        );
    }
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    let unknown = rows.iter().filter(|row| row.outcome == "unknown").count();
    println!(
        "{rounds} kills: {} calls reached the server, {} were answered, {unknown} have an unknown outcome",
        count_received(&home).len(),
        answered.len()
    );
    assert!(unknown > 0, "some calls were in flight");
}

#[test]
fn pending_calls_never_run_after_the_hub_is_killed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    hub.set_policy("faulty", "ask");
    let client = hub.connect_client("desk");
    let handles: Vec<_> = (0..5).map(|_| client.second_handle()).collect();
    let pending_calls: Vec<_> = (handles.into_iter())
        .map(|handle| {
            let params = r#"{"name":"faulty__echo","arguments":{}}"#;
            thread::spawn(move || handle.try_request("tools/call", params).is_err())
        })
        .collect();
    wait_until("all calls are pending", || {
        some_if(
            home.cli(&["approvals", "list", "--json"])
                .expect_json()
                .as_array()
                .is_some_and(|approvals| approvals.len() == 5),
        )
    });
    assert_eq!(faulty.received_calls("echo").len(), 0);
    drop(faulty);
    hub.stop(Signal::SIGKILL);
    assert!(
        pending_calls
            .into_iter()
            .all(|call| call.join().expect("the client's thread ends")),
        "the connection of each client breaks"
    );
    let hub = Hub::serve(&home);
    assert_eq!(
        hub.run_verb("approvals.list", &json!({})),
        json!([]),
        "no approval is pending"
    );
    hub.set_policy("faulty", "allow");
    assert_eq!(
        hub.connect_client("new")
            .call("faulty__echo", r#"{"n":1}"#)
            .text(),
        r#"{"n":1}"#
    );
    assert_eq!(
        count_received(&home).len(),
        1,
        "no pending call was sent after the restart"
    );
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    assert!(
        rows.iter().filter(|row| row.decision == "allowed").count() == 1,
        "{rows:?}"
    );
}

#[test]
fn a_hub_killed_during_its_first_start_starts_the_next_time() {
    for round in 0..10 {
        let home = Home::new();
        let mut hub = Hub::spawn(&home);
        shift_moment(Duration::from_micros(
            (pseudorandom(round) % 120_000) as u64,
        ));
        hub.send_signal(Signal::SIGKILL);
        hub.wait_until_exit(Duration::from_secs(5));
        let hub = Hub::serve(&home);
        assert!(
            store::passes_integrity_check(&home.data_dir()).expect("read the store"),
            "round {round}"
        );
        assert_eq!(
            hub.connect_client("desk").list_tools(),
            Vec::<String>::new()
        );
    }
}
