//! Messages that are too long or too deeply nested, from clients and from servers.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use drawbridge_tests::{Bridge, Faulty, Home, Hub, McpClient, Memory, http::Url};
use serde_json::json;

use super::{meanwhile, neighbour, timed};

const MIB: usize = 1 << 20;
/// The longest message of a client and of a server.
const LONGEST: usize = 16 * MIB;
/// The largest growth of the hub in MiB for messages that it refuses.
const MOST: u64 = 32;
const LEVELS: usize = 100_000;
/// The timeout of the server's calls, in milliseconds.
const PATIENCE: u32 = 8_000;

fn faulty<'a>(hub: &'a Hub<'a>) -> (Faulty<'a>, McpClient) {
    let faulty = Faulty::add(hub, "faulty", &json!({"call_ms": PATIENCE}), &[]).synced();
    (faulty, hub.client("desk"))
}

/// Sends the head of a request with this length, or with a chunked body if there is none.
fn head(hub: &Hub<'_>, token: &str, length: Option<usize>) -> TcpStream {
    let url = Url::of(&hub.url);
    let length = length.map_or("Transfer-Encoding: chunked".to_owned(), |length| {
        format!("Content-Length: {length}")
    });
    let mut stream = TcpStream::connect(&url.authority).expect("a connection");
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\n{length}\r\n\r\n",
        url.path, url.authority
    );
    stream.write_all(head.as_bytes()).expect("speak");
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a bound");
    stream
}

/// Sends a chunked body longer than the limit. Returns the status of the response.
fn send_in_pieces(hub: &Hub<'_>, token: &str) -> String {
    let mut stream = head(hub, token, None);
    let piece = format!("{MIB:x}\r\n{}\r\n", " ".repeat(MIB));
    // The hub may close the connection before the end of the body; its response arrives all the
    // same.
    let _ = (0..4 * LONGEST / MIB).try_for_each(|_| stream.write_all(piece.as_bytes()));
    status(stream)
}

fn status(stream: impl Read) -> String {
    let mut line = String::new();
    BufReader::new(stream)
        .read_line(&mut line)
        .expect("an answer");
    line.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_body_that_is_said_to_be_too_long_is_refused_before_it_comes() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let memory = Memory::of(hub.id());
    let token = hub.token("desk");
    assert_eq!(status(head(&hub, &token, Some(LONGEST))), "413");
    assert!(memory.rise() <= MOST, "it grew by {} MiB", memory.rise());
}

#[test]
fn a_body_that_grows_too_long_is_refused_and_nobody_else_hears_of_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = neighbour(&hub);
    let token = hub.token("desk");
    let memory = Memory::of(hub.id());
    let (status, others) = meanwhile(&other, || send_in_pieces(&hub, &token));
    let (slowest, rise) = (others.iter().max().expect("some calls"), memory.rise());
    println!("the hub grew by {rise} MiB; other calls took up to {slowest:?}");
    assert_eq!(status, "413");
    assert!(
        *slowest < Duration::from_secs(2),
        "another call took {slowest:?}"
    );
    assert!(rise <= MOST, "it grew by {rise} MiB");
}

#[test]
fn a_line_that_is_too_long_for_the_bridge_is_one_error_and_the_next_line_is_heard() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut bridge = Bridge::open(&home, "editor");
    let (memory, of_the_hub) = (Memory::of(bridge.process.id()), Memory::of(hub.id()));
    let mut stdin = bridge.stdin.take().expect("stdin is open");
    let piece = " ".repeat(MIB);
    for _ in 0..LONGEST / MIB + 1 {
        stdin
            .write_all(piece.as_bytes())
            .expect("speak to the bridge");
    }
    stdin.write_all(b"\n").expect("speak to the bridge");
    bridge.stdin = Some(stdin);
    assert!(bridge.process.line().contains("longer than 16 MiB"));
    assert_eq!(bridge.ask(9, "ping", &json!({}))["result"], json!({}));
    println!(
        "the bridge grew by {} MiB, the hub by {}",
        memory.rise(),
        of_the_hub.rise()
    );
    assert!(
        of_the_hub.rise() <= MOST,
        "the hub grew by {} MiB",
        of_the_hub.rise()
    );
    assert!(
        memory.rise() <= MOST,
        "the bridge grew by {} MiB",
        memory.rise()
    );
}

