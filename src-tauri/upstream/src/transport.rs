//! Transports to servers: a subprocess over stdio, streamable HTTP, the older HTTP+SSE, or a
//! built-in server in this process. A [`Transport`] is one live connection, and hides its kind from
//! the layers above.

mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod in_memory;
mod legacy_sse;
mod line_channel;
mod local_http_server;
mod pending;
pub mod process;
mod rate_limit;
mod remote;
mod stdio;
mod streamable_http;
#[cfg(test)]
mod test_server;

use std::sync::Arc;

use drawbridge_jsonrpc::{encode, rpc::RpcResult, server_message::Incoming};
use drawbridge_model::{
    protocol::{ServerHello, ServerProgress},
    sandbox::EnforcedSandbox,
};
use serde_json::value::RawValue;
use tokio::sync::{
    Mutex,
    mpsc::{self, error::TrySendError},
};

pub use drawbridge_jsonrpc::rpc::RpcResponse;
pub use error::{
    EndReason, HttpRefusal, InvalidAnswer, LostReason, NotSentReason, RefusedReason, RemoteError,
    TransportError,
};
pub use in_memory::InMemoryTransport;
pub use legacy_sse::{EndpointTimeout, SseError, SseTransport};
pub use local_http_server::{AddressInUse, LocalHttpServer, LocalHttpServerError, NotListening};
pub use remote::{HttpTarget, TargetError};
pub use stdio::StdioTransport;
pub use streamable_http::HttpTransport;

use rate_limit::RateLimit;

/// The longest message that a server may send, in bytes.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// A live connection to a server.
pub enum Transport {
    Stdio(StdioTransport),
    Http(Arc<HttpTransport>),
    Sse(SseTransport),
    /// A program started by Drawbridge that serves a URL, and the connection to that URL.
    LocalHttp(Box<(LocalHttpServer, Transport)>),
    /// A built-in server, in this process.
    InMemory(InMemoryTransport),
}

impl Transport {
    /// Sends a request, and waits for its answer without a timeout. If the future is dropped, the
    /// request is cancelled at the server (by a notification, or by closing the connection to a
    /// modern server over HTTP), and a later answer is dropped.
    ///
    /// # Errors
    /// Returns an error if there is no answer. The variant shows whether the server may have
    /// received the request.
    pub async fn request(
        &self,
        request: TransportRequest<'_>,
    ) -> Result<RpcResponse, TransportError> {
        // Large futures are boxed, because a future is as large as the largest future that it
        // awaits, and moves together with it.
        match self {
            Self::Stdio(transport) => transport.request(request).await,
            Self::InMemory(transport) => transport.request(request).await,
            Self::Http(transport) => Box::pin(transport.request(request)).await,
            Self::Sse(transport) => Box::pin(transport.request(request)).await,
            Self::LocalHttp(both) => Box::pin(both.1.request(request)).await,
        }
    }

    /// Sends a notification.
    pub async fn notify(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), TransportError> {
        self.send_message(encode::encode_notification(
            method,
            params.map(RawValue::get),
        ))
        .await
    }

    /// Answers a request of the server.
    pub async fn answer(&self, id: &RawValue, response: &RpcResult) -> Result<(), TransportError> {
        self.send_message(encode::encode_response(id.get(), response).to_vec())
            .await
    }

    async fn send_message(&self, message: Vec<u8>) -> Result<(), TransportError> {
        match self {
            Self::Stdio(transport) => transport.try_send(message),
            Self::InMemory(transport) => transport.try_send(message),
            Self::Http(transport) => transport.send_message(message).await,
            Self::Sse(transport) => transport.send_message(message).await,
            Self::LocalHttp(both) => Box::pin(both.1.send_message(message)).await,
        }
    }

    /// Completes the handshake. If the server belongs to the legacy era and is reached over
    /// streamable HTTP, later requests name the agreed revision, and the stream of the server's own
    /// messages is opened.
    pub fn complete_handshake(&self, hello: &ServerHello) {
        match self {
            Self::Http(transport) => transport.complete_handshake(hello),
            Self::LocalHttp(both) => both.1.complete_handshake(hello),
            Self::Stdio(_) | Self::Sse(_) | Self::InMemory(_) => {}
        }
    }

    /// Returns whether this is streamable HTTP, the only transport that supports headers for a
    /// single request.
    pub fn is_streamable_http(&self) -> bool {
        match self {
            Self::Http(_) => true,
            Self::LocalHttp(both) => both.1.is_streamable_http(),
            Self::Stdio(_) | Self::Sse(_) | Self::InMemory(_) => false,
        }
    }

    /// Returns whether the messages go over a pipe, and not over HTTP.
    pub fn is_pipe(&self) -> bool {
        match self {
            Self::Stdio(_) | Self::InMemory(_) => true,
            Self::Http(_) | Self::Sse(_) | Self::LocalHttp(_) => false,
        }
    }

    /// Returns why the connection ended, or `None` while it is alive.
    pub fn end_reason(&self) -> Option<EndReason> {
        match self {
            Self::Stdio(transport) => transport.end_reason(),
            Self::InMemory(transport) => transport.end_reason(),
            Self::Http(transport) => transport.end_reason(),
            Self::Sse(transport) => transport.end_reason(),
            Self::LocalHttp(both) => both.0.end_reason().or_else(|| both.1.end_reason()),
        }
    }

