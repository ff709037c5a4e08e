//! The floors: the simplest possible proxies. They read at most the id of a message.

use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::SocketAddr,
    ops::Range,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, StatusCode, Uri,
    body::Incoming,
    header::{CONTENT_TYPE, HOST, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::{mpsc, oneshot},
};

#[expect(clippy::print_stdout, reason = "the benchmark reads the address")]
async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

async fn accept(listener: &TcpListener) -> io::Result<TokioIo<TcpStream>> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok(TokioIo::new(stream))
}

/// Serves as a bare reverse proxy in front of an HTTP server.
///
/// # Errors
/// Returns an error if no address can be bound, or if a connection cannot be accepted.
pub(crate) async fn serve_proxy(upstream: SocketAddr) -> io::Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let listener = listen().await?;
    loop {
        let stream = accept(&listener).await?;
        let client = client.clone();
        tokio::spawn(async move {
            let service = service_fn(|mut request: Request<Incoming>| {
                let uri = Uri::builder()
                    .scheme("http")
                    .authority(upstream.to_string())
                    .path_and_query(request.uri().path())
                    .build();
                *request.uri_mut() = uri.expect("an address and a path make a URI");
                request.headers_mut().remove(HOST);
                client.request(request)
            });
            http1::Builder::new()
                .serve_connection(stream, service)
                .await
        });
    }
}

/// The requests that the child has not answered. A key is the id in the request to the child. A
/// value has the id in the client's request, and the channel for the answer.
type InFlight = Mutex<HashMap<u64, (Bytes, oneshot::Sender<Bytes>)>>;

struct Multiplexer {
    /// The lines for the child's stdin.
    lines: mpsc::UnboundedSender<Bytes>,
    in_flight: InFlight,
    next_id: std::sync::atomic::AtomicU64,
}

/// Serves HTTP in front of one stdio child. Replaces only the ids of requests and responses, and
/// drops the notifications of the child.
///
/// # Errors
/// Returns an error if the child cannot be started, no address can be bound, or a connection cannot
/// be accepted.
pub(crate) async fn serve_stdio(command: &[String]) -> io::Result<()> {
    let mut child = spawn(command)?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let stdout = child.stdout.take().expect("stdout is piped");
    let (lines, mut queue) = mpsc::unbounded_channel::<Bytes>();
    let multiplexer = Arc::new(Multiplexer {
        lines,
        in_flight: Mutex::default(),
        next_id: 1.into(),
    });
    tokio::spawn(async move {
        let mut buffer = Vec::new();
        while let Some(line) = queue.recv().await {
            buffer.extend_from_slice(&line);
            // All lines that are ready are written at once.
            while let Ok(line) = queue.try_recv() {
                buffer.extend_from_slice(&line);
            }
            stdin.write_all(&buffer).await?;
            buffer.clear();
        }
        io::Result::Ok(())
    });
    tokio::spawn({
        let multiplexer = Arc::clone(&multiplexer);
        async move {
            let mut stdout = BufReader::with_capacity(1 << 16, stdout);
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).await? > 0 {
                multiplexer.pass_on(&line);
                line.clear();
            }
            io::Result::Ok(())
        }
    });
    let listener = listen().await?;
    loop {
        let stream = accept(&listener).await?;
        let multiplexer = Arc::clone(&multiplexer);
        tokio::spawn(async move {
            let service = service_fn(|request| multiplexer.forward(request));
            http1::Builder::new()
                .serve_connection(stream, service)
                .await
        });
    }
}

impl Multiplexer {
    async fn forward(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let respond = |status, body| {
            let mut response = Response::new(Full::new(body));
            *response.status_mut() = status;
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            Ok(response)
        };
        let Ok(body) = request.into_body().collect().await else {
            return respond(StatusCode::BAD_REQUEST, Bytes::new());
        };
        let body = body.to_bytes();
        let Some(range) = find_id(&body) else {
            let _ = self.lines.send([&body, b"\n".as_slice()].concat().into());
            return respond(StatusCode::ACCEPTED, Bytes::new());
        };
        let id = self
            .next_id
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        let client_id = body.slice(range.clone());
        self.lock().insert(id, (client_id, sender));
        let line = splice(&body, range, id.to_string().as_bytes(), b"\n");
        let _ = self.lines.send(line);
        match receiver.await {
            Ok(answer) => respond(StatusCode::OK, answer),
            Err(_) => respond(StatusCode::BAD_GATEWAY, Bytes::new()),
        }
    }

    /// Passes a line of the child to the client whose request the line answers.
    fn pass_on(&self, line: &[u8]) {
        let Some(range) = find_id(line) else { return };
        let id = std::str::from_utf8(&line[range.clone()])
            .ok()
            .and_then(|id| id.parse().ok());
        if let Some((client_id, sender)) = id.and_then(|id: u64| self.lock().remove(&id)) {
            let _ = sender.send(splice(line.trim_ascii_end(), range, &client_id, b""));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, (Bytes, oneshot::Sender<Bytes>)>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the position of the id of a message.
fn find_id(message: &[u8]) -> Option<Range<usize>> {
    #[derive(Deserialize)]
    struct Identified<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
    }
    let id = serde_json::from_slice::<Identified<'_>>(message)
        .ok()?
        .id?
        .get();
    let start = id.as_ptr() as usize - message.as_ptr() as usize;
    Some(start..start + id.len())
}

/// Replaces the id at `range` of a message, and appends `end`.
fn splice(message: &[u8], range: Range<usize>, id: &[u8], end: &[u8]) -> Bytes {
    [&message[..range.start], id, &message[range.end..], end]
        .concat()
        .into()
}

/// Copies bytes between the pipes of this process and the pipes of a child.
///
/// # Errors
/// Returns an error if the child cannot be started, or if its output cannot be copied.
pub(crate) async fn copy_bytes(command: &[String]) -> io::Result<()> {
    let mut child = spawn(command)?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let to_child =
        tokio::spawn(async move { tokio::io::copy(&mut tokio::io::stdin(), &mut stdin).await });
    tokio::io::copy(&mut stdout, &mut tokio::io::stdout()).await?;
    to_child.abort();
    Ok(())
}

fn spawn(command: &[String]) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}
