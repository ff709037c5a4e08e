//! Transports to servers: a subprocess over stdio, streamable HTTP, or the older HTTP+SSE. A
//! [`Link`] is one live connection, and hides its kind from the layers above.

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod legacy_sse;
pub mod message;
mod pace;
mod pending;
pub mod process;
mod remote;
mod served;
mod sse;
mod stdio;
mod streamable_http;

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::{Mutex, mpsc};

pub use legacy_sse::{SseError, SseLink};
use message::Incoming;
use pace::Pace;
pub use remote::HttpTarget;
pub use served::{Served, ServedError};
pub use stdio::StdioLink;
pub use streamable_http::HttpLink;

/// The longest message that a server may send, in bytes.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;

pub use crate::model::rpc::Reply;
use crate::protocol::ServerHello;

/// Why a request has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LinkError {
    /// The request was certainly not sent.
    #[error("{0}")]
    NotSent(String),
    /// The request may have been sent. The server may or may not have carried it out.
    #[error("{0}")]
    Lost(String),
    /// The server refused the request with an HTTP status, and certainly did not carry it out.
    #[error("{why}")]
    Refused { status: u16, why: String },
    /// The server did not carry out the request, because a person has to sign in.
    #[error("{0}")]
    NeedsSignIn(String),
    /// The server's answer breaks the protocol.
    #[error("{0}")]
    Protocol(String),
}

/// A live connection to a server.
pub enum Link {
    Stdio(StdioLink),
    Http(Arc<HttpLink>),
    Sse(SseLink),
    /// A program started by Drawbridge that serves a URL, and the connection to that URL.
    Served(Box<(Served, Link)>),
}

impl Link {
    /// Sends a request and waits for its answer, without a timeout. If the future is dropped, the
    /// server is notified that the request is cancelled, and a later answer is dropped.
    ///
    /// # Errors
    /// Returns an error if there is no answer. The variant shows whether the server may have
    /// received the request.
    pub async fn request(&self, request: Request<'_>) -> Result<Reply, LinkError> {
        // Large futures are boxed, because a future is as large as the largest future that it
        // awaits, and moves together with it.
        match self {
            Self::Stdio(link) => link.request(request).await,
            Self::Http(link) => Box::pin(link.request(request)).await,
            Self::Sse(link) => Box::pin(link.request(request)).await,
            Self::Served(both) => Box::pin(both.1.request(request)).await,
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), LinkError> {
        self.tell(message::notification(method, params.map(RawValue::get)))
            .await
    }

    /// Answers a request of the server.
    pub async fn answer(&self, id: &RawValue, reply: &Reply) -> Result<(), LinkError> {
        self.tell(message::answer(id, reply)).await
    }

    async fn tell(&self, message: Vec<u8>) -> Result<(), LinkError> {
        match self {
            Self::Stdio(link) => link.tell(message),
            Self::Http(link) => link.tell(message).await,
            Self::Sse(link) => link.tell(message).await,
            Self::Served(both) => Box::pin(both.1.tell(message)).await,
        }
    }

    /// Completes the handshake. Over streamable HTTP, requests to a server of the legacy era name
    /// the agreed revision from then on, and the stream of the server's own messages is opened.
    pub fn begin(&self, hello: &ServerHello) {
        match self {
            Self::Http(link) => link.begin(hello),
            Self::Served(both) => both.1.begin(hello),
            Self::Stdio(_) | Self::Sse(_) => {}
        }
    }

    /// Returns whether requests have headers of their own, which only streamable HTTP supports.
    pub fn is_http(&self) -> bool {
        match self {
            Self::Http(_) => true,
            Self::Served(both) => both.1.is_http(),
            Self::Stdio(_) | Self::Sse(_) => false,
        }
    }

    /// Returns why the connection ended, or `None` while it is alive.
    pub fn ended(&self) -> Option<String> {
        match self {
            Self::Stdio(link) => link.ended(),
            Self::Http(link) => link.ended(),
            Self::Sse(link) => link.ended(),
            Self::Served(both) => both.0.ended().or_else(|| both.1.ended()),
        }
    }

    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Stdio(link) => Some(link.pid()),
            Self::Http(_) | Self::Sse(_) => None,
            Self::Served(both) => Some(both.0.pid()),
        }
    }

    /// Ends the connection, and the server's process tree if there is one.
    pub async fn close(&self) {
        match self {
            Self::Stdio(link) => link.close().await,
            Self::Http(link) => link.close().await,
            Self::Sse(link) => link.close().await,
            Self::Served(both) => {
                Box::pin(both.1.close()).await;
                both.0.stop().await;
            }
        }
    }
}

/// A request to a server.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Unique among the requests on the connection.
    pub id: u64,
    pub method: &'a str,
    /// The params as JSON text.
    pub params: Option<&'a str>,
    /// Parts of the request that are repeated as headers, if the transport supports that.
    pub headers: &'a [(String, String)],
}

/// An event on a connection: a request or notification of the server, or the end of the connection.
#[derive(Debug)]
pub enum FromServer {
    /// `during` is the id of the request during which the message was sent, if the transport shows
    /// that.
    Message {
        message: Incoming,
        during: Option<u64>,
    },
    Ended(String),
}

impl FromServer {
    /// Returns the length of the params, or of the reason for the end, in bytes.
    fn length(&self) -> usize {
        match self {
            Self::Message {
                message: Incoming::Request { params, .. } | Incoming::Notification { params, .. },
                ..
            } => params.as_ref().map_or(0, |params| params.get().len()),
            Self::Ended(how) => how.len(),
        }
    }
}

/// Passes the events of a connection to the layer above. The channel is bounded and has a rate
/// limit, so a server that floods is read slowly. The sender waits, so that an answer never
/// overtakes the messages before it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToUpstream {
    sender: mpsc::Sender<FromServer>,
    pace: Arc<Mutex<Pace>>,
}

impl ToUpstream {
    pub fn new(sender: mpsc::Sender<FromServer>) -> Self {
        Self {
            sender,
            pace: Arc::new(Mutex::new(Pace::of_messages())),
        }
    }

    /// Sends an event, and waits for the rate limit. If nobody receives any more, the event is
    /// lost.
    pub async fn tell(&self, told: FromServer) {
        let length = told.length();
        if self.sender.send(told).await.is_ok() {
            self.pace.lock().await.spend(length).await;
        }
    }

    /// Sends an event without waiting. If the channel is full, the event is lost.
    pub fn try_tell(&self, told: FromServer) {
        let _ = self.sender.try_send(told);
    }
}
