//! Servers behind a proxy that the environment names.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::mpsc::{self, Receiver},
    thread,
};

use drawbridge_tests::{Home, Hub};

/// Starts a proxy that refuses everything. Returns its URL, and a channel with the first line of
/// each request.
fn start_proxy() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut line = String::new();
            BufReader::new(&stream)
                .read_line(&mut line)
                .expect("a request");
            let _ = stream.write_all(
                b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
            let _ = sender.send(line);
        }
    });
    (url, lines)
}

#[test]
fn a_server_is_reached_through_the_proxy_of_the_environment_unless_excepted() {
    let (proxy, lines) = start_proxy();
    let home = Home::new();
    let environment = [
        ("http_proxy", proxy.as_str()),
        ("https_proxy", &proxy),
        ("no_proxy", "excepted.invalid,127.0.0.1"),
    ];
    let _hub = Hub::serve_with_env(&home, &environment);
    for (name, url) in [
        ("plain", "http://one.invalid/mcp"),
        ("secure", "https://two.invalid/mcp"),
        ("direct", "http://excepted.invalid/mcp"),
    ] {
        home.cli(&["servers", "add", name, "--url", url])
            .expect_success();
        let verified = home.cli(&["servers", "verify", name]);
        assert!(
            !verified.output.status.success(),
            "{name} cannot be reached"
        );
    }
    let received: Vec<String> = lines.try_iter().collect();
    assert!(
        received
            .iter()
            .any(|line| line.starts_with("POST http://one.invalid/mcp ")),
        "{received:?}"
    );
    assert!(
        received
            .iter()
            .any(|line| line.starts_with("CONNECT two.invalid:443 ")),
        "{received:?}"
    );
    assert!(
        !received.iter().any(|line| line.contains("excepted")),
        "{received:?}"
    );
}
