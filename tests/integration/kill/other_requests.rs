//! `kill -9` of the hub while it serves tasks, reads of resources, and results that a person
//! releases or denies.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient,
    hub::send_verb,
    paths,
    process::signal_process,
    store::{self, CallRow},
    wait::{shift_moment, some_if},
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{count_rounds, pseudorandom};

const HELD: &str = "the text that a person looks at first";
const TASK_RESULT: &str = "the result of the task";

/// Adds a server with a template, a tool whose results are held, and a tool that starts a task.
fn add_guide(hub: &Hub<'_>) {
    let capabilities =
        json!({"tools": {}, "resources": {}, "tasks": {"requests": {"tools": {"call": {}}}}});
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}});
    let time = "2026-01-01T00:00:00Z";
    let task = json!({"taskId": "task-1", "status": "completed", "createdAt": time, "lastUpdatedAt": time, "ttl": null});
    let content = |text: &str| json!({"result": {"content": [{"type": "text", "text": text}]}});
    let script = json!({
        "initialize": {"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "serverInfo": {"name": "guide", "version": "1"}}},
        "tools/list": {"result": {"tools": [tool("secret"), tool("job")]}},
        "tools/call secret": content(HELD),
        "tools/call job": {"result": {"task": task}},
        "tasks/get": {"result": task},
        "tasks/result": content(TASK_RESULT),
        "resources/list": {"result": {"resources": []}},
        "resources/templates/list": {"result": {"resourceTemplates": [
            {"name": "page", "uriTemplate": "guide:///{number}"}]}},
        "resources/read": {"result": {"contents": [{"uri": "guide:///", "text": "the page"}]}},
    });
    let file = hub.home.file("guide.script");
    fs::write(&file, script.to_string()).expect("write the script");
    let (file, data_dir) = (
        paths::path_text(&file),
        paths::path_text(hub.home.data_dir()),
    );
    let options = ["--check-decisions-in", &data_dir, "--script", &file];
    drop(FaultyServer::add(hub, "guide", &json!({}), &options).wait_until_synced());
    let rule = json!({"server": "guide", "tool": "secret", "result": "hold"});
    hub.run_verb("policy.save", &json!({ "rule": rule }));
}

/// What the threads share that put load on a hub.
#[derive(Default)]
struct Load {
    /// Whether the hub is being killed, so that requests may fail.
    is_over: AtomicBool,
    /// The number of answered requests.
    answered: AtomicUsize,
}

impl Load {
    /// Repeats a step until it returns false, which it may do only after the hub was killed. Each
    /// step gets its number.
    fn repeat(&self, step_name: &str, mut step: impl FnMut(usize) -> bool) -> usize {
        for number in 0.. {
            if !step(number) {
                let is_over = self.is_over.load(Ordering::Relaxed);
                assert!(is_over, "{step_name} {number} failed although the hub runs");
                return number;
            }
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        unreachable!("the numbers do not end")
    }

    fn read_pages(&self, client: &McpClient, round: usize) -> BTreeSet<String> {
        let mut read = BTreeSet::new();
        self.repeat("a read", |number| {
            let uri = format!("guide:///{round}-{number}");
            let params = json!({ "uri": uri }).to_string();
            let is_read = client
                .try_request("resources/read", &params)
                .is_ok_and(|answer| answer.raw.contains("the page"));
            if is_read {
                read.insert(uri);
            }
            is_read
        });
        read
    }

    /// Starts tasks and fetches the result of each.
    fn run_tasks(&self, client: &McpClient, round: usize) {
        self.repeat("a task", |number| {
            let arguments = json!({"nonce": format!("task-{round}-{number}")});
            let call = json!({"name": "guide__job", "arguments": arguments, "task": {}});
            let started = client.try_request("tools/call", &call.to_string());
            let Ok(started) = started else { return false };
            let id = started.result()["task"]["taskId"].clone();
            assert!(id.is_string(), "{}", started.raw);
            client
                .try_request("tasks/result", &json!({ "taskId": id }).to_string())
                .is_ok_and(|answer| answer.raw.contains(TASK_RESULT))
        });
    }

    /// Calls the tool whose results are held. The person releases the results with even numbers.
    fn call_held(&self, client: &McpClient, round: usize) {
        self.repeat("a held call", |number| {
            let arguments = json!({"nonce": format!("held-{round}"), "number": number});
            let call = json!({"name": "guide__secret", "arguments": arguments});
            let Ok(answer) = client.try_request("tools/call", &call.to_string()) else {
                return false;
            };
            let has_text = answer.raw.contains(HELD);
            assert!(
                !has_text || number % 2 == 0,
                "a denied result reached the client: {}",
                answer.raw
            );
            assert!(
                has_text || number % 2 == 1 || self.is_over.load(Ordering::Relaxed),
                "a released result did not reach the client: {}",
                answer.raw
            );
            true
        });
    }

    /// Decides each held result as it arrives.
    fn decide(&self, url: &str) {
        self.repeat("a decision", |_| {
            let Ok((200, pending)) = send_verb(url, "approvals.list", &json!({})) else {
                return false;
            };
            let pending: Vec<Value> = serde_json::from_str(&pending).expect("a list");
            pending.iter().all(|approval| {
                let arguments = approval["arguments"].as_str().unwrap_or_default();
                let arguments: Value = serde_json::from_str(arguments).expect("arguments");
                let is_released = arguments["number"].as_u64().is_some_and(|n| n % 2 == 0);
                let kind = if is_released { "approve_once" } else { "deny" };
                let decision = json!({"id": approval["id"], "digest": approval["digest"], "verdict": {"kind": kind}});
                // The call may have ended meanwhile.
                send_verb(url, "approvals.decide", &decision).is_ok()
            })
        });
    }
}

/// Loads a hub and kills it at a pseudorandom moment. Returns the URIs that were read.
fn run_round(hub: Hub<'_>, tokens: &[String], round: usize) -> BTreeSet<String> {
    let load = Load::default();
    let url = hub.url.clone();
    let clients: Vec<_> = tokens
        .iter()
        .map(|token| McpClient::connect(&url, token))
        .collect();
    let [reader, worker, asker] = clients.as_slice() else {
        panic!("there are three clients");
    };
    let read = thread::scope(|scope| {
        let reads = scope.spawn(|| load.read_pages(reader, round));
        let other_threads = [
            scope.spawn(|| load.run_tasks(worker, round)),
            scope.spawn(|| load.call_held(asker, round)),
            scope.spawn(|| load.decide(&url)),
        ];
        let min_answered = 20 + pseudorandom(round) % 60;
        wait_until("enough requests are answered", || {
            some_if(load.answered.load(Ordering::Relaxed) >= min_answered)
        });
        shift_moment(Duration::from_micros(
            (pseudorandom(round + 1_000_000) % 30_000) as u64,
        ));
        load.is_over.store(true, Ordering::Relaxed);
        signal_process(hub.pid(), Signal::SIGKILL);
        for other in other_threads {
            other.join().expect("the thread ends");
        }
        reads.join().expect("the reader's thread ends")
    });
    hub.stop(Signal::SIGKILL);
    read
}

/// Returns the number of requests that the server received, by method and by the digest of the
/// arguments (`tools/call`) or by the URI (`resources/read`). The requests for the results of tasks
/// are counted together.
fn read_received(home: &Home) -> BTreeMap<(String, String), usize> {
    let text = fs::read_to_string(home.file("guide.record")).expect("read the record");
    assert!(
        !text.contains("\"undecided\""),
        "a call reached the server without a recorded decision: {text}"
    );
    let mut received = BTreeMap::new();
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).expect("JSON");
        let params = &message["params"];
        let method = message["method"].as_str().unwrap_or_default();
        let subject = match method {
            "tools/call" => store::digest(&params["arguments"].to_string()),
            "resources/read" => params["uri"].as_str().unwrap_or_default().to_owned(),
            "tasks/result" => String::new(),
            _ => continue,
        };
        *received.entry((method.to_owned(), subject)).or_default() += 1;
    }
    received
}

