//! Connections without a token that send their requests one byte at a time.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
};

use crate::{Hub, http::Url};

/// Connections that send the body of a sign-in byte by byte.
pub struct SlowConnections {
    authority: String,
    connections: Vec<TcpStream>,
}

impl SlowConnections {
    /// Opens this many connections. Raises the limit of open files of the test, if necessary.
    #[track_caller]
    pub fn open(hub: &Hub<'_>, count: usize) -> Self {
        let _ = rlimit::increase_nofile_limit(count as u64 + 1_000);
        let authority = Url::parse(&hub.url).authority;
        let connections = (0..count)
            .map(|_| begin_sign_in(&authority).expect("a connection"))
            .collect();
        Self {
            authority,
            connections,
        }
    }

    /// Sends another byte on each connection, and replaces the connections that the hub has closed.
    pub fn send_another_byte(&mut self) {
        for connection in &mut self.connections {
            let is_closed = has_ended(connection) || connection.write_all(b" ").is_err();
            if is_closed && let Ok(replacement) = begin_sign_in(&self.authority) {
                *connection = replacement;
            }
        }
    }

    /// Returns the number of connections that the hub has not closed.
    pub fn count_open(&mut self) -> usize {
        let ended = self.connections.iter_mut().map(has_ended);
        ended.filter(|has_ended| !has_ended).count()
    }
}

fn begin_sign_in(authority: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(authority)?;
    let head = format!(
        "POST /api/login HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n "
    );
    // The hub may have closed the connection already.
    let _ = stream.write_all(head.as_bytes());
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn has_ended(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 256]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}