    /// Returns the name of the transport as specs and hooks know it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "streamable_http",
            Self::Sse(_) => "sse",
            Self::LocalHttp(both) => both.1.name(),
            Self::InMemory(_) => "in_memory",
        }
    }

    /// Returns the id that the server gave the session, if any. Only streamable HTTP has such ids.
    pub fn session_id(&self) -> Option<String> {
        match self {
            Self::Http(transport) => transport.session_id(),
            Self::LocalHttp(both) => both.1.session_id(),
            Self::Stdio(_) | Self::Sse(_) | Self::InMemory(_) => None,
        }
    }

    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Stdio(transport) => Some(transport.pid()),
            Self::Http(_) | Self::Sse(_) | Self::InMemory(_) => None,
            Self::LocalHttp(both) => Some(both.0.pid()),
        }
    }

    /// Returns the enforced sandbox of a local server, or `None` if the server runs in no sandbox.
    pub fn sandbox(&self) -> Option<EnforcedSandbox> {
        match self {
            Self::Stdio(transport) => transport.sandbox(),
            Self::Http(_) | Self::Sse(_) | Self::InMemory(_) => None,
            Self::LocalHttp(both) => both.0.sandbox(),
        }
    }

    /// Ends the connection, and the server's process tree if there is one.
    pub async fn close(&self) {
        match self {
            Self::Stdio(transport) => transport.close().await,
            Self::InMemory(transport) => transport.close().await,
            Self::Http(transport) => transport.close().await,
            Self::Sse(transport) => transport.close().await,
            Self::LocalHttp(both) => {
                Box::pin(both.1.close()).await;
                both.0.stop().await;
            }
        }
    }
}

/// A request to a server.
#[derive(Debug, Clone, Copy)]
pub struct TransportRequest<'a> {
    /// Unique among the requests on the connection.
    pub id: u64,
    pub method: &'a str,
    /// The params as JSON text.
    pub params: Option<&'a str>,
    /// Parts of the request that are repeated as headers, if the transport has headers.
    pub headers: &'a [(String, String)],
}

impl TransportRequest<'_> {
    /// Returns whether the server may be notified that the request is cancelled. The protocol
    /// forbids the notification for `initialize`.
    fn is_cancellable(&self) -> bool {
        self.method != "initialize"
    }
}

/// An event on a connection: a request or notification of the server, or the end of the connection.
#[derive(Debug)]
pub enum TransportEvent {
    /// `during_request` is the id of the request on whose stream of events the message arrived.
    /// Only streamable HTTP has such streams.
    Message {
        message: Incoming,
        during_request: Option<u64>,
    },
    /// The progress of one of Drawbridge's requests.
    Progress(ServerProgress),
    Ended(EndReason),
}

/// Passes the events of a connection to the layer above. The channel is bounded and has a rate
/// limit, so a server that floods is read slowly; the progress of a request has its own budget. The
/// sender waits, so that an answer never overtakes the messages before it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventSender {
    sender: mpsc::Sender<TransportEvent>,
    rate_limit: Arc<Mutex<RateLimit>>,
}

impl EventSender {
    pub fn new(sender: mpsc::Sender<TransportEvent>) -> Self {
        Self {
            sender,
            rate_limit: Arc::new(Mutex::new(RateLimit::for_messages())),
        }
    }

    /// Sends a message of the server, and waits for the rate limit. Progress is not sent if it
    /// belongs to none of Drawbridge's requests, but counts for the rate limit. If the receiver is
    /// gone, the message is lost.
    ///
    /// `during_request` is the id of the request on whose stream of events the message arrived, if
    /// any.
    pub async fn send_message(&self, message: Incoming, during_request: Option<u64>) {
        let (Incoming::Request { params, .. } | Incoming::Notification { params, .. }) = &message;
        let length = params.as_ref().map_or(0, |params| params.get().len());
        let (event, request) = match message {
            Incoming::Notification {
                method,
                params: Some(params),
            } if method == "notifications/progress" => {
                let progress = ServerProgress::read(params);
                let request = progress.as_ref().map(|progress| progress.request);
                (progress.map(TransportEvent::Progress), request)
            }
            message @ (Incoming::Request { .. } | Incoming::Notification { .. }) => {
                let event = TransportEvent::Message {
                    message,
                    during_request,
                };
                (Some(event), None)
            }
        };
        if let Some(event) = event
            && self.sender.send(event).await.is_err()
        {
            return;
        }
        let mut rate_limit = self.rate_limit.lock().await;
        match request {
            Some(request) => rate_limit.spend_progress(request, length).await,
            None => rate_limit.spend(length).await,
        }
    }

    /// Sends the end of the connection. If the receiver is gone, the event is lost.
    pub async fn send_end(&self, reason: EndReason) {
        let _ = self.sender.send(TransportEvent::Ended(reason)).await;
    }

    /// Sends an event without waiting. If the channel is full, a task sends the event later. If the
    /// receiver is gone, the event is lost.
    pub fn send_later(&self, event: TransportEvent) {
        if let Err(TrySendError::Full(event)) = self.sender.try_send(event) {
            let sender = self.sender.clone();
            tokio::spawn(async move { drop(sender.send(event).await) });
        }
    }
}