fn assert_recorded(received: &BTreeMap<(String, String), usize>, rows: &[CallRow]) {
    let mut recorded: BTreeMap<(String, String), usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.decision == "allowed") {
        let subject = match row.method.as_str() {
            "tools/call" => row.arguments_digest.clone(),
            "resources/read" => row.tool.clone(),
            "tasks/result" => String::new(),
            _ => continue,
        };
        *recorded.entry((row.method.clone(), subject)).or_default() += 1;
    }
    for (request, count) in received {
        let found = recorded.get(request).copied().unwrap_or_default();
        if request.0 == "tasks/result" {
            assert!(
                found >= *count,
                "{request:?}: {count} received, {found} recorded"
            );
        } else {
            assert_eq!((*count, found), (1, 1), "{request:?}");
        }
    }
    assert!(
        rows.iter().all(|row| row.outcome != "running"),
        "each request has an outcome after the restart"
    );
}

#[test]
fn a_hub_killed_during_reads_tasks_and_held_results_has_recorded_each_and_replays_none() {
    let rounds = count_rounds(8);
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_guide(&hub);
    let tokens: Vec<String> = ["reader", "worker", "asker"]
        .iter()
        .map(|name| hub.add_client(name))
        .collect();
    let mut running_hub = Some(hub);
    let mut read = BTreeSet::new();
    for round in 0..rounds {
        let hub = running_hub.take().expect("a hub");
        read.append(&mut run_round(hub, &tokens, round));
        home.assert_no_survivors();
        let is_sound = store::passes_integrity_check(&home.data_dir());
        assert!(is_sound.expect("read the store"), "round {round}");
        let received = read_received(&home);
        let hub = running_hub.insert(Hub::serve(&home));
        let rows = store::read_calls(&home.data_dir()).expect("read the store");
        assert_recorded(&received, &rows);
        let pending = hub.run_verb("approvals.list", &json!({}));
        assert_eq!(pending, json!([]), "no held result is pending");
        assert_eq!(
            read_received(&home),
            received,
            "round {round}: nothing is sent twice"
        );
    }
    home.cli(&["audit", "verify"]).expect_success();
    let received = read_received(&home);
    assert!(
        read.iter()
            .all(|uri| received.contains_key(&("resources/read".into(), uri.clone()))),
        "each page that was read came from the server"
    );
    let rows = store::read_calls(&home.data_dir()).expect("read the store");
    let count = |method: &str| rows.iter().filter(|row| row.method == method).count();
    println!(
        "{rounds} kills: {} calls, {} reads, {} results of tasks; {} have an unknown outcome",
        count("tools/call"),
        count("resources/read"),
        count("tasks/result"),
        rows.iter().filter(|row| row.outcome == "unknown").count()
    );
    for method in ["tools/call", "resources/read", "tasks/result"] {
        assert!(count(method) > 0, "{method} was among the requests");
    }
}
