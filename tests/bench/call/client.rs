//! The load generator: sessions on connections of their own, which call without pause.

use std::{
    io,
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinSet,
};

use crate::{
    upstream::{LEGACY, MODERN},
    wire::read_message,
};

/// The longest time that a [`Session`] waits for a response.
const TIMEOUT: Duration = Duration::from_secs(60);

const ECHO_ARGUMENTS: &str = r#"{"message":"hello"}"#;

/// A server or a proxy under load.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) authority: String,
    pub(crate) token: String,
    /// The prefix of the names of its tools.
    pub(crate) prefix: String,
    /// The process whose processor time is measured.
    pub(crate) pid: u32,
}

/// The results of a slice: a period in which all sessions call again and again.
#[derive(Default)]
pub(crate) struct Slice {
    pub(crate) durations: Vec<Duration>,
    pub(crate) errors: usize,
}

pub(crate) struct Session {
    stream: BufReader<TcpStream>,
    head: String,
    prefix: String,
    is_modern: bool,
    next_id: u64,
}

impl Session {
    /// Connects and, in the legacy era, performs the handshake.
    ///
    /// # Errors
    /// Returns an error if the connection breaks, or if the handshake fails.
    pub(crate) async fn open(target: &Target, is_modern: bool) -> io::Result<Self> {
        let stream = TcpStream::connect(&target.authority).await?;
        stream.set_nodelay(true)?;
        let Target {
            authority, token, ..
        } = target;
        let revision = if is_modern { MODERN } else { LEGACY };
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
             MCP-Protocol-Version: {revision}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        let mut session = Self {
            stream: BufReader::with_capacity(1 << 16, stream),
            head,
            prefix: target.prefix.clone(),
            is_modern,
            next_id: 1,
        };
        if !is_modern {
            session.initialize().await?;
        }
        Ok(session)
    }

    async fn initialize(&mut self) -> io::Result<()> {
        let params = format!(
            r#"{{"protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}"#
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#);
        let (session, _) = self.post("", &body).await?;
        if let Some(session) = session {
            self.head += &format!("Mcp-Session-Id: {session}\r\n");
        }
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.post("", body).await.map(drop)
    }

    /// Calls a tool and checks that the call succeeded. Returns the length of the response.
    ///
    /// # Errors
    /// Returns an error if the connection breaks, if no response comes in time, or if the call
    /// fails.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &str) -> io::Result<usize> {
        let id = self.next_id;
        self.next_id += 1;
        let name = format!("{}{tool}", self.prefix);
        let body = render_call(id, &name, arguments, self.is_modern);
        let headers = if self.is_modern {
            format!("Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n")
        } else {
            String::new()
        };
        let (_, body) = self.post(&headers, &body).await?;
        check_answer(&body)
    }

    /// Returns the session id, if the response names one, and the body.
    async fn post(&mut self, headers: &str, body: &str) -> io::Result<(Option<String>, Vec<u8>)> {
        let request = format!(
            "{}{headers}Content-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let response = tokio::time::timeout(TIMEOUT, read_message(&mut self.stream)).await??;
        let response = response.ok_or(io::ErrorKind::UnexpectedEof)?;
        if !response.head.starts_with("HTTP/1.1 20") {
            return Err(io::Error::other(response.head));
        }
        let session = response.header("mcp-session-id").map(str::to_owned);
        Ok((session, response.body))
    }
}

/// Renders a call. Its progress token is its id.
fn render_call(id: u64, name: &str, arguments: &str, is_modern: bool) -> String {
    let era = if is_modern {
        format!(
            r#","io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}"#
        )
    } else {
        String::new()
    };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments},"_meta":{{"progressToken":{id}{era}}}}}}}"#
    )
}

fn check_answer(answer: &[u8]) -> io::Result<usize> {
    let contains = |text: &[u8]| answer.windows(text.len()).any(|part| part == text);
    // A long answer is checked by its length alone, so that the check does not cost more than the
    // call.
    let is_result =
        answer.len() > 1 << 18 || (contains(br#""content""#) && !contains(br#""isError":true"#));
    if is_result {
        Ok(answer.len())
    } else {
        Err(io::Error::other(
            String::from_utf8_lossy(answer).into_owned(),
        ))
    }
}

/// A client of a program that communicates over its stdin and stdout.
pub(crate) struct PipeSession {
    _child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl PipeSession {
    /// Starts the program.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub(crate) fn open(command: &[String]) -> io::Result<Self> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self {
            stdin: child.stdin.take().expect("stdin is piped"),
            stdout: BufReader::new(child.stdout.take().expect("stdout is piped")),
            _child: child,
        })
    }

    /// Calls a tool and reads until its response.
    ///
    /// # Errors
    /// Returns an error if a pipe breaks.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &str) -> io::Result<()> {
        let line = render_call(1, tool, arguments, false) + "\n";
        self.stdin.write_all(line.as_bytes()).await?;
        let mut answer = String::new();
        while !answer.contains(r#""result""#) {
            answer.clear();
            if self.stdout.read_line(&mut answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

/// Opens sessions. A modern session has no handshake, so it makes a call: the hub closes the oldest
/// connections on which no token was sent.
///
/// # Errors
/// Returns an error if a session cannot be opened, or if its call fails.
pub(crate) async fn open_sessions(
    target: &Target,
    is_modern: bool,
    count: usize,
) -> io::Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for _ in 0..count {
        let mut session = Session::open(target, is_modern).await?;
        if is_modern {
            session.call("echo", ECHO_ARGUMENTS).await?;
        }
        sessions.push(session);
    }
    Ok(sessions)
}

/// Calls `echo` in all sessions until `length` has passed, and at least once in each. Each session
/// calls again as soon as it has its answer.
pub(crate) async fn load(sessions: Vec<Session>, length: Duration) -> (Vec<Session>, Slice) {
    let end = Instant::now() + length;
    let mut tasks = JoinSet::new();
    for mut session in sessions {
        tasks.spawn(async move {
            let mut slice = Slice::default();
            while slice.durations.is_empty() || Instant::now() < end {
                let begin = Instant::now();
                let result = session.call("echo", ECHO_ARGUMENTS).await;
                slice.durations.push(begin.elapsed());
                if let Err(error) = result {
                    if slice.errors == 0 {
                        eprintln!("a call failed: {error}");
                    }
                    slice.errors += 1;
                }
            }
            (session, slice)
        });
    }
    let (mut sessions, mut sum) = (Vec::new(), Slice::default());
    while let Some(done) = tasks.join_next().await {
        let (session, slice) = done.expect("a session does not panic");
        sessions.push(session);
        sum.durations.extend(slice.durations);
        sum.errors += slice.errors;
    }
    (sessions, sum)
}
