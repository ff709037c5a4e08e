//! Runs a client's request in a session, over any of the endpoint's transports.

use std::sync::Arc;

use axum::http::StatusCode;
use bytes::Bytes;
use drawbridge_jsonrpc::{
    client_message::Id,
    encode,
    rpc::{RpcError, code},
};
use drawbridge_sessions::{
    ClientHandle, ClientSession, InFlightRequest, MessageSender, NotBegun, RequestPermit,
};
use serde_json::value::RawValue;

use crate::{error_response::RpcRefusal, state::ListenerState};

/// A client's request in flight. Dropping it cancels the request.
pub(crate) struct Exchange {
    state: Arc<ListenerState>,
    in_flight: InFlightRequest,
    method: Box<str>,
    params: Option<Box<RawValue>>,
    _permit: Arc<RequestPermit>,
}

impl Exchange {
    /// Registers a request as in flight. The requests of a batch share a permit.
    ///
    /// # Errors
    /// Returns an error if a request with this id is in flight already, or if too many requests are
    /// in flight.
    pub(crate) fn begin(
        state: &Arc<ListenerState>,
        session: &Arc<ClientSession>,
        id: Id<'_>,
        method: &str,
        params: Option<&RawValue>,
        permit: impl Into<Arc<RequestPermit>>,
    ) -> Result<Self, RpcRefusal> {
        let in_flight = session.begin_request(id.as_json()).map_err(|refusal| {
            let status = match refusal {
                NotBegun::IdInUse => StatusCode::BAD_REQUEST,
                NotBegun::TooMany => StatusCode::SERVICE_UNAVAILABLE,
            };
            let error = RpcError::new(code::INVALID_REQUEST, refusal.to_string());
            RpcRefusal::new(status, Some(id), &error)
        })?;
        Ok(Self {
            state: Arc::clone(state),
            in_flight,
            method: method.into(),
            params: params.map(ToOwned::to_owned),
            _permit: permit.into(),
        })
    }

    /// Runs the request and returns its answer. Messages that belong to the request are sent first,
    /// over `stream` or, without a stream, through the session's outbox.
    pub(crate) async fn answer(mut self, stream: Option<MessageSender>) -> Bytes {
        let session = Arc::clone(self.in_flight.session());
        let handle = match stream {
            Some(stream) => ClientHandle::for_request(session, stream),
            None => ClientHandle::for_session(session),
        };
        let answer = self
            .state
            .hub
            .handle_request(&handle, &self.method, self.params.as_deref());
        let response = self.in_flight.run(answer).await;
        let response = response.unwrap_or_else(|aborted| {
            Err(RpcError::new(code::INTERNAL_ERROR, aborted.to_string()))
        });
        encode::encode_response(self.in_flight.id(), &response)
    }
}
