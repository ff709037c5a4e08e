//! A request to a server, before it is encoded for the server's revision.

use std::time::Duration;

use drawbridge_model::protocol::{ProgressToken, headers::HeaderParam};
use drawbridge_sessions::ClientHandle;
use serde_json::value::RawValue;

use super::timeouts::RequestTimeouts;

/// A request to a server.
#[derive(Clone, Copy)]
pub struct ServerRequest<'a> {
    pub(super) method: &'a str,
    pub(super) params: Option<&'a RawValue>,
    pub(super) timeouts: RequestTimeouts,
    pub(super) client_handle: Option<&'a ClientHandle>,
    pub(super) progress_token: Option<&'a ProgressToken>,
    pub(super) header_params: &'a [HeaderParam],
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

    /// Sends the request for a client. `client_handle` receives the messages that the server sends
    /// meanwhile, and progress carries the client's token.
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

    /// Repeats arguments in headers, if the transport and the revision support that.
    #[must_use]
    pub fn with_mirrored_headers(self, header_params: &'a [HeaderParam]) -> Self {
        Self {
            header_params,
            ..self
        }
    }
}
