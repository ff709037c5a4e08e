//! A client session on a persistent connection, as real clients use it.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use drawbridge_tests::{Hub, McpClient, http::Url, mcp::REVISION};

/// The longest time that a session waits for the next bytes of a response.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Session {
    stream: BufReader<TcpStream>,
    /// The beginning of a request, up to its `Content-Length`.
    head: String,
    next_id: u64,
}

impl Session {
    /// Opens a session for a new client with this name.
    pub(crate) fn open(hub: &Hub<'_>, name: &str) -> Self {
        let token = hub.add_client(name);
        let client = McpClient::connect(&hub.url, &token);
        let Url { authority, path } = Url::parse(&hub.url);
        let stream = TcpStream::connect(&authority).expect("the hub listens");
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(TIMEOUT)))
            .expect("a connection");
        let session = client.session_id().expect("the hub returned a session id");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
             Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {REVISION}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: "
        );
        Self {
            stream: BufReader::new(stream),
            head,
            next_id: 1,
        }
    }

    /// Calls a tool and returns the body of the HTTP response.
    ///
    /// # Errors
    /// Returns an error if the connection breaks, if the response has no valid `Content-Length`, or
    /// if its body is not UTF-8.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> io::Result<String> {
        let id = self.next_id;
        self.next_id += 1;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        let request = format!("{}{}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.read_response()
    }

    fn read_response(&mut self) -> io::Result<String> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some((name, value)) = line.trim_end().split_once(':') else {
                if line.trim_end().is_empty() {
                    break;
                }
                continue;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok();
            }
        }
        let mut body =
            vec![0; length.ok_or_else(|| io::Error::other("a response without a length"))?];
        self.stream.read_exact(&mut body)?;
        String::from_utf8(body).map_err(io::Error::other)
    }
}
