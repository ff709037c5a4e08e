//! Messages that wait for a client to read them, limited by their bytes.
//!
//! A client that keeps up gets every message, however long. If a client does not keep up, messages
//! are dropped, and after a while its stream ends, so that it holds neither memory nor a
//! connection.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::sync::Notify;

/// The most bytes of messages that wait for a client. A longer message waits only if a client reads
/// and no other message waits.
pub const MAX_WAITING_BYTES: usize = 64 * 1024;
/// The most bytes of answers that wait on a stream that all requests of a session share.
pub(super) const MAX_WAITING_ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// The most messages that a reader may miss after it last took a message. If the reader misses
/// more, and also more than [`MAX_MISSED_BYTES`], its stream ends. A reader that still reads does
/// not exceed both limits, because less can arrive between two reads: messages of a server have a
/// rate limit, and messages about the progress of a request have a budget.
const MAX_MISSED: usize = 64;
/// The most bytes of the messages that a reader may miss. See [`MAX_MISSED`].
const MAX_MISSED_BYTES: usize = 256 * 1024;

/// The sending side of a stream. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MessageSender(Arc<MessageQueue>);

/// The reading side of a stream, or of a session's outbox. Dropping it ends a stream, but not an
/// outbox.
#[derive(Debug)]
pub struct MessageReader {
    queue: Arc<MessageQueue>,
    number: u64,
}

/// Why a message is not delivered.
#[derive(Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// The client does not read, or reads too slowly.
    TooSlow,
    /// The stream has ended. Holds the message.
    Ended(Bytes),
}

/// Returns both sides of a new stream.
pub fn message_stream() -> (MessageSender, MessageReader) {
    let queue = Arc::new(MessageQueue::new(Lifetime::Reader));
    let reader = queue.attach_reader();
    (MessageSender(queue), reader)
}

/// Messages that wait for one reader.
#[derive(Debug)]
pub(super) struct MessageQueue {
    lifetime: Lifetime,
    state: Mutex<State>,
    changed: Notify,
}

/// How long a queue accepts messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// As long as its only reader.
    Reader,
    /// As long as the session. Readers come and go, and the latest reader gets the messages.
    Session,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<WaitingMessage>,
    message_bytes: usize,
    answer_bytes: usize,
    /// The number of messages that the reader has missed since it last took a message.
    missed: usize,
    /// The bytes of these messages.
    missed_bytes: usize,
    /// The number of the current reader.
    reader: Option<u64>,
    last_reader: u64,
    /// Whether the only reader was closed or dropped. A stream that ends because its reader is too
    /// slow has no reader instead.
    has_ended: bool,
}

#[derive(Debug)]
struct WaitingMessage {
    text: Bytes,
    is_answer: bool,
}

impl MessageSender {
    /// Adds a message without waiting.
    ///
    /// # Errors
    /// Returns an error if the client reads too slowly, or if the stream has ended.
    pub fn send(&self, message: Bytes) -> Result<(), Undelivered> {
        self.0.push(message)
    }

    /// Adds the answer to a request. More bytes of answers may wait than of other messages.
    ///
    /// # Errors
    /// Returns an error if more than 32 MiB of answers would wait, which ends the stream, or if the
    /// stream has ended.
    pub fn send_answer(&self, answer: Bytes) -> Result<(), Undelivered> {
        self.0.push_answer(answer)
    }

    /// Returns whether the stream was ended because its client does not read it.
    pub fn is_abandoned(&self) -> bool {
        let state = self.0.lock();
        state.reader.is_none() && !state.has_ended
    }
}

impl MessageReader {
    /// Returns the next message, or `None` if the stream has ended because this reader was too
    /// slow, or if another reader has taken over.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            let changed = self.queue.changed.notified();
            {
                let mut state = self.queue.lock();
                if state.reader != Some(self.number) {
                    return None;
                }
                if let Some(message) = state.pop() {
                    (state.missed, state.missed_bytes) = (0, 0);
                    return Some(message);
                }
            }
            changed.await;
        }
    }

    /// Ends a stream, but not an outbox, and returns the messages that still wait. Returns no
    /// messages if another reader has taken over.
    pub fn close(&mut self) -> Vec<Bytes> {
        let mut state = self.queue.lock();
        if state.reader != Some(self.number) {
            return Vec::new();
        }
        state.has_ended = self.queue.lifetime == Lifetime::Reader;
        std::iter::from_fn(|| state.pop()).collect()
    }
}

impl Drop for MessageReader {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        if self.queue.lifetime == Lifetime::Reader {
            state.has_ended = true;
            state.clear();
        }
        if state.reader == Some(self.number) {
            state.reader = None;
        }
    }
}

impl MessageQueue {
    pub(super) fn new(lifetime: Lifetime) -> Self {
        Self {
            lifetime,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Returns a reader, which takes over from the previous reader.
    pub(super) fn attach_reader(self: &Arc<Self>) -> MessageReader {
        let mut state = self.lock();
        state.last_reader += 1;
        let number = state.last_reader;
        state.reader = Some(number);
        (state.missed, state.missed_bytes) = (0, 0);
        drop(state);
        self.changed.notify_waiters();
        MessageReader {
            queue: Arc::clone(self),
            number,
        }
    }

    /// See [`MessageSender::send`]. If nobody reads a session's queue, the oldest messages are
    /// dropped to make room.
    pub(super) fn push(&self, message: Bytes) -> Result<(), Undelivered> {
        let mut state = self.lock();
        if state.has_ended {
            return Err(Undelivered::Ended(message));
        }
        let has_reader = state.reader.is_some();
        let fits = |state: &State| state.message_bytes + message.len() <= MAX_WAITING_BYTES;
        if has_reader && !fits(&state) && !state.waiting.is_empty() {
            state.missed += 1;
            state.missed_bytes += message.len();
            if state.missed > MAX_MISSED && state.missed_bytes > MAX_MISSED_BYTES {
                state.reader = None;
                state.clear();
                drop(state);
                self.changed.notify_waiters();
            }
            return Err(Undelivered::TooSlow);
        }
        if !has_reader {
            if self.lifetime == Lifetime::Reader || message.len() > MAX_WAITING_BYTES {
                return Err(Undelivered::TooSlow);
            }
            while !fits(&state) {
                state.pop();
            }
        }
        state.message_bytes += message.len();
        self.enqueue(state, message, false);
        Ok(())
    }

    fn push_answer(&self, answer: Bytes) -> Result<(), Undelivered> {
        let mut state = self.lock();
        if state.has_ended {
            return Err(Undelivered::Ended(answer));
        }
        let answer_bytes = state.answer_bytes + answer.len();
        if answer_bytes > MAX_WAITING_ANSWER_BYTES {
            state.reader = None;
            state.clear();
        }
        if state.reader.is_none() {
            drop(state);
            self.changed.notify_waiters();
            return Err(Undelivered::TooSlow);
        }
        state.answer_bytes = answer_bytes;
        self.enqueue(state, answer, true);
        Ok(())
    }

    fn enqueue(&self, mut state: MutexGuard<'_, State>, text: Bytes, is_answer: bool) {
        state.waiting.push_back(WaitingMessage { text, is_answer });
        drop(state);
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pop(&mut self) -> Option<Bytes> {
        let WaitingMessage { text, is_answer } = self.waiting.pop_front()?;
        if is_answer {
            self.answer_bytes -= text.len();
        } else {
            self.message_bytes -= text.len();
        }
        Some(text)
    }

    fn clear(&mut self) {
        self.waiting = VecDeque::new();
        (self.message_bytes, self.answer_bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests;
