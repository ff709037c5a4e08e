//! The ways to a server: a subprocess over stdio, streamable HTTP, or the older HTTP+SSE. One [`Link`]
//! is one live connection; above it nobody knows which kind it is.

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
    /// It was certainly not sent.
    #[error("{0}")]
    NotSent(String),
    /// It may have been sent; whether it ran is unknown.
    #[error("{0}")]
    Lost(String),
    /// The server turned it away with a status of HTTP: it was certainly not carried out.
    #[error("{why}")]
    Refused { status: u16, why: String },
    /// The same: a person has to sign in.
    #[error("{0}")]
    NeedsSignIn(String),
    /// The server answered with something that is not the protocol.
    #[error("{0}")]
    Protocol(String),
}

/// A live connection to a server.
pub enum Link {
    Stdio(StdioLink),
    Http(Arc<HttpLink>),
    Sse(SseLink),
    /// A program of ours that serves a URL, and the connection to that.
    Served(Box<(Served, Link)>),
}

impl Link {
    /// Sends a request and waits for its answer, for as long as it takes. Dropping the future tells the server
    /// that the request is cancelled; an answer after that is dropped.
    ///
    /// # Errors
    /// Where there is no answer, and whether the server may have got the request.
    pub async fn request(&self, request: Request<'_>) -> Result<Reply, LinkError> {
        // Boxed where there is much to remember: a future is as large as the largest that it waits for, and is moved
        // with all that is around it.
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

    /// Answers a request of the server's.
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

    /// The handshake is done. A server with sessions is told which revision was agreed on, and listened to.
    pub fn begin(&self, hello: &ServerHello) {
        match self {
            Self::Http(link) => link.begin(hello),
            Self::Served(both) => both.1.begin(hello),
            Self::Stdio(_) | Self::Sse(_) => {}
        }
    }

    /// Whether requests have headers.
    pub fn is_http(&self) -> bool {
        match self {
            Self::Http(_) => true,
            Self::Served(both) => both.1.is_http(),
            Self::Stdio(_) | Self::Sse(_) => false,
        }
    }

    /// Why the connection ended; nothing while it lives.
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

    /// Ends the connection, and the server's process tree where there is one.
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
    /// Of no other request on the connection.
    pub id: u64,
    pub method: &'a str,
    /// As JSON text.
    pub params: Option<&'a str>,
    /// What is repeated outside the body, where there is such a place.
    pub headers: &'a [(String, String)],
}

/// What the layer above is told by a link: requests and notifications of the server, and its end.
#[derive(Debug)]
pub enum FromServer {
    /// Where the transport tells it, with the id of the request during which it was sent.
    Message {
        message: Incoming,
        during: Option<u64>,
    },
    Ended(String),
}

impl FromServer {
    /// Of the params, in bytes.
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

/// Where a link tells it. Bounded, and at a pace: a server that floods is read slowly. Whoever tells waits for that, so
/// that an answer never overtakes what was said before it. Cheap to clone.
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

    /// Tells it; where nobody listens any more it is lost.
    pub async fn tell(&self, told: FromServer) {
        let length = told.length();
        if self.sender.send(told).await.is_ok() {
            self.pace.lock().await.spend(length).await;
        }
    }

    /// The same without waiting: where there is no room it is lost.
    pub fn try_tell(&self, told: FromServer) {
        let _ = self.sender.try_send(told);
    }
}
