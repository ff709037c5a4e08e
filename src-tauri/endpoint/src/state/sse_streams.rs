//! The open streams of the HTTP+SSE transport, and the messages that wait for each client.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use bytes::Bytes;
use drawbridge_jsonrpc::{
    client_message::Id,
    encode,
    rpc::{RpcError, code},
};
use drawbridge_model::ids::ClientName;
use drawbridge_sessions::{
    ClientSession, MessageReader, MessageSender, Undelivered, message_stream,
};
use tokio_util::sync::CancellationToken;

/// The open streams, by the `session_id` in the URL for their clients' messages. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct SseStreams(Arc<Mutex<HashMap<String, Arc<Outlet>>>>);

/// The sending side of a client's stream.
pub(crate) struct Outlet {
    pub(crate) client: ClientName,
    pub(crate) queue: MessageSender,
    /// Set by `initialize`.
    pub(crate) session: OnceLock<Arc<ClientSession>>,
    pub(crate) closed: CancellationToken,
}

/// An open stream. Dropping this value, when the connection closes, removes the stream from the
/// table.
pub(crate) struct OpenStream {
    streams: SseStreams,
    id: String,
    pub(crate) outlet: Arc<Outlet>,
}

impl SseStreams {
    /// Opens a stream to a client. Returns the stream and the messages to send on it.
    pub(crate) fn open(&self, id: &str, client: ClientName) -> (OpenStream, MessageReader) {
        let (queue, messages) = message_stream();
        let outlet = Arc::new(Outlet {
            client,
            queue,
            session: OnceLock::new(),
            closed: CancellationToken::new(),
        });
        self.lock().insert(id.to_owned(), Arc::clone(&outlet));
        let open = OpenStream {
            streams: self.clone(),
            id: id.to_owned(),
            outlet,
        };
        (open, messages)
    }

    /// Returns the stream with this id. Returns `None` if there is no such stream, or if it belongs
    /// to another client or was closed.
    pub(crate) fn find(&self, id: &str, client: &ClientName) -> Option<Arc<Outlet>> {
        self.lock()
            .get(id)
            .filter(|outlet| outlet.client == *client && !outlet.closed.is_cancelled())
            .cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Outlet>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.lock().remove(&self.id);
        self.outlet.closed.cancel();
    }
}

impl Outlet {
    /// Queues a message for the stream.
    pub(crate) fn send(&self, message: Bytes) {
        let sent = self.queue.send(message);
        self.close_if_abandoned(sent);
    }

    /// Queues the answer to a request for the stream.
    pub(crate) fn send_answer(&self, answer: Bytes) {
        let sent = self.queue.send_answer(answer);
        self.close_if_abandoned(sent);
    }

    fn close_if_abandoned(&self, sent: Result<(), Undelivered>) {
        if sent.is_err() && self.queue.is_abandoned() && !self.closed.is_cancelled() {
            tracing::warn!(
                "client {}: its stream is closed, because the client does not read it",
                self.client
            );
            self.closed.cancel();
        }
    }

    /// Queues an error as the answer to a request.
    pub(crate) fn send_error(&self, id: Id<'_>, reason: &str) {
        self.send_answer(encode::encode_error(
            Some(id),
            &RpcError::new(code::INVALID_REQUEST, reason),
        ));
    }
}

#[cfg(test)]
mod tests;
