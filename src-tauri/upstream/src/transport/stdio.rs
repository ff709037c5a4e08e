//! A server as a subprocess: one JSON-RPC message on each line of its stdin and stdout.

use std::{
    string::FromUtf8Error,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use drawbridge_jsonrpc::{
    encode,
    json::Json,
    server_message::{self, MalformedAnswer, ServerMessage},
};
use drawbridge_model::{ids::ServerId, log::Level};
use drawbridge_store::logs::Logs;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncRead, AsyncWriteExt, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout, timeout_at},
};

use super::{
    EndReason, EventSender, LostReason, MAX_MESSAGE, NotSentReason, Reply, TransportError,
    TransportEvent, TransportRequest,
    pending::Pending,
    process::{self, Launch, Pipes, Process, ProcessExit, SpawnError, guard::Guard},
    rate_limit::RateLimit,
};
use crate::lines::{Line, next_line};

/// The most messages that may wait for a server that does not read, and their total length in KiB
/// (`OUTBOX_KIB`): one message of the largest size, and some more.
const OUTBOX_CAPACITY: usize = 256;
const OUTBOX_KIB: usize = MAX_MESSAGE_KIB + 4 * 1024;
const MAX_MESSAGE_KIB: usize = MAX_MESSAGE / 1024 + 1;
/// How long a message may wait for a server that does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_STDERR_LINE: usize = 64 * 1024;
/// How long the output of an ended server is still read.
const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);
/// If a server writes more lines in a row than this that are not JSON-RPC, it is stopped.
const MAX_NON_JSONRPC_LINES: u32 = 100;
/// How many opening braces are examined on a line that is not JSON as a whole.
const MAX_BRACES: usize = 32;

/// A running server process and the requests in flight to it.
pub struct StdioTransport {
    shared: Arc<Shared>,
    outbox: Mutex<Option<mpsc::Sender<QueuedMessage>>>,
    outbox_budget: Arc<Semaphore>,
    process: Arc<Process>,
}

