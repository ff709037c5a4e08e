//! A server as a subprocess: one JSON-RPC message on each line of its stdin and stdout.

use std::{
    string::FromUtf8Error,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::{
    io::{AsyncRead, AsyncWriteExt, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::{Instant, timeout, timeout_at},
};

use super::{
    FromServer, LinkError, MAX_MESSAGE, Reply, Request, ToUpstream,
    message::{self, Message},
    pace::Pace,
    pending::Pending,
    process::{self, Launch, Pipes, Process, SpawnError, guard::Guard},
};
use crate::{
    lines::{Line, next_line},
    logs::Logs,
    model::{ids::ServerId, json::Json, log::Level},
};

/// The most messages that may wait for a server that does not read, and their total length in KiB
/// (`OUTBOX_KIB`): one message of the largest size, and some more.
const OUTBOX: usize = 256;
const OUTBOX_KIB: usize = LARGEST_KIB + 4 * 1024;
const LARGEST_KIB: usize = MAX_MESSAGE / 1024 + 1;
/// How long a message may wait for a server that does not read.
const SEND: Duration = Duration::from_secs(30);
const MAX_STDERR_LINE: usize = 64 * 1024;
/// How long the output of an ended server is still read.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// If a server writes more lines in a row than this that are not JSON-RPC, it is stopped.
const MAX_NOISE: u32 = 100;
/// How many opening braces are examined on a line that is not JSON as a whole.
const MAX_GLUED: usize = 32;

/// A running server process and the requests in flight to it.
pub struct StdioLink {
    shared: Arc<Shared>,
    outbox: Mutex<Option<mpsc::Sender<Waiting>>>,
    room: Arc<Semaphore>,
    process: Arc<Process>,
}

/// A message that waits for the server, and its share of the outbox.
struct Waiting {
    message: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

struct Shared {
    server: ServerId,
    logs: Logs,
    pending: Pending,
    noise: Arc<AtomicU32>,
    last_words: Mutex<String>,
}

impl StdioLink {
    /// Starts the server's process. `noise` counts the lines on its stdout that are not JSON-RPC.
    ///
    /// # Errors
    /// Returns an error if the process cannot be started.
    pub async fn start(
        server: ServerId,
        launch: &Launch,
        guard: &Guard,
        logs: Logs,
        noise: Arc<AtomicU32>,
        upstream: ToUpstream,
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
            noise,
            last_words: Mutex::default(),
        });
        let (outbox, outgoing) = mpsc::channel(OUTBOX);
        tokio::spawn(write(stdin, outgoing, process.clone()));
        let drained = process::beside(drain_stderr(stderr, shared.clone()));
        tokio::spawn(read(
            stdout,
            shared.clone(),
            process.clone(),
            upstream,
            drained,
        ));
        let room = Arc::new(Semaphore::new(OUTBOX_KIB));
        Ok(Self {
            shared,
            outbox: Mutex::new(Some(outbox)),
            room,
            process,
        })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn ended(&self) -> Option<String> {
        self.shared.pending.ended()
    }

    /// See [`super::Link::request`].
    pub async fn request(&self, request: Request<'_>) -> Result<Reply, LinkError> {
        let Request {
            id,
            method,
            params,
            headers: _,
        } = request;
        let answered = self.shared.pending.begin(id)?;
        let mut in_flight = InFlight {
            link: self,
            id,
            sent: false,
        };
        self.send(message::request(id, method, params)).await?;
        in_flight.sent = true;
        let answer = answered.await;
        in_flight.sent = false;
        answer.unwrap_or_else(|_| Err(LinkError::Lost("it ended".into())))
    }

    /// See [`super::Link::close`].
    pub async fn close(&self) {
        // Without its sender, the writer ends and closes the server's stdin.
        self.outbox().take();
        self.process.stop().await;
    }

    async fn send(&self, message: Vec<u8>) -> Result<(), LinkError> {
        let gone =
            || LinkError::NotSent(self.ended().unwrap_or_else(|| "it is being stopped".into()));
        let outbox = self.outbox().clone().ok_or_else(gone)?;
        let wanted = kib(&message);
        if let (Ok(room), Ok(place)) = (
            self.room.clone().try_acquire_many_owned(wanted),
            outbox.try_reserve(),
        ) {
            place.send(Waiting {
                message,
                _room: room,
            });
            return Ok(());
        }
        let waiting = async {
            let room = self
                .room
                .clone()
                .acquire_many_owned(wanted)
                .await
                .map_err(|_| gone())?;
            outbox
                .send(Waiting {
                    message,
                    _room: room,
                })
                .await
                .map_err(|_| gone())
        };
        timeout(SEND, waiting)
            .await
            .unwrap_or_else(|_| Err(unread()))
    }

    /// Sends a message that has no answer, without waiting. A server that does not read its stdin
    /// must not block the reading of its stdout.
    pub fn tell(&self, message: Vec<u8>) -> Result<(), LinkError> {
        let room = self
            .room
            .clone()
            .try_acquire_many_owned(kib(&message))
            .map_err(|_| unread())?;
        self.outbox()
            .as_ref()
            .ok_or_else(unread)?
            .try_send(Waiting {
                message,
                _room: room,
            })
            .map_err(|_| unread())
    }

    fn outbox(&self) -> MutexGuard<'_, Option<mpsc::Sender<Waiting>>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the share of the outbox that a message takes, in KiB.
fn kib(message: &[u8]) -> u32 {
    u32::try_from(message.len() / 1024 + 1).unwrap_or(u32::MAX)
}

fn unread() -> LinkError {
    LinkError::NotSent("it does not read what it is sent".into())
}

impl Shared {
    fn last_words(&self) -> MutexGuard<'_, String> {
        self.last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, id: Option<u64>, reply: Reply) {
        if !self.pending.answer(id, reply) {
            self.logs.add_server_line(
                &self.server,
                Level::Debug,
                "stdout",
                "an answer that nobody waits for was dropped",
            );
        }
    }

    async fn take(&self, message: Message, upstream: &ToUpstream) {
        match message {
            Message::Answer { id, reply } => self.answer(id, reply),
            Message::Unusable { ids, why } => {
                if !self.pending.fail(&ids, &why) {
                    self.logs.add_server_line(
                        &self.server,
                        Level::Info,
                        "stdout",
                        &format!("dropped an answer: {why}"),
                    );
                }
            }
            Message::Incoming(message) => {
                upstream
                    .tell(FromServer::Message {
                        message,
                        during: None,
                    })
                    .await
            }
        }
    }

    fn drop_noise(&self, line: &[u8]) {
        self.noise.fetch_add(1, Ordering::Relaxed);
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
struct InFlight<'a> {
    link: &'a StdioLink,
    id: u64,
    sent: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.link.shared.pending.forget(self.id);
        if self.sent {
            let _ = self.link.tell(message::cancelled(
                self.id,
                "the client cancelled it, or it took too long",
            ));
        }
    }
}

async fn write(
    mut stdin: ChildStdin,
    mut outgoing: mpsc::Receiver<Waiting>,
    process: Arc<Process>,
) {
    let mut batch = Vec::new();
    // All waiting messages are written at once: one system call for many calls.
    while outgoing.recv_many(&mut batch, OUTBOX).await > 0 {
        let mut bytes = Vec::new();
        let room: Vec<_> = batch
            .drain(..)
            .map(
                |Waiting {
                     message,
                     _room: room,
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

async fn read(
    stdout: ChildStdout,
    shared: Arc<Shared>,
    process: Arc<Process>,
    upstream: ToUpstream,
    drained: tokio::task::JoinHandle<()>,
) {
    let mut messages = std::pin::pin!(read_messages(stdout, &shared, &upstream));
    let mut last_words = None;
    let too_noisy = tokio::select! {
        too_noisy = &mut messages => too_noisy,
        // A process that the server started may keep the stdout open for long. Only output that is
        // already there is read.
        _ = process.exited() => {
            let end = *last_words.insert(Instant::now() + LAST_WORDS);
            timeout_at(end, &mut messages).await.unwrap_or(false)
        }
    };
    if too_noisy {
        tokio::spawn(async move { process.stop().await });
        return end(
            &shared,
            "it wrote over 100 lines in a row that are not JSON-RPC".into(),
            &upstream,
        )
        .await;
    }
    let how = match timeout(Duration::from_secs(2), process.exited()).await {
        Ok(how) => how,
        Err(_) => {
            let process = process.clone();
            tokio::spawn(async move { process.stop().await });
            "it closed its stdout".into()
        }
    };
    let _ = timeout_at(
        last_words.unwrap_or_else(|| Instant::now() + LAST_WORDS),
        drained,
    )
    .await;
    let last_words = shared.logs.mask_text(&shared.last_words());
    let how = if last_words.is_empty() {
        how
    } else {
        format!("{how}; its last words: {last_words}")
    };
    end(&shared, how, &upstream).await;
}

async fn end(shared: &Shared, how: String, upstream: &ToUpstream) {
    shared.pending.end(&how);
    upstream.tell(FromServer::Ended(how)).await;
}

/// Reads messages until the end of stdout. Returns `true` if it stopped earlier, because of too
/// many lines that are not JSON-RPC.
async fn read_messages(
    stdout: impl AsyncRead + Unpin,
    shared: &Shared,
    upstream: &ToUpstream,
) -> bool {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut noise_in_a_row = 0;
    while let Ok(Some(line)) = next_line(&mut reader, MAX_MESSAGE).await {
        let read = match line {
            Line::Whole(line) if line.is_empty() => continue,
            Line::Whole(line) => read_line(line),
            Line::TooLong(line) => {
                if let Some(id) = message::answers(&line) {
                    shared.pending.fail(
                        &[id],
                        &format!("its answer is longer than {} MiB", MAX_MESSAGE >> 20),
                    );
                    continue;
                }
                Err(line)
            }
        };
        match read {
            Ok(message) => shared.take(message, upstream).await,
            Err(line) => {
                let (messages, noise) = unglue(&line);
                shared.drop_noise(&noise);
                if messages.is_empty() {
                    noise_in_a_row += 1;
                    if noise_in_a_row > MAX_NOISE {
                        return true;
                    }
                    continue;
                }
                for message in messages {
                    shared.take(message, upstream).await;
                }
            }
        }
        noise_in_a_row = 0;
    }
    false
}

/// # Errors
/// Returns the line if it is not a message.
fn read_line(line: Vec<u8>) -> Result<Message, Vec<u8>> {
    let line = Json::from_utf8(line).map_err(FromUtf8Error::into_bytes)?;
    message::parse(&line).ok_or_else(|| line.get().as_bytes().to_vec())
}

/// Separates messages from text that a server wrote on the same line, as with a `print` without a
/// line break. Returns the messages, and the rest of the line.
fn unglue(line: &[u8]) -> (Vec<Message>, Vec<u8>) {
    let (mut messages, mut noise, mut rest) = (Vec::new(), Vec::new(), line);
    if memchr::memmem::find(line, br#""jsonrpc""#).is_none() {
        return (messages, line.to_vec());
    }
    for _ in 0..MAX_GLUED {
        let Some(begin) = memchr::memchr(b'{', rest) else {
            break;
        };
        let object = first_object(&rest[begin..]);
        let message = object.and_then(|object| message::parse(&Json::new(object)));
        // If no message begins at this brace, it belongs to the text, and the next brace is
        // examined.
        let end = object
            .filter(|_| message.is_some())
            .map_or(begin + 1, |object| begin + object.len());
        noise.extend_from_slice(&rest[..if message.is_some() { begin } else { end }]);
        messages.extend(message);
        rest = &rest[end..];
    }
    noise.extend_from_slice(rest);
    (messages, noise)
}

/// Returns the JSON value at the beginning of the text.
fn first_object(text: &[u8]) -> Option<&str> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    values.next()?.ok().map(RawValue::get)
}

async fn drain_stderr(stderr: ChildStderr, shared: Arc<Shared>) {
    let mut reader = BufReader::new(stderr);
    let mut pace = Pace::of_words();
    while let Ok(Some(Line::Whole(line) | Line::TooLong(line))) =
        next_line(&mut reader, MAX_STDERR_LINE).await
    {
        pace.spend(line.len()).await;
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            shared
                .logs
                .add_server_line(&shared.server, Level::Info, "stderr", &text);
            text.trim().clone_into(&mut shared.last_words());
        }
    }
}

#[cfg(test)]
mod tests;
