//! The ways to a server: a subprocess over stdio, streamable HTTP, or the older HTTP+SSE. One [`Link`]
//! is one live connection; above it nobody knows which kind it is.

mod legacy_sse;
pub mod message;
mod noise;
mod pending;
pub mod process;
mod remote;
mod sse;
mod stdio;
mod streamable_http;

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::sync::mpsc;

pub use legacy_sse::{SseError, SseLink};
use message::Incoming;
pub use remote::HttpTarget;
pub use stdio::StdioLink;
pub use streamable_http::HttpLink;

/// The longest message that a server may send, in bytes.
pub const MAX_MESSAGE: usize = 64 * 1024 * 1024;

pub use crate::model::rpc::Reply;

/// Why a request has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LinkError {
    /// It was certainly not sent.
    #[error("{0}")]
    NotSent(String),
    /// It may have been sent; whether it ran is unknown.
    #[error("{0}")]
    Lost(String),
    /// It was refused ahead of being carried out: a person has to sign in.
    #[error("{0}")]
    NeedsSignIn(String),
    #[error("it did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The server answered with something that is not the protocol.
    #[error("{0}")]
    Protocol(String),
}

/// A live connection to a server.
pub enum Link {
    Stdio(StdioLink),
    Http(Arc<HttpLink>),
    Sse(SseLink),
}

impl Link {
    /// Sends a request and waits for its answer. Dropping the future, or the time-out, tells the server
    /// that the request is cancelled; an answer after that is dropped.
    pub async fn request(
        &self,
        method: &str,
        params: Option<&RawValue>,
        timeout: Duration,
    ) -> Result<Reply, LinkError> {
        match self {
            Self::Stdio(link) => link.request(method, params, timeout).await,
            Self::Http(link) => link.request(method, params, timeout).await,
            Self::Sse(link) => link.request(method, params, timeout).await,
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), LinkError> {
        self.tell(message::notification(method, params)).await
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
        }
    }

    /// The revision agreed on, for transports that have to name it.
    pub fn set_protocol_version(&self, version: &str) {
        if let Self::Http(link) = self {
            link.set_protocol_version(version);
        }
    }

    /// Why the connection ended; nothing while it lives.
    pub fn ended(&self) -> Option<String> {
        match self {
            Self::Stdio(link) => link.ended(),
            Self::Http(link) => link.ended(),
            Self::Sse(link) => link.ended(),
        }
    }

    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Stdio(link) => Some(link.pid()),
            Self::Http(_) | Self::Sse(_) => None,
        }
    }

    /// Ends the connection, and the server's process tree where there is one.
    pub async fn close(&self) {
        match self {
            Self::Stdio(link) => link.close().await,
            Self::Http(link) => link.close().await,
            Self::Sse(link) => link.close().await,
        }
    }
}

/// What the layer above is told by a link: requests and notifications of the server, and its end.
#[derive(Debug)]
pub enum FromServer {
    Message(Incoming),
    Ended(String),
}

/// Where a link tells it. Bounded: a server that floods is slowed down.
pub type ToUpstream = mpsc::Sender<FromServer>;
