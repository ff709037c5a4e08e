//! The memory of the hub stays within its limits, whatever a client or a server does, and other
//! clients are served meanwhile. Each test states a limit.

use std::{
    fs,
    io::{BufReader, Read, Write},
    net::TcpStream,
};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, MemoryGrowth,
    http::{Request, Response, Url},
    mcp::{Events, REVISION},
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

use super::{add_neighbour, read_outcomes};

const MIB: usize = 1 << 20;
/// The limit of the requests of one client in flight, in MiB.
const CLIENT_MIB: usize = 32;
/// The limit of the number of requests of one session in flight.
const SESSION_REQUESTS: usize = 512;
/// The limit of the number of requests of one client in flight.
const CLIENT_REQUESTS: usize = 2 * SESSION_REQUESTS;

/// Checks that the hub has grown by at most `max_mib` under a `load`.
#[track_caller]
fn check_growth(memory: &MemoryGrowth, load: &str, max_mib: u64) {
    let growth_mib = memory.peak_growth_mib();
    assert!(
        growth_mib <= max_mib,
        "{load}: the hub grew by {growth_mib} MiB"
    );
}

/// Checks that another client is answered by another server.
#[track_caller]
fn check_neighbour(client: &McpClient) {
    assert_eq!(client.call("neighbour__echo", "{}").text(), "{}");
}

fn call(id: usize, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": format!("faulty__{tool}"), "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Returns the status of the response on a connection, and the message of the error in its body.
fn read_refusal(connection: TcpStream) -> (u16, String) {
    let response = Response::read(BufReader::new(connection)).expect("an answer");
    let status = response.status;
    let text = response.text().expect("a body");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    (status, message.to_owned())
}

#[test]
fn the_requests_in_flight_of_a_client_have_at_most_32_mib() {
    const BODY_MIB: usize = 8;
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let timeouts = json!({"call_ms": 600_000});
    let _faulty = FaultyServer::add(&hub, "faulty", &timeouts, &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    client.call("faulty__stop_reading", "{}");
    let arguments = json!({"text": "x".repeat(BODY_MIB * MIB - 1024)});
    let memory = MemoryGrowth::new(hub.pid());
    let mut unfinished_requests = Vec::new();
    for number in 1..=CLIENT_MIB / BODY_MIB {
        let message = call(number, "measure", &arguments);
        unfinished_requests.push(client.begin_post(&message).expect("a connection"));
        wait_until("the call is recorded", || {
            some_if(read_outcomes(&home, "measure").len() == number)
        });
    }
    for number in 100..140 {
        let message = call(number, "measure", &arguments);
        let refused = client.begin_post(&message).expect("a connection");
        let (status, message) = read_refusal(refused);
        assert_eq!(status, 503, "{message}");
        assert!(message.contains("more than 32 MiB"), "{message}");
    }
    check_neighbour(&neighbour_client);
    check_growth(
        &memory,
        "44 calls of 8 MiB to a server that does not read",
        320,
    );
    drop(unfinished_requests);
    wait_until("there is room again", || {
        let ping = json!({"jsonrpc": "2.0", "id": 200, "method": "ping", "params": arguments});
        some_if(client.post(&ping).expect("an answer").status == 200)
    });
}

#[test]
fn a_client_has_at_most_1024_requests_in_flight() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({"call_ms": 600_000}), &[]);
    let faulty = faulty.wait_until_synced();
    let token = hub.add_client("desk");
    let sessions = [(); 2].map(|()| McpClient::connect(&hub.url, &token));
    let [client, _] = &sessions;
    let mut unfinished_requests = Vec::new();
    for session in &sessions {
        for number in 1..=SESSION_REQUESTS {
            let message = call(number, "hang", &json!({}));
            unfinished_requests.push(session.begin_post(&message).expect("a connection"));
        }
    }
    wait_until("all calls are at the server", || {
        some_if(faulty.received_calls("hang").len() == CLIENT_REQUESTS)
    });
    let one_more = client.begin_post(&call(1_000, "hang", &json!({})));
    let (status, message) = read_refusal(one_more.expect("a connection"));
    assert_eq!(status, 503, "{message}");
    assert!(message.contains("1024 requests in flight"), "{message}");
    check_neighbour(&neighbour_client);
    drop(unfinished_requests);
    wait_until("there is room again", || {
        some_if(
            client
                .post(&call(1_001, "echo", &json!({})))
                .expect("an answer")
                .status
                == 200,
        )
    });
}

