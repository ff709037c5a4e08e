//! Messages that are too long or too deeply nested, from clients and from servers.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use drawbridge_tests::{
    Bridge, FaultyServer, Home, Hub, McpClient, MemoryGrowth, http::Url, wait::some_if, wait_until,
};
use serde_json::json;

use super::{add_neighbour, call_neighbour_during};

const MIB: usize = 1 << 20;
/// The length of the longest message that the hub accepts from a client or a server, in bytes.
const MAX_MESSAGE: usize = 16 * MIB;
/// The largest growth of the hub or the bridge in MiB, for messages that are too long or too deeply
/// nested.
const MAX_GROWTH_MIB: u64 = 32;
/// The number of levels of JSON that is too deeply nested.
const LEVELS: usize = 100_000;
/// The timeout of the server's calls, in milliseconds.
const CALL_TIMEOUT_MS: u32 = 8_000;

fn add_faulty_server<'a>(hub: &'a Hub<'a>) -> (FaultyServer<'a>, McpClient) {
    let faulty = FaultyServer::add(hub, "faulty", &json!({"call_ms": CALL_TIMEOUT_MS}), &[])
        .wait_until_synced();
    (faulty, hub.connect_client("desk"))
}

/// Sends the head of a request whose body has this length, or is chunked if `length` is `None`.
fn send_head(hub: &Hub<'_>, token: &str, length: Option<usize>) -> TcpStream {
    let url = Url::parse(&hub.url);
    let length = length.map_or("Transfer-Encoding: chunked".to_owned(), |length| {
        format!("Content-Length: {length}")
    });
    let mut stream = TcpStream::connect(&url.authority).expect("a connection");
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\n{length}\r\n\r\n",
        url.path, url.authority
    );
    stream
        .write_all(head.as_bytes())
        .expect("write the request");
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("set the read timeout");
    stream
}

/// Sends a chunked body longer than the limit, and calls `act_halfway` at half the limit. Returns
/// the status of the response.
fn send_in_pieces(hub: &Hub<'_>, token: &str, act_halfway: impl FnOnce()) -> String {
    let mut stream = send_head(hub, token, None);
    let chunk = format!("{MIB:x}\r\n{}\r\n", " ".repeat(MIB));
    for _ in 0..MAX_MESSAGE / MIB / 2 {
        stream
            .write_all(chunk.as_bytes())
            .expect("write the request");
    }
    act_halfway();
    // The hub may close the connection before the end of the body; its response arrives all the
    // same.
    let _ = (0..4 * MAX_MESSAGE / MIB).try_for_each(|_| stream.write_all(chunk.as_bytes()));
    read_status(stream)
}

fn read_status(stream: impl Read) -> String {
    let mut line = String::new();
    BufReader::new(stream)
        .read_line(&mut line)
        .expect("an answer");
    line.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_body_with_too_large_a_content_length_is_rejected_before_it_is_read() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let memory = MemoryGrowth::new(hub.pid());
    let token = hub.add_client("desk");
    assert_eq!(
        read_status(send_head(&hub, &token, Some(MAX_MESSAGE + 1))),
        "413"
    );
    assert!(
        memory.peak_growth_mib() <= MAX_GROWTH_MIB,
        "the hub grew by {} MiB",
        memory.peak_growth_mib()
    );
}

#[test]
fn a_chunked_body_that_grows_too_long_is_rejected_and_affects_no_other_client() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let token = hub.add_client("desk");
    let memory = MemoryGrowth::new(hub.pid());
    let status = call_neighbour_during(&home, &neighbour_client, |neighbour_answered| {
        send_in_pieces(&hub, &token, || {
            wait_until("the other server is answered", || {
                some_if(Path::new(neighbour_answered).exists())
            });
        })
    });
    let growth_mib = memory.peak_growth_mib();
    println!("the hub grew by {growth_mib} MiB");
    assert_eq!(status, "413");
    assert!(
        growth_mib <= MAX_GROWTH_MIB,
        "the hub grew by {growth_mib} MiB"
    );
}

#[test]
fn a_line_too_long_for_the_bridge_is_one_error_and_the_next_line_is_read() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut bridge = Bridge::open(&home, "editor");
    let (bridge_memory, hub_memory) = (
        MemoryGrowth::new(bridge.process.pid()),
        MemoryGrowth::new(hub.pid()),
    );
    let mut stdin = bridge.stdin.take().expect("stdin is open");
    let chunk = " ".repeat(MIB);
    for _ in 0..MAX_MESSAGE / MIB + 1 {
        stdin
            .write_all(chunk.as_bytes())
            .expect("write to the bridge");
    }
    stdin.write_all(b"\n").expect("write to the bridge");
    bridge.stdin = Some(stdin);
    assert!(bridge.process.read_line().contains("longer than 16 MiB"));
    assert_eq!(bridge.request(9, "ping", &json!({}))["result"], json!({}));
    println!(
        "the bridge grew by {} MiB, the hub by {}",
        bridge_memory.peak_growth_mib(),
        hub_memory.peak_growth_mib()
    );
    assert!(
        hub_memory.peak_growth_mib() <= MAX_GROWTH_MIB,
        "the hub grew by {} MiB",
        hub_memory.peak_growth_mib()
    );
    assert!(
        bridge_memory.peak_growth_mib() <= MAX_GROWTH_MIB,
        "the bridge grew by {} MiB",
        bridge_memory.peak_growth_mib()
    );
}