#[test]
fn what_a_client_nests_too_deep_is_an_error_to_it_alone() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (faulty, client) = faulty(&hub);
    let memory = Memory::of(hub.id());
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let inner = if open == "[" { "" } else { "1" };
        let deep = format!("{}{inner}{}", open.repeat(LEVELS), close.repeat(LEVELS));
        let answer = client.call("faulty__measure", &format!("{{\"deep\":{deep}}}"));
        assert!(
            answer
                .error()
                .is_some_and(|error| error["message"].to_string().contains("nested")),
            "{}",
            answer.raw
        );
    }
    assert_eq!(
        client.call("faulty__echo", "{}").text(),
        "{}",
        "the next one is answered"
    );
    assert_eq!(faulty.calls("measure").len(), 0, "none reached the server");
    assert!(memory.rise() <= MOST, "it grew by {} MiB", memory.rise());
}

#[test]
fn what_a_server_nests_deep_harms_nobody() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (faulty, client) = faulty(&hub);
    let memory = Memory::of(hub.id());
    client.call("faulty__deep", &json!({"levels": LEVELS}).to_string());
    assert_eq!(
        client.call("faulty__echo", "{}").text(),
        "{}",
        "the next one is answered"
    );
    let noise = json!({"kind": "deep", "lines": 3, "levels": LEVELS});
    assert_eq!(
        client.call("faulty__noise", &noise.to_string()).text(),
        "after the noise"
    );
    assert_eq!(faulty.starts(), 1, "it runs still");
    assert!(memory.rise() <= MOST, "it grew by {} MiB", memory.rise());
}

#[test]
fn what_a_server_nests_too_deep_is_an_error_to_its_caller() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_faulty, client) = faulty(&hub);
    let answer = client.call("faulty__deep", &json!({"levels": LEVELS}).to_string());
    assert!(
        answer.raw.len() < LEVELS,
        "an answer of {} bytes, which no client can read",
        answer.raw.len()
    );
    assert!(
        answer.error_code().is_some() || answer.is_error(),
        "{}",
        answer.raw
    );
}

#[test]
fn a_message_that_is_too_long_costs_little_whichever_way_it_comes() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_faulty, client) = faulty(&hub);
    let token = hub.token("other");
    let memory = Memory::of(hub.id());
    assert_eq!(send_in_pieces(&hub, &token), "413");
    let body = memory.rise();
    let memory = Memory::of(hub.id());
    client.call(
        "faulty__noise",
        &json!({"kind": "endless", "lines": 1, "bytes": 4 * LONGEST}).to_string(),
    );
    let line = memory.rise();
    assert!(
        body <= MOST && line <= MOST,
        "a body made it grow by {body} MiB, a server's line by {line}"
    );
}

#[test]
fn the_longest_answer_arrives_whole_and_a_longer_one_is_an_error_to_its_caller_alone() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = neighbour(&hub);
    let (faulty, client) = faulty(&hub);
    let long = client.call(
        "faulty__large",
        &json!({"bytes": LONGEST - 1024}).to_string(),
    );
    assert_eq!(long.text().len(), LONGEST - 1024);
    let memory = Memory::of(hub.id());
    let ((answer, took), others) = meanwhile(&other, || {
        timed(|| {
            client.call(
                "faulty__large",
                &json!({"bytes": LONGEST + 1024}).to_string(),
            )
        })
    });
    let (slowest, rise) = (others.iter().max().expect("some calls"), memory.rise());
    println!("told after {took:?}; the hub grew by {rise} MiB; other calls took up to {slowest:?}");
    assert!(
        answer.is_error() || answer.error_code().is_some(),
        "{} bytes",
        answer.raw.len()
    );
    assert!(
        *slowest < Duration::from_secs(2),
        "another call took {slowest:?}"
    );
    assert!(rise <= MOST, "it grew by {rise} MiB");
    assert_eq!(
        client.call("faulty__echo", "{}").text(),
        "{}",
        "the next one is answered"
    );
    assert_eq!(faulty.starts(), 1);
}

#[test]
fn a_line_without_end_is_dropped_in_bounded_memory_and_the_next_one_is_found() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, other) = neighbour(&hub);
    let (faulty, client) = faulty(&hub);
    let memory = Memory::of(hub.id());
    let noise = json!({"kind": "endless", "lines": 1, "bytes": 4 * LONGEST});
    let (answer, others) = meanwhile(&other, || client.call("faulty__noise", &noise.to_string()));
    let (slowest, rise) = (others.iter().max().expect("some calls"), memory.rise());
    println!("the hub grew by {rise} MiB; other calls took up to {slowest:?}");
    assert_eq!(answer.text(), "after the noise");
    assert!(
        *slowest < Duration::from_secs(2),
        "another call took {slowest:?}"
    );
    assert!(rise <= MOST, "it grew by {rise} MiB");
    assert_eq!(
        (faulty.starts(), faulty.seen()["non_jsonrpc_lines"].as_u64()),
        (1, Some(1))
    );
}