/// A message that waits for the server, and its share of the outbox.
struct QueuedMessage {
    message: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

struct Shared {
    server: ServerId,
    logs: Logs,
    pending: Pending,
    non_jsonrpc_lines: Arc<AtomicU32>,
    last_stderr_line: Mutex<String>,
}

impl StdioTransport {
    /// Starts the server's process. `non_jsonrpc_lines` counts the lines on its stdout that are not
    /// JSON-RPC.
    ///
    /// # Errors
    /// Returns an error if the process cannot be started.
    pub async fn start(
        server: ServerId,
        launch: &Launch,
        guard: &Guard,
        logs: Logs,
        non_jsonrpc_lines: Arc<AtomicU32>,
        events: EventSender,
    ) -> Result<Self, SpawnError> {
        let (
            process,
            Pipes {
                stdin,
                stdout,
                stderr,
            },
        ) = Process::spawn(launch, guard).await?;
        let process = Arc::new(process);
        let shared = Arc::new(Shared {
            server,
            logs,
            pending: Pending::default(),
            non_jsonrpc_lines,
            last_stderr_line: Mutex::default(),
        });
        let (outbox, outgoing) = mpsc::channel(OUTBOX_CAPACITY);
        tokio::spawn(write_messages(stdin, outgoing, process.clone()));
        let drained = process::spawn_on_log_thread(drain_stderr(stderr, shared.clone()));
        tokio::spawn(read_until_end(
            stdout,
            shared.clone(),
            process.clone(),
            events,
            drained,
        ));
        let room = Arc::new(Semaphore::new(OUTBOX_KIB));
        Ok(Self {
            shared,
            outbox: Mutex::new(Some(outbox)),
            outbox_budget: room,
            process,
        })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn end_reason(&self) -> Option<EndReason> {
        self.shared.pending.end_reason()
    }

    /// See [`super::Transport::request`].
    pub async fn request(&self, request: TransportRequest<'_>) -> Result<Reply, TransportError> {
        let TransportRequest {
            id,
            method,
            params,
            headers: _,
        } = request;
        let receiver = self.shared.pending.register(id)?;
        let mut in_flight = CancelOnDrop {
            transport: self,
            id,
            sent: false,
        };
        self.send(encode::encode_request(id, method, params))
            .await?;
        in_flight.sent = true;
        let answer = receiver.await;
        in_flight.sent = false;
        answer.unwrap_or_else(|_| Err(TransportError::Lost(LostReason::Ended(EndReason::Stopped))))
    }

    /// See [`super::Transport::close`].
    pub async fn close(&self) {
        // Without its sender, the writer ends and closes the server's stdin.
        self.outbox().take();
        self.process.stop().await;
    }

    async fn send(&self, message: Vec<u8>) -> Result<(), TransportError> {
        let ended = || {
            TransportError::NotSent(NotSentReason::Ended(
                self.end_reason().unwrap_or(EndReason::Stopped),
            ))
        };
        let outbox = self.outbox().clone().ok_or_else(ended)?;
        let size = size_in_kib(&message);
        if let (Ok(permit), Ok(slot)) = (
            self.outbox_budget.clone().try_acquire_many_owned(size),
            outbox.try_reserve(),
        ) {
            slot.send(QueuedMessage {
                message,
                _permit: permit,
            });
            return Ok(());
        }
        let waiting = async {
            let room = self
                .outbox_budget
                .clone()
                .acquire_many_owned(size)
                .await
                .map_err(|_| ended())?;
            outbox
                .send(QueuedMessage {
                    message,
                    _permit: room,
                })
                .await
                .map_err(|_| ended())
        };
        timeout(SEND_TIMEOUT, waiting)
            .await
            .unwrap_or_else(|_| Err(not_reading_error()))
    }

    /// Sends a message that has no answer, without waiting. A server that does not read its stdin
    /// must not block the reading of its stdout.
    pub fn try_send(&self, message: Vec<u8>) -> Result<(), TransportError> {
        let room = self
            .outbox_budget
            .clone()
            .try_acquire_many_owned(size_in_kib(&message))
            .map_err(|_| not_reading_error())?;
        self.outbox()
            .as_ref()
            .ok_or_else(not_reading_error)?
            .try_send(QueuedMessage {
                message,
                _permit: room,
            })
            .map_err(|_| not_reading_error())
    }

    fn outbox(&self) -> MutexGuard<'_, Option<mpsc::Sender<QueuedMessage>>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the share of the outbox that a message takes, in KiB.
fn size_in_kib(message: &[u8]) -> u32 {
    u32::try_from(message.len() / 1024 + 1).unwrap_or(u32::MAX)
}

fn not_reading_error() -> TransportError {
    TransportError::NotSent(NotSentReason::NotReading)
}

impl Shared {
    fn last_stderr_line(&self) -> MutexGuard<'_, String> {
        self.last_stderr_line
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver_answer(&self, id: Option<u64>, reply: Reply) {
        if !self.pending.complete(id, reply) {
            self.logs.add_server_line(
                &self.server,
                Level::Debug,
                "stdout",
                "Dropped an answer to a request that is unknown or was cancelled",
            );
        }
    }

    async fn handle_message(&self, message: ServerMessage, events: &EventSender) {
        match message {
            ServerMessage::Answer { id, reply } => self.deliver_answer(id, reply),
            ServerMessage::Malformed { ids, rule } => {
                if !self.pending.fail(&ids, &rule) {
                    self.logs.add_server_line(
                        &self.server,
                        Level::Info,
                        "stdout",
                        &format!("Dropped an answer: {rule}"),
                    );
                }
            }
            ServerMessage::Incoming(message) => {
                events
                    .send(TransportEvent::Message {
                        message,
                        during: None,
                    })
                    .await
            }
        }
    }

    fn log_non_jsonrpc_line(&self, line: &[u8]) {
        self.non_jsonrpc_lines.fetch_add(1, Ordering::Relaxed);
        self.logs.add_server_line(
            &self.server,
            Level::Info,
            "stdout",
            &String::from_utf8_lossy(line),
        );
    }
}

/// A request that waits for its answer. If the value is dropped before the answer arrives, the
/// server is notified that the request is cancelled.
struct CancelOnDrop<'a> {
    transport: &'a StdioTransport,
    id: u64,
    sent: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.transport.shared.pending.remove(self.id);
        if self.sent {
            let _ = self.transport.try_send(encode::encode_cancelled(
                self.id,
                "The client cancelled the request, or the request timed out",
            ));
        }
    }
}

async fn write_messages(
    mut stdin: ChildStdin,
    mut outgoing: mpsc::Receiver<QueuedMessage>,
    process: Arc<Process>,
) {
    let mut batch = Vec::new();
    // All waiting messages are written at once: one system call for many calls.
    while outgoing.recv_many(&mut batch, OUTBOX_CAPACITY).await > 0 {
        let mut bytes = Vec::new();
        let room: Vec<_> = batch
            .drain(..)
            .map(
                |QueuedMessage {
                     message,
                     _permit: room,
                 }| {
                    append_line(&mut bytes, &message);
                    room
                },
            )
            .collect();
        let written = stdin.write_all(&bytes).await.and(stdin.flush().await);
        drop(room);
        if written.is_err() {
            // Without its stdin the server is of no use, even if its processes live on.
            return process.stop().await;
        }
    }
}

/// Appends a message as one line. JSON has line breaks only between its tokens, and a space is
/// equivalent there. If a line break remained, a client could send lines of its own to the server,
/// past every check.
fn append_line(bytes: &mut Vec<u8>, message: &[u8]) {
    let begin = bytes.len();
    bytes.extend_from_slice(message);
    if memchr::memchr2(b'\n', b'\r', message).is_some() {
        bytes[begin..]
            .iter_mut()
            .filter(|byte| matches!(byte, b'\n' | b'\r'))
            .for_each(|byte| *byte = b' ');
    }
    bytes.push(b'\n');
}

async fn read_until_end(
    stdout: ChildStdout,
    shared: Arc<Shared>,
    process: Arc<Process>,
    events: EventSender,
    drained: tokio::task::JoinHandle<()>,
) {
    let mut messages = std::pin::pin!(read_messages(stdout, &shared, &events));
    let mut output_deadline = None;
    let is_flooded = tokio::select! {
        is_flooded = &mut messages => is_flooded,
        // A process that the server started may keep the stdout open for long. Only output that is
        // already there is read.
        _ = process.wait_for_exit() => {
            let end = *output_deadline.insert(Instant::now() + FINAL_OUTPUT_TIMEOUT);
            timeout_at(end, &mut messages).await.unwrap_or(false)
        }
    };
    if is_flooded {
        tokio::spawn(async move { process.stop().await });
        return report_end(
            &shared,
            EndReason::NotJsonRpc {
                max: MAX_NON_JSONRPC_LINES,
            },
            &events,
        )
        .await;
    }
    let exit = timeout(Duration::from_secs(2), process.wait_for_exit()).await;
    if exit.is_err() {
        let process = process.clone();
        tokio::spawn(async move { process.stop().await });
    }
    let _ = timeout_at(
        output_deadline.unwrap_or_else(|| Instant::now() + FINAL_OUTPUT_TIMEOUT),
        drained,
    )
    .await;
    let last_output = shared.logs.mask_text(&shared.last_stderr_line());
    let reason = match exit {
        Ok(ProcessExit::Stopped) => EndReason::Stopped,
        Ok(exit) => EndReason::Exited { exit, last_output },
        Err(_) => EndReason::StdoutClosed { last_output },
    };
    report_end(&shared, reason, &events).await;
}

async fn report_end(shared: &Shared, reason: EndReason, events: &EventSender) {
    shared.pending.end(&reason);
    events.send(TransportEvent::Ended(reason)).await;
}

/// Reads messages until the end of stdout. Returns `true` if it stopped earlier, because of too
/// many lines that are not JSON-RPC.
async fn read_messages(
    stdout: impl AsyncRead + Unpin,
    shared: &Shared,
    events: &EventSender,
) -> bool {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut non_jsonrpc_in_a_row = 0;
    while let Ok(Some(line)) = next_line(&mut reader, MAX_MESSAGE).await {
        let read = match line {
            Line::Whole(line) if line.is_empty() => continue,
            Line::Whole(line) => parse_line(line),
            Line::TooLong(line) => {
                if let Some(id) = server_message::answered_id(&line) {
                    let max_bytes = MAX_MESSAGE;
                    shared
                        .pending
                        .fail(&[id], &MalformedAnswer::TooLong { max_bytes });
                    continue;
                }
                Err(line)
            }
        };
        match read {
            Ok(message) => shared.handle_message(message, events).await,
            Err(line) => {
                let (messages, other_text) = split_messages(&line);
                shared.log_non_jsonrpc_line(&other_text);
                if messages.is_empty() {
                    non_jsonrpc_in_a_row += 1;
                    if non_jsonrpc_in_a_row > MAX_NON_JSONRPC_LINES {
                        return true;
                    }
                    continue;
                }
                for message in messages {
                    shared.handle_message(message, events).await;
                }
            }
        }
        non_jsonrpc_in_a_row = 0;
    }
    false
}

/// # Errors
/// Returns the line if it is not a message.
fn parse_line(line: Vec<u8>) -> Result<ServerMessage, Vec<u8>> {
    let line = Json::from_utf8(line).map_err(FromUtf8Error::into_bytes)?;
    server_message::parse(&line).ok_or_else(|| line.get().as_bytes().to_vec())
}

/// Separates messages from text that a server wrote on the same line, as with a `print` without a
/// line break. Returns the messages, and the rest of the line.
fn split_messages(line: &[u8]) -> (Vec<ServerMessage>, Vec<u8>) {
    let (mut messages, mut other_text, mut rest) = (Vec::new(), Vec::new(), line);
    if memchr::memmem::find(line, br#""jsonrpc""#).is_none() {
        return (messages, line.to_vec());
    }
    for _ in 0..MAX_BRACES {
        let Some(begin) = memchr::memchr(b'{', rest) else {
            break;
        };
        let object = first_object(&rest[begin..]);
        let message = object.and_then(|object| server_message::parse(&Json::new(object)));
        // If no message begins at this brace, it belongs to the text, and the next brace is
        // examined.
        let end = object
            .filter(|_| message.is_some())
            .map_or(begin + 1, |object| begin + object.len());
        other_text.extend_from_slice(&rest[..if message.is_some() { begin } else { end }]);
        messages.extend(message);
        rest = &rest[end..];
    }
    other_text.extend_from_slice(rest);
    (messages, other_text)
}

/// Returns the JSON value at the beginning of the text.
fn first_object(text: &[u8]) -> Option<&str> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    values.next()?.ok().map(RawValue::get)
}

async fn drain_stderr(stderr: ChildStderr, shared: Arc<Shared>) {
    let mut reader = BufReader::new(stderr);
    let mut rate_limit = RateLimit::for_log_lines();
    while let Ok(Some(Line::Whole(line) | Line::TooLong(line))) =
        next_line(&mut reader, MAX_STDERR_LINE).await
    {
        rate_limit.spend(line.len()).await;
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            shared
                .logs
                .add_server_line(&shared.server, Level::Info, "stderr", &text);
            text.trim().clone_into(&mut shared.last_stderr_line());
        }
    }
}

#[cfg(test)]
mod tests;