#[test]
fn too_deeply_nested_client_json_is_an_error_for_that_client_only() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (faulty, client) = add_faulty_server(&hub);
    let memory = MemoryGrowth::new(hub.pid());
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let innermost = if open == "[" { "" } else { "1" };
        let nested_json = format!("{}{innermost}{}", open.repeat(LEVELS), close.repeat(LEVELS));
        let answer = client.call("faulty__measure", &format!("{{\"deep\":{nested_json}}}"));
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
        "the next call is answered"
    );
    assert_eq!(
        faulty.received_calls("measure").len(),
        0,
        "no call with nested arguments reached the server"
    );
    assert!(
        memory.peak_growth_mib() <= MAX_GROWTH_MIB,
        "the hub grew by {} MiB",
        memory.peak_growth_mib()
    );
}

#[test]
fn deeply_nested_server_json_is_harmless() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (faulty, client) = add_faulty_server(&hub);
    let memory = MemoryGrowth::new(hub.pid());
    client.call("faulty__deep", &json!({"levels": LEVELS}).to_string());
    assert_eq!(
        client.call("faulty__echo", "{}").text(),
        "{}",
        "the next call is answered"
    );
    let arguments = json!({"kind": "deep", "lines": 3, "levels": LEVELS});
    assert_eq!(
        client
            .call("faulty__non_jsonrpc_lines", &arguments.to_string())
            .text(),
        "after the lines"
    );
    assert_eq!(faulty.count_starts(), 1, "the server was not restarted");
    assert!(
        memory.peak_growth_mib() <= MAX_GROWTH_MIB,
        "the hub grew by {} MiB",
        memory.peak_growth_mib()
    );
}

#[test]
fn too_deeply_nested_server_json_is_an_error_for_the_caller() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_faulty, client) = add_faulty_server(&hub);
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
fn a_message_that_is_too_long_needs_little_memory_in_each_direction() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_faulty, client) = add_faulty_server(&hub);
    let token = hub.add_client("other");
    let memory = MemoryGrowth::new(hub.pid());
    assert_eq!(send_in_pieces(&hub, &token, || ()), "413");
    let body_growth_mib = memory.peak_growth_mib();
    let memory = MemoryGrowth::new(hub.pid());
    client.call(
        "faulty__non_jsonrpc_lines",
        &json!({"kind": "endless", "lines": 1, "bytes": 4 * MAX_MESSAGE}).to_string(),
    );
    let line_growth_mib = memory.peak_growth_mib();
    assert!(
        body_growth_mib <= MAX_GROWTH_MIB && line_growth_mib <= MAX_GROWTH_MIB,
        "the hub grew by {body_growth_mib} MiB with a client's body and by {line_growth_mib} MiB with a server's line"
    );
}

#[test]
fn the_longest_answer_arrives_and_a_longer_answer_is_an_error_for_its_caller_only() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let (faulty, client) = add_faulty_server(&hub);
    let longest = client.call(
        "faulty__large",
        &json!({"bytes": MAX_MESSAGE - 1024}).to_string(),
    );
    assert_eq!(longest.text().len(), MAX_MESSAGE - 1024);
    let memory = MemoryGrowth::new(hub.pid());
    let answer = call_neighbour_during(&home, &neighbour_client, |until_file| {
        let arguments = json!({"bytes": MAX_MESSAGE + 1024, "until": until_file});
        client.call("faulty__large", &arguments.to_string())
    });
    let growth_mib = memory.peak_growth_mib();
    println!("the hub grew by {growth_mib} MiB");
    assert!(
        answer.error_code().is_some() || answer.is_error(),
        "{} bytes",
        answer.raw.len()
    );
    assert!(
        growth_mib <= MAX_GROWTH_MIB,
        "the hub grew by {growth_mib} MiB"
    );
    assert_eq!(
        client.call("faulty__echo", "{}").text(),
        "{}",
        "the next call is answered"
    );
    assert_eq!(faulty.count_starts(), 1);
}

#[test]
fn an_endless_line_is_dropped_in_bounded_memory_and_the_next_line_is_read() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let (_neighbour, neighbour_client) = add_neighbour(&hub);
    let (faulty, client) = add_faulty_server(&hub);
    let memory = MemoryGrowth::new(hub.pid());
    let answer = call_neighbour_during(&home, &neighbour_client, |until_file| {
        let arguments =
            json!({"kind": "endless", "lines": 1, "bytes": 4 * MAX_MESSAGE, "until": until_file});
        client.call("faulty__non_jsonrpc_lines", &arguments.to_string())
    });
    let growth_mib = memory.peak_growth_mib();
    println!("the hub grew by {growth_mib} MiB");
    assert_eq!(answer.text(), "after the lines");
    assert!(
        growth_mib <= MAX_GROWTH_MIB,
        "the hub grew by {growth_mib} MiB"
    );
    assert_eq!(
        (
            faulty.count_starts(),
            faulty.show()["non_jsonrpc_lines"].as_u64()
        ),
        (1, Some(1))
    );
}
