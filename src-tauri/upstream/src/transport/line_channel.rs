//! JSON-RPC messages over a pair of byte streams, one message on each line: stdin and stdout of a
//! subprocess, or a pipe in memory.

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
use drawbridge_model::{
    ids::ServerId,
    log::{Level, LogKind},
};
use drawbridge_store::logs::Logs;
use serde_json::value::RawValue;
use tokio::{
    io::{self, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{
        OwnedSemaphorePermit, Semaphore,
        mpsc::{self, error::TrySendError},
    },
    time::timeout,
};

use super::{
    EndReason, EventSender, LostReason, MAX_MESSAGE, NotSentReason, RpcResponse, TransportError,
    TransportRequest, pending::Pending,
};
use crate::lines::{Line, next_line};

/// The most messages that may wait for a server that does not read, and their total length in KiB
/// (`OUTBOX_KIB`): one message of the largest size, and some more.
const OUTBOX_CAPACITY: usize = 256;
const OUTBOX_KIB: usize = MAX_MESSAGE_KIB + 4 * 1024;
const MAX_MESSAGE_KIB: usize = MAX_MESSAGE / 1024 + 1;
/// The most bytes of a request besides its method and params.
const ENVELOPE_BYTES: usize = 128;
/// How long a request may wait for its place in the outbox of a server that does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// The most lines in a row that are not JSON-RPC. A server that writes more such lines is stopped.
pub(super) const MAX_NON_JSONRPC_LINES: u32 = 100;
/// How many opening braces are examined on a line that is not JSON as a whole.
const MAX_BRACES: usize = 32;

/// The messages to a server that wait to be written, and the requests in flight to it.
pub(super) struct LineChannel {
    inbound: Arc<Inbound>,
    outbox: Mutex<Option<mpsc::Sender<QueuedMessage>>>,
    outbox_budget: Arc<Semaphore>,
}

/// Receives the messages that wait to be written.
pub(super) type Outgoing = mpsc::Receiver<QueuedMessage>;

/// A message that waits for the server, and its share of the outbox.
pub(super) struct QueuedMessage {
    message: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

/// A place in the outbox that is reserved for one message.
struct Place {
    permit: OwnedSemaphorePermit,
    slot: mpsc::OwnedPermit<QueuedMessage>,
}

impl Place {
    fn put(self, message: Vec<u8>) {
        self.slot.send(QueuedMessage {
            message,
            _permit: self.permit,
        });
    }
}

/// The receiving end of the server's messages.
pub(super) struct Inbound {
    pub(super) server: ServerId,
    pub(super) logs: Logs,
    pub(super) pending: Pending,
    /// Counts the lines that are not JSON-RPC.
    pub(super) non_jsonrpc_lines: Arc<AtomicU32>,
}

impl LineChannel {
    /// Returns a channel, and the receiver for [`write_messages`].
    pub(super) fn new(inbound: Arc<Inbound>) -> (Self, Outgoing) {
        let (outbox, outgoing) = mpsc::channel(OUTBOX_CAPACITY);
        let channel = Self {
            inbound,
            outbox: Mutex::new(Some(outbox)),
            outbox_budget: Arc::new(Semaphore::new(OUTBOX_KIB)),
        };
        (channel, outgoing)
    }

    pub(super) fn end_reason(&self) -> Option<EndReason> {
        self.inbound.pending.end_reason()
    }

    /// Ends the stream to the server as soon as the messages that wait are written.
    pub(super) fn close_outbox(&self) {
        self.outbox().take();
    }

    /// See [`super::Transport::request`].
    pub(super) async fn request(
        &self,
        request: TransportRequest<'_>,
    ) -> Result<RpcResponse, TransportError> {
        let is_cancellable = request.is_cancellable();
        let TransportRequest {
            id,
            method,
            params,
            headers: _,
        } = request;
        let receiver = self.inbound.pending.register(id)?;
        let mut in_flight = CancelOnDrop {
            channel: self,
            id,
            notifies_server: false,
        };
        let length = method.len() + params.map_or(0, str::len) + ENVELOPE_BYTES;
        let place = self.reserve(length).await?;
        place.put(encode::encode_request(id, method, params));
        in_flight.notifies_server = is_cancellable;
        let answer = receiver.await;
        in_flight.notifies_server = false;
        answer.unwrap_or_else(|_| Err(TransportError::Lost(LostReason::Ended(EndReason::Stopped))))
    }

    /// Waits for a place for a message of at most this many bytes. The message is encoded
    /// afterwards, so that only messages with a place take memory.
    async fn reserve(&self, bytes: usize) -> Result<Place, TransportError> {
        let ended = || self.ended_error();
        let outbox = self.outbox().clone().ok_or_else(ended)?;
        let size = size_in_kib(bytes);
        let waiting = async {
            let permit = self.outbox_budget.clone().acquire_many_owned(size).await;
            let permit = permit.map_err(|_| ended())?;
            let slot = outbox.reserve_owned().await.map_err(|_| ended())?;
            Ok(Place { permit, slot })
        };
        timeout(SEND_TIMEOUT, waiting)
            .await
            .unwrap_or_else(|_| Err(not_reading_error()))
    }

    /// Sends a message that has no answer, without waiting. A server that does not read must not
    /// block the reading of its output.
    pub(super) fn try_send(&self, message: Vec<u8>) -> Result<(), TransportError> {
        let outbox = self.outbox().clone().ok_or_else(|| self.ended_error())?;
        let permit = self
            .outbox_budget
            .clone()
            .try_acquire_many_owned(size_in_kib(message.len()))
            .map_err(|_| not_reading_error())?;
        outbox
            .try_send(QueuedMessage {
                message,
                _permit: permit,
            })
            .map_err(|error| match error {
                TrySendError::Full(_) => not_reading_error(),
                TrySendError::Closed(_) => self.ended_error(),
            })
    }

    fn ended_error(&self) -> TransportError {
        let reason = self.end_reason().unwrap_or(EndReason::Stopped);
        TransportError::NotSent(NotSentReason::Ended(reason))
    }

    fn outbox(&self) -> MutexGuard<'_, Option<mpsc::Sender<QueuedMessage>>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the share of the outbox that a message of this many bytes takes, in KiB.
fn size_in_kib(bytes: usize) -> u32 {
    u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX)
}

fn not_reading_error() -> TransportError {
    TransportError::NotSent(NotSentReason::NotReading)
}

impl Inbound {
    fn deliver_answer(&self, id: Option<u64>, response: RpcResponse) {
        if !self.pending.complete(id, response) {
            self.logs.add_server_line(
                &self.server,
                Level::Debug,
                "transport",
                "Dropped an answer to a request that is unknown or was cancelled",
            );
        }
    }

    async fn handle_message(&self, message: ServerMessage, events: &EventSender) {
        match message {
            ServerMessage::Response { id, response } => self.deliver_answer(id, response),
            ServerMessage::Malformed { ids, rule } => {
                if !self.pending.fail(&ids, &rule) {
                    self.logs.add_server_line(
                        &self.server,
                        Level::Info,
                        "transport",
                        &format!("Dropped an answer: {rule}"),
                    );
                }
            }
            ServerMessage::Incoming(message) => events.send_message(message, None).await,
        }
    }

    fn log_non_jsonrpc_line(&self, line: &[u8]) {
        self.non_jsonrpc_lines.fetch_add(1, Ordering::Relaxed);
        self.logs.add_server_output(
            &self.server,
            LogKind::Stdout,
            Level::Info,
            None,
            &String::from_utf8_lossy(line),
        );
    }
}

/// A request that waits for its place or its answer. If the value is dropped after the request was
/// sent and before the answer arrives, the server is notified that the request is cancelled, unless
/// the protocol forbids the notification.
struct CancelOnDrop<'a> {
    channel: &'a LineChannel,
    id: u64,
    /// Whether the server is notified when the value is dropped.
    notifies_server: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.channel.inbound.pending.remove(self.id);
        if self.notifies_server {
            let _ = self.channel.try_send(encode::encode_cancelled(
                self.id,
                "The client cancelled the request, or the request timed out",
            ));
        }
    }
}

