//! An MCP server that uses little processor time: it finds the id and the arguments of a request,
//! and copies them into prepared bytes. Its tools are `echo`, `blob` (1 MiB of text), `notify`
//! (progress notifications), and fillers up to the given number of tools.

use std::{borrow::Cow, io, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::wire::{HttpMessage, read_message};

const MIB: usize = 1 << 20;
/// The revision of the modern era, in which each request names its revision.
pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Arguments<'a>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Deserialize, Default)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    count: u64,
}

#[derive(Deserialize, Default)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<&'a RawValue>,
}

struct Server {
    /// The definitions of the tools, as the content of a JSON array.
    tools: String,
    /// The text with which `blob` answers.
    blob: String,
}

impl Server {
    fn new(tools: usize) -> Self {
        let fillers = (3..tools).map(|number| format!("filler_{number}"));
        let names = ["echo", "blob", "notify"].map(str::to_owned);
        let tools: Vec<_> = names
            .into_iter()
            .chain(fillers)
            .map(|name| format!(r#"{{"name":"{name}","description":"Returns the rows of a collection that contain the given words, newest first.","inputSchema":{{"type":"object","properties":{{"message":{{"type":"string","description":"The words"}},"count":{{"type":"integer","minimum":0}}}}}}}}"#))
            .collect();
        Self {
            tools: tools.join(","),
            blob: "The quick brown fox. ".repeat(MIB / 21),
        }
    }

    /// Returns the messages with which the server answers a request: the notifications, if the
    /// request calls `notify`, and the response. Returns none for any other message.
    fn answer(&self, body: &[u8]) -> Vec<String> {
        let Ok(request) = serde_json::from_slice::<Request<'_>>(body) else {
            return Vec::new();
        };
        let Some(id) = request.id else {
            return Vec::new();
        };
        let mut messages = Vec::new();
        let params = &request.params;
        let is_modern = params.meta.revision.is_some();
        let result_type = if is_modern {
            r#""resultType":"complete","#
        } else {
            ""
        };
        let text =
            |text: &str| format!(r#"{{{result_type}"content":[{{"type":"text","text":{text}}}]}}"#);
        let tools = &self.tools;
        let result = match (&*request.method, &*params.name) {
            ("initialize", _) => format!(
                r#"{{"protocolVersion":"{LEGACY}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"bench","version":"1"}}}}"#
            ),
            ("server/discover", _) => format!(
                r#"{{"resultType":"complete","supportedVersions":["{MODERN}","{LEGACY}"],"capabilities":{{"tools":{{}}}},"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"bench","version":"1"}}}},"ttlMs":60000,"cacheScope":"public"}}"#
            ),
            ("tools/list", _) if is_modern => {
                format!(r#"{{{result_type}"tools":[{tools}],"ttlMs":60000,"cacheScope":"public"}}"#)
            }
            ("tools/list", _) => format!(r#"{{"tools":[{tools}]}}"#),
            ("tools/call", "blob") => text(&format!("\"{}\"", self.blob)),
            ("tools/call", "notify") => {
                let token = params.meta.progress_token.map_or("null", RawValue::get);
                messages.extend((1..=params.arguments.count).map(|at| format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{at}}}}}"#)));
                text(r#""done""#)
            }
            ("tools/call", _) => text(params.arguments.message.map_or("\"\"", RawValue::get)),
            _ => "{}".to_owned(),
        };
        messages.push(format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
            id.get()
        ));
        messages
    }
}

/// Serves on stdin and stdout.
///
/// # Errors
/// Returns an error if a pipe breaks.
pub(crate) async fn serve_stdio(tools: usize) -> io::Result<()> {
    let server = Server::new(tools);
    let mut input = BufReader::with_capacity(1 << 16, tokio::io::stdin());
    let mut output = tokio::io::stdout();
    let (mut line, mut answers) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line).await? > 0 {
        for message in server.answer(&line) {
            answers.extend_from_slice(message.as_bytes());
            answers.push(b'\n');
        }
        line.clear();
        // The answers to all requests that have arrived are written at once.
        if !input.buffer().contains(&b'\n') {
            output.write_all(&answers).await?;
            output.flush().await?;
            answers.clear();
        }
    }
    Ok(())
}

/// Serves over Streamable HTTP, and prints the address.
///
/// # Errors
/// Returns an error if no address can be bound, or if a connection cannot be accepted.
#[expect(clippy::print_stdout, reason = "the benchmark reads the address")]
pub(crate) async fn serve_http(tools: usize) -> io::Result<()> {
    let server = Arc::new(Server::new(tools));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let server = Arc::clone(&server);
        tokio::spawn(async move { serve_connection(&server, stream).await });
    }
}

async fn serve_connection(server: &Server, stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    while let Some(request) = read_message(&mut stream).await? {
        let response = respond(server, &request);
        stream.get_mut().write_all(response.as_bytes()).await?;
    }
    Ok(())
}

fn respond(server: &Server, request: &HttpMessage) -> String {
    if !request.head.starts_with("POST") {
        return "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n".to_owned();
    }
    let messages = server.answer(&request.body);
    let is_initialize = request
        .body
        .windows(12)
        .any(|part| part == b"\"initialize\"");
    let session = if is_initialize {
        "Mcp-Session-Id: bench\r\n"
    } else {
        ""
    };
    let (content_type, body) = match messages.as_slice() {
        [] => return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
        [response] => ("application/json", response.clone()),
        messages => {
            let events = messages
                .iter()
                .map(|message| format!("event: message\ndata: {message}\n\n"));
            ("text/event-stream", events.collect())
        }
    };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
