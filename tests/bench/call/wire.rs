//! The part of HTTP/1.1 that the benchmark needs.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// A request or a response.
pub(crate) struct HttpMessage {
    /// The first line and the header fields.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl HttpMessage {
    /// Returns the value of a header field.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Reads a message to its end. Returns `None` if the peer has closed the connection.
///
/// # Errors
/// Returns an error if the connection breaks, or if the message is not HTTP.
pub(crate) async fn read_message(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<HttpMessage>> {
    let mut head = String::new();
    loop {
        let length = reader.read_line(&mut head).await?;
        if length == 0 {
            return Ok(None);
        }
        if length == 2 {
            break;
        }
    }
    let mut message = HttpMessage {
        head,
        body: Vec::new(),
    };
    if message.header("transfer-encoding").is_some() {
        read_chunks(reader, &mut message.body).await?;
    } else if let Some(length) = message.header("content-length") {
        let length = length.parse().map_err(io::Error::other)?;
        message.body.resize(length, 0);
        reader.read_exact(&mut message.body).await?;
    }
    Ok(Some(message))
}

async fn read_chunks(
    reader: &mut (impl AsyncBufRead + Unpin),
    body: &mut Vec<u8>,
) -> io::Result<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let start = body.len();
        // Each chunk ends with a line break, which is not part of the body.
        body.resize(start + length + 2, 0);
        reader.read_exact(&mut body[start..]).await?;
        body.truncate(start + length);
        if length == 0 {
            return Ok(());
        }
    }
}