/// Writes messages until the output of the channel ends, and then closes the writer.
///
/// # Errors
/// Returns an error if the server's end of the stream is closed.
pub(super) async fn write_messages(
    mut writer: impl AsyncWrite + Unpin,
    mut outgoing: Outgoing,
) -> io::Result<()> {
    let mut batch = Vec::new();
    // All waiting messages are written at once: one system call for many messages.
    while outgoing.recv_many(&mut batch, OUTBOX_CAPACITY).await > 0 {
        let mut bytes = Vec::new();
        let permits: Vec<_> = batch
            .drain(..)
            .map(
                |QueuedMessage {
                     message,
                     _permit: permit,
                 }| {
                    append_line(&mut bytes, &message);
                    permit
                },
            )
            .collect();
        let written = writer.write_all(&bytes).await.and(writer.flush().await);
        drop(permits);
        written?;
    }
    writer.shutdown().await
}

/// Appends a message as one line. JSON has line breaks only between its tokens, and a space is
/// equivalent there. If a line break remained, a client could send a line to the server that no
/// check has seen.
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

/// Fails the requests in flight, and reports the end to the layer above.
pub(super) async fn report_end(inbound: &Inbound, reason: EndReason, events: &EventSender) {
    inbound.pending.end(&reason);
    events.send_end(reason).await;
}

/// Reads messages until the end of the stream. Returns `true` if the reading stopped earlier,
/// because of too many lines that are not JSON-RPC.
pub(super) async fn read_messages(
    reader: impl AsyncRead + Unpin,
    inbound: &Inbound,
    events: &EventSender,
) -> bool {
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let mut non_jsonrpc_in_a_row = 0;
    while let Ok(Some(line)) = next_line(&mut reader, MAX_MESSAGE).await {
        let parsed = match line {
            Line::Whole(line) if line.is_empty() => continue,
            Line::Whole(line) => parse_line(line),
            Line::TooLong(line) => {
                if let Some(id) = server_message::answered_id(&line) {
                    let max_bytes = MAX_MESSAGE;
                    inbound
                        .pending
                        .fail(&[id], &MalformedAnswer::TooLong { max_bytes });
                    continue;
                }
                Err(line)
            }
        };
        match parsed {
            Ok(message) => inbound.handle_message(message, events).await,
            Err(line) => {
                let (messages, other_text) = split_messages(&line);
                inbound.log_non_jsonrpc_line(&other_text);
                if messages.is_empty() {
                    non_jsonrpc_in_a_row += 1;
                    if non_jsonrpc_in_a_row > MAX_NON_JSONRPC_LINES {
                        return true;
                    }
                    continue;
                }
                for message in messages {
                    inbound.handle_message(message, events).await;
                }
            }
        }
        non_jsonrpc_in_a_row = 0;
    }
    false
}

/// Reads a line as a message.
///
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
        // If no message begins at this brace, the brace belongs to the text, and the next brace is
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

/// Returns the text of the JSON object with which this text begins, if the object is valid.
fn first_object(text: &[u8]) -> Option<&str> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    values.next()?.ok().map(RawValue::get)
}

#[cfg(test)]
mod tests;
