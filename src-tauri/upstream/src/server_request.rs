//! A request to a server, before it is encoded for the server's revision.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use drawbridge_model::{
    protocol::{ProgressToken, ServerProgress, headers::HeaderParam},
    trace::TraceContext,
};
use drawbridge_sessions::ClientHandle;
use serde_json::value::RawValue;

use super::timeouts::RequestTimeouts;

/// Receives the progress of a request, whichever token the client gave.
pub trait ProgressObserver: Send + Sync {
    /// Receives progress. Must not block.
    fn observe(&self, progress: &ServerProgress);
}

/// The trace span of a request, and how the connection sent the request.
#[derive(Debug)]
pub struct RequestSpan {
    pub context: TraceContext,
    /// Set when the request is sent.
    pub sent: OnceLock<SentRequest>,
}

/// How a request was sent.
#[derive(Debug)]
pub struct SentRequest {
    pub id: u64,
    pub protocol_version: String,
    /// Whether the request went over a pipe to a program, and not over HTTP.
    pub is_pipe: bool,
}

impl RequestSpan {
    pub fn new(context: TraceContext) -> Self {
        Self {
            context,
            sent: OnceLock::new(),
        }
    }
}

/// A request to a server.
#[derive(Clone, Copy)]
pub struct ServerRequest<'a> {
    pub(super) method: &'a str,
    pub(super) params: Option<&'a RawValue>,
    pub(super) timeouts: RequestTimeouts,
    pub(super) client_handle: Option<&'a ClientHandle>,
    pub(super) progress_token: Option<&'a ProgressToken>,
    pub(super) header_params: &'a [HeaderParam],
    /// The capabilities that a modern server is told, or `None` for those that the client declares.
    pub(super) capabilities: Option<&'a RawValue>,
    pub(super) progress_observer: Option<&'a Arc<dyn ProgressObserver>>,
    pub(super) span: Option<&'a RequestSpan>,
    /// Whether the request reads a private list of the client in the background.
    pub(super) reads_list: bool,
}

impl<'a> ServerRequest<'a> {
    pub fn new(
        method: &'a str,
        params: Option<&'a RawValue>,
        timeouts: impl Into<RequestTimeouts>,
    ) -> Self {
        Self {
            method,
            params,
            timeouts: timeouts.into(),
            client_handle: None,
            progress_token: None,
            header_params: &[],
            capabilities: None,
            progress_observer: None,
            span: None,
            reads_list: false,
        }
    }

    /// Returns a request of Drawbridge itself, without a timeout.
    pub(super) fn without_timeout(method: &'a str, params: Option<&'a RawValue>) -> Self {
        let timeouts = RequestTimeouts {
            inactivity: Duration::MAX,
            total: Duration::MAX,
        };
        Self::new(method, params, timeouts)
    }

    /// Returns the request as a client's request. `client_handle` receives the messages that the
    /// server sends until it answers. `progress_token` is the client's own token for progress.
    #[must_use]
    pub fn on_behalf_of(
        self,
        client_handle: &'a ClientHandle,
        progress_token: Option<&'a ProgressToken>,
    ) -> Self {
        Self {
            client_handle: Some(client_handle),
            progress_token,
            ..self
        }
    }

    /// Reports the progress of the request to `observer` too, if the client asked for progress.
    #[must_use]
    pub fn observed_by(self, observer: Option<&'a Arc<dyn ProgressObserver>>) -> Self {
        Self {
            progress_observer: observer,
            ..self
        }
    }

    /// Tells the server that this span is the parent of its own spans.
    #[must_use]
    pub fn within_span(self, span: Option<&'a RequestSpan>) -> Self {
        Self { span, ..self }
    }

    /// Returns the request as a read of a client's private list in the background. The server's
    /// messages go to another client instead, if that client has a request in flight that is not
    /// such a read.
    #[must_use]
    pub fn reading_list_of(self, client_handle: &'a ClientHandle) -> Self {
        Self {
            reads_list: true,
            ..self.on_behalf_of(client_handle, None)
        }
    }

    /// Repeats these arguments in HTTP headers, if transport and revision have such headers.
    #[must_use]
    pub fn with_mirrored_headers(self, header_params: &'a [HeaderParam]) -> Self {
        Self {
            header_params,
            ..self
        }
    }
}
