//! Connections of programs without a token: clients are served, however many such connections there
//! are.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use drawbridge_tests::{
    Home, Hub, http::Url, slow_connections::SlowConnections, wait::some_if, wait_until,
};

/// Starts the hub with the usual limit of open files, which the hub cannot raise here.
const WITH_FEW_DESCRIPTORS: [&str; 4] = ["sh", "-c", r#"ulimit -n 1024; exec "$@""#, "sh"];
/// The number of slow connections, which is larger than the limit of open files.
const SLOW_CONNECTIONS: usize = 1_500;
/// The most connections without a known token that the hub keeps open.
const MAX_UNAUTHENTICATED: usize = 128;

#[test]
fn many_slow_connections_disturb_no_client_and_not_the_local_socket() {
    let home = Home::new();
    let hub = Hub::serve_with_starter(&home, &WITH_FEW_DESCRIPTORS);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    let mut connections = SlowConnections::open(&hub, SLOW_CONNECTIONS);
    for number in 0..2 {
        connections.send_another_byte();
        let arguments = format!(r#"{{"n":{number}}}"#);
        assert_eq!(client.call("probe__echo", &arguments).text(), arguments);
        // A verb over the local socket that writes to the database.
        let name = format!("other-{number}");
        hub.connect_client(&name);
    }
    wait_until("only a few connections are left", || {
        some_if(connections.count_open() <= MAX_UNAUTHENTICATED)
    });
    // A program without a token can still ask whether the hub is well.
    let health = drawbridge_tests::http::Request {
        method: "GET",
        url: &Url::parse(&hub.url).with_path("/health"),
        headers: &[],
        body: b"",
    };
    assert_eq!(health.send().expect("an answer").status, 200);
}

#[test]
fn the_connection_of_a_known_client_is_not_closed_for_an_unknown_program() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let client = hub.connect_client("desk");
    let mut stream = client.listen(None);
    let mut connections = SlowConnections::open(&hub, 4 * MAX_UNAUTHENTICATED);
    wait_until("the first connections have made room", || {
        some_if(connections.count_open() <= MAX_UNAUTHENTICATED)
    });
    hub.add_probe(&[]);
    assert!(
        stream.any(|event| event.message()["method"] == "notifications/tools/list_changed"),
        "the stream is open"
    );
}

#[test]
fn the_hub_raises_its_soft_limit_of_open_files() {
    let home = Home::new();
    let starter = ["sh", "-c", r#"ulimit -S -n 256; exec "$@""#, "sh"];
    let hub = Hub::serve_with_starter(&home, &starter);
    let limits = fs::read_to_string(format!("/proc/{}/limits", hub.pid())).expect("limits");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .expect("the limit of open files");
    let mut numbers = line.split_whitespace().skip(3);
    let mut next_number =
        || -> u64 { numbers.next().expect("a number").parse().expect("a number") };
    let (soft, hard) = (next_number(), next_number());
    assert_eq!(soft, hard.min(8 * 1024), "{line}");
}

#[test]
fn a_request_head_that_does_not_end_closes_its_connection() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut stream = TcpStream::connect(Url::parse(&hub.url).authority).expect("a connection");
    stream
        .write_all(b"POST /mcp HTTP/1.1\r\nHost: ")
        .expect("the beginning of the head");
    let mut answer = Vec::new();
    // The hub closes the connection after its deadline.
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"));
}
