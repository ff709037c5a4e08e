//! A server over HTTP for tests, which answers with the bytes that the test passes.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

pub(super) const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
pub(super) const ACCEPTED: &str =
    "HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\nConnection: close\r\n\r\nAccepted";
/// A timeout that is long enough for each step of a test.
pub(super) const LONG: Duration = Duration::from_secs(5);

/// A server that answers one request at a time, with the response that the test passes.
pub(super) struct Server(TcpListener);

impl Server {
    pub(super) async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.expect("a port"))
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.local_addr().expect("an address"))
    }

    /// Answers the next request with `response`. Returns the request as text, and the connection,
    /// which is still open.
    pub(super) async fn exchange(&self, response: &str) -> (String, TcpStream) {
        let (mut stream, _) = timeout(LONG, self.0.accept())
            .await
            .expect("a request")
            .expect("a connection");
        let mut request = Vec::new();
        while !is_whole(&request) {
            assert!(
                stream.read_buf(&mut request).await.expect("read") > 0,
                "the request ends early"
            );
        }
        stream
            .write_all(response.as_bytes())
            .await
            .expect("written");
        (String::from_utf8(request).expect("UTF-8"), stream)
    }

    /// Checks that no request arrives for a while.
    pub(super) async fn assert_no_request(&self) {
        timeout(Duration::from_millis(300), self.0.accept())
            .await
            .expect_err("no request");
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    body.len() >= length.unwrap_or(0)
}
