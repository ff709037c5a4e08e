//! Many clients at once: each gets all of its own responses and none of another client's. Also many
//! requests of one client, some of which are cancelled.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Barrier,
    thread,
    time::Duration,
};

use drawbridge_tests::{
    Bridge, FaultyServer, Home, Hub, McpClient, http::Response, mcp::Events, wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

const CLIENTS: usize = 32;
const CALLS: u64 = 6;
const STEPS: u64 = 3;

/// Sends calls with the same ids and progress tokens as every other client. Returns a description
/// of each answer that belongs to another call, and of progress that is missing or foreign.
fn collect_mismatches(client: &McpClient, number: usize, start: &Barrier) -> Vec<String> {
    let mut mismatches = Vec::new();
    start.wait();
    for id in 1..=CALLS {
        let nonce = format!("{number}/{id}");
        let params = json!({"name": "faulty__nonce", "arguments": {"nonce": nonce, "steps": STEPS, "ms": 5},
            "_meta": {"progressToken": "token"}});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let response = client.post(&request).expect("an answer");
        assert_eq!(
            response.header("Content-Type"),
            Some("text/event-stream"),
            "progress comes before the answer"
        );
        let messages: Vec<Value> = Events::new(response).map(|event| event.message()).collect();
        let (answer, progress) = messages.split_last().expect("an answer");
        let text = answer["result"]["content"][0]["text"].as_str();
        if answer["id"] != id || text != Some(format!("\"{nonce}\"").as_str()) {
            mismatches.push(format!("{nonce} was answered with {answer}"));
        }
        let is_own = |message: &&Value| {
            message["params"]["message"] == *nonce && message["params"]["progressToken"] == "token"
        };
        let own_count = progress.iter().filter(is_own).count();
        if own_count != progress.len() || own_count as u64 != STEPS {
            mismatches.push(format!("{nonce} received {progress:?}"));
        }
    }
    mismatches
}

#[test]
fn clients_with_the_same_ids_and_progress_tokens_get_their_own_answers_and_progress() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let clients: Vec<McpClient> = (0..CLIENTS)
        .map(|number| hub.connect_client(&format!("desk-{number}")))
        .collect();
    let start = Barrier::new(CLIENTS);
    let mismatches: Vec<String> = thread::scope(|scope| {
        let start = &start;
        let threads: Vec<_> = (clients.iter().enumerate())
            .map(|(number, client)| scope.spawn(move || collect_mismatches(client, number, start)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("the client's thread ends"))
            .collect()
    });
    assert!(
        mismatches.is_empty(),
        "{} of {} calls:\n{}",
        mismatches.len(),
        CLIENTS as u64 * CALLS,
        mismatches.join("\n")
    );
}

#[test]
fn each_request_gets_one_response_and_none_after_its_cancellation() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let mut bridge = Bridge::open(&home, "editor");
    let call = |tool: &str, arguments: Value| json!({"name": faulty.exposed_name(tool), "arguments": arguments});
    let request = |id: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let (mut expected, mut cancelled, mut either) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for id in 1000..1400_u64 {
        let (group, sent) = match id % 8 {
            0 => (
                &mut cancelled,
                request(id, "tools/call", call("hang", json!({"n": id}))),
            ),
            // The answer and the cancellation happen at about the same time.
            1 => (
                &mut either,
                request(
                    id,
                    "tools/call",
                    call("echo", json!({"n": id, "ms": id % 20})),
                ),
            ),
            2 => (&mut expected, request(id, "tools/list", json!({}))),
            3 => (&mut expected, request(id, "no/such/method", json!({}))),
            4 => (
                &mut expected,
                request(
                    id,
                    "tools/call",
                    json!({"name": "no__such", "arguments": {}}),
                ),
            ),
            _ => (
                &mut expected,
                request(
                    id,
                    "tools/call",
                    call("echo", json!({"n": id, "ms": id % 7})),
                ),
            ),
        };
        group.insert(id);
        bridge.send(&sent);
        let earlier_id = id - 8;
        if cancelled.contains(&earlier_id) || either.contains(&earlier_id) {
            let params = json!({"requestId": earlier_id});
            bridge.send(
                &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
            );
        }
    }
    // The loop cancels a call eight requests later, so the last hanging call is not cancelled yet.
    let last_cancelled: BTreeSet<u64> = (1392..1400).filter(|id| cancelled.contains(id)).collect();
    for id in &last_cancelled {
        bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    wait_until("each hanging call is cancelled at the server", || {
        let received: BTreeSet<String> = faulty
            .received_by_method("notifications/cancelled")
            .iter()
            .map(|notification| notification["params"]["requestId"].to_string())
            .collect();
        some_if(
            faulty
                .received_calls("hang")
                .iter()
                .all(|call| received.contains(&call["id"].to_string())),
        )
    });
    drop(bridge.stdin.take());
    let (status, output) = bridge.process.wait_until_exit(Duration::from_secs(20));
    assert!(
        status.success(),
        "the bridge exits when its client closes stdin: {status}"
    );
    let mut answers: BTreeMap<u64, usize> = BTreeMap::new();
    for line in output.lines() {
        let message: Value =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"));
        if let Some(id) = message["id"]
            .as_u64()
            .filter(|_| message["method"].is_null())
        {
            *answers.entry(id).or_default() += 1;
        }
    }
    let repeated: Vec<_> = answers.iter().filter(|(_, count)| **count > 1).collect();
    assert!(repeated.is_empty(), "answered more than once: {repeated:?}");
    let missing: Vec<_> = expected
        .iter()
        .filter(|id| !answers.contains_key(id))
        .collect();
    assert!(missing.is_empty(), "never answered: {missing:?}");
    let unwanted: Vec<_> = cancelled
        .iter()
        .filter(|id| answers.contains_key(id))
        .collect();
    assert!(unwanted.is_empty(), "cancelled, but answered: {unwanted:?}");
    let is_unexpected = |id: &&u64| !(expected.contains(id) || either.contains(id));
    assert_eq!(
        answers.keys().filter(is_unexpected).count(),
        0,
        "every answer belongs to a request"
    );
}

#[test]
fn over_http_a_cancelled_request_ends_without_a_result() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "faulty__hang", "arguments": {}}});
    thread::scope(|scope| {
        let call_thread = scope.spawn(|| client.post(&call).and_then(Response::text));
        wait_until("the call hangs", || {
            some_if(faulty.received_calls("hang").len() == 1)
        });
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(client.post(&cancel).expect("an answer").status, 202);
        let body = call_thread
            .join()
            .expect("the thread ends")
            .expect("the response ends");
        assert!(
            !body.contains("\"result\""),
            "a cancelled request gets no result: {body}"
        );
    });
}