/// An introduction is the information that a client gives about itself: the params of `initialize`.
#[test]
fn an_introduction_of_more_than_64_kib_is_refused_and_takes_no_memory() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let (url, token) = (Url::parse(&hub.url), hub.add_client("desk"));
    let bearer = format!("Bearer {token}");
    let memory = MemoryGrowth::new(hub.pid());
    for id in 0..30 {
        let capabilities = json!({"experimental": {"x": "x".repeat(12 * MIB)}});
        let params = json!({"protocolVersion": REVISION, "capabilities": capabilities,
            "clientInfo": {"name": "long", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
        let body = body.to_string();
        let request = Request {
            method: "POST",
            url: &url,
            headers: &[
                ("Authorization", bearer.as_str()),
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
            ],
            body: body.as_bytes(),
        };
        let response = request.send().expect("an answer");
        assert!(response.header("Mcp-Session-Id").is_none());
        let answer = response.text().expect("a body");
        assert!(answer.contains("at most 65536 are allowed"), "{answer}");
    }
    check_neighbour(&neighbour_client);
    check_growth(&memory, "30 introductions of 12 MiB", 48);
}

#[test]
fn a_body_in_pieces_of_one_byte_takes_little_more_memory_than_in_one_piece() {
    const BYTES: usize = 6 * MIB;
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let (url, token) = (Url::parse(&hub.url), hub.add_client("desk"));
    let memory = MemoryGrowth::new(hub.pid());
    let mut stream = TcpStream::connect(&url.authority).expect("a connection");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
        url.authority
    );
    stream.write_all(head.as_bytes()).expect("write the head");
    let pieces = "1\r\n \r\n".repeat(64 * 1024);
    for _ in 0..BYTES / (64 * 1024) {
        stream.write_all(pieces.as_bytes()).expect("write a part");
    }
    check_neighbour(&neighbour_client);
    check_growth(&memory, "6 MiB in pieces of one byte", 24);
    let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let end = format!("{:x}\r\n{message}\r\n0\r\n\r\n", message.len());
    stream.write_all(end.as_bytes()).expect("write the end");
    // The message has no session, so the answer names the header that is missing.
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(
        answer.contains("Mcp-Session-Id"),
        "the body was read to its end: {answer}"
    );
}

/// Makes a server send 100 log messages of 4 MiB during a call. `run_call` sends the call, and
/// reads as much of the response as the test wants.
fn flood_with_logs<T>(load: &str, run_call: impl FnOnce(&Hub<'_>, &McpClient, &Value) -> T) -> T {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({"call_ms": 600_000}), &[]);
    let faulty = faulty.wait_until_synced();
    let client = hub.connect_client("desk");
    let memory = MemoryGrowth::new(hub.pid());
    let arguments = json!({"kind": "message", "count": 100, "size": 4 * MIB});
    let result = run_call(&hub, &client, &call(7, "flood", &arguments));
    wait_until("the flood is over", || {
        let outcomes = read_outcomes(&home, "flood");
        some_if(outcomes.first().is_some_and(|outcome| outcome != "running"))
    });
    check_neighbour(&neighbour_client);
    check_growth(&memory, load, 64);
    assert_eq!(faulty.count_starts(), 1);
    result
}

#[test]
fn log_messages_for_a_client_that_takes_only_json_take_little_memory() {
    let load = "400 MiB of logs for a client without a stream";
    let answer = flood_with_logs(load, |_, client, call| {
        client.post_for_json(call).expect("an answer")
    });
    assert!(answer.contains("the flood is over"), "{answer}");
}

#[test]
fn long_log_messages_arrive_at_a_client_that_reads() {
    let messages = flood_with_logs(
        "400 MiB of logs for a client that reads",
        |_, client, call| {
            let response = client.post(call).expect("an answer");
            let lengths = Events::new(response).map(|event| event.data.len());
            lengths.collect::<Vec<_>>()
        },
    );
    let long = messages.iter().filter(|length| **length > 4 * MIB).count();
    assert!(long > 0, "log messages arrive");
    assert!(
        messages.last().is_some_and(|length| *length < 1024),
        "the last message is the answer"
    );
}

#[test]
fn a_stream_that_its_client_does_not_read_is_closed_and_takes_little_memory() {
    flood_with_logs(
        "400 MiB of logs for a client that does not read",
        |hub, client, call| {
            let stalled = client.begin_post(call).expect("a connection");
            wait_until("the server has written its messages", || {
                // The text of each message is a run of the letter m.
                let filter = json!({"server": "faulty", "limit": 200});
                let lines = hub.run_verb("logs.list", &filter);
                let lines = lines["lines"].as_array().expect("lines").iter();
                some_if(
                    lines
                        .filter(|line| line.to_string().contains("mmmm"))
                        .count()
                        == 100,
                )
            });
            let mut messages =
                Events::new(Response::read(BufReader::new(stalled)).expect("a head"));
            let events: Vec<_> = messages.by_ref().collect();
            assert!(
                events
                    .iter()
                    .all(|event| event.data.contains("notifications/message")),
                "the stream ends without the answer"
            );
            assert!(events.len() <= 4, "{} messages were kept", events.len());
            // The call goes on after its stream has ended, and its client can fetch the answer.
            let last = events.last().expect("an event");
            let rest: Vec<_> = client.listen(Some(&last.id)).collect();
            assert!(
                rest.last()
                    .is_some_and(|event| event.data.contains("the flood is over"))
            );
        },
    );
}

#[test]
fn a_session_stream_that_its_client_does_not_read_takes_little_memory() {
    let load = "400 MiB of logs for a session's stream";
    let answer = flood_with_logs(load, |_, client, call| {
        let _stalled = client.begin_listen().expect("a connection");
        // If a call accepts only JSON, its log messages go to the session's own stream.
        client.post_for_json(call).expect("an answer")
    });
    assert!(answer.contains("the flood is over"), "{answer}");
}

#[test]
fn the_catalog_of_a_server_takes_at_most_32_mib_and_its_state_says_so() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let memory = MemoryGrowth::new(hub.pid());
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &["--more-pages", "100"]);
    let faulty = faulty.wait_until_synced();
    check_neighbour(&neighbour_client);
    check_growth(&memory, "a catalog of 400 MiB", 256);
    let pages = faulty.received_by_method("tools/list").len();
    assert!(
        (8..=10).contains(&pages),
        "{pages} pages of 4 MiB were read"
    );
    let excluded = &faulty.show()["excluded"]["entries"][0];
    assert_eq!(excluded["name"], "rest of tools/list");
    let reason = excluded["reason"].as_str().expect("a reason");
    assert!(reason.contains("more than 32 MiB"), "{reason}");
    let client = hub.connect_client("desk");
    assert_eq!(client.call("faulty__echo", "{}").text(), "{}");
    let database = home.data_dir().join("drawbridge.db");
    let stored_mib = fs::metadata(database).expect("the database").len() >> 20;
    assert!(stored_mib <= 128, "the database has {stored_mib} MiB");
}
