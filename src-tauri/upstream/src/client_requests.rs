//! The gate between the requests of servers and the clients that answer them.

use std::{sync::Arc, time::Duration};

use drawbridge_jsonrpc::rpc::RpcResult;
use drawbridge_model::{
    protocol::{OwnCapabilities, ProgressToken, input::InputRequest},
    spec::RegisteredServer,
};
use drawbridge_sessions::{ClientHandle, ClientSession};
use futures_util::future::BoxFuture;

/// A request of a server to a client.
#[derive(Clone, Copy)]
pub struct ServerQuestion<'a> {
    pub server: &'a Arc<RegisteredServer>,
    pub request: &'a InputRequest,
    pub handle: &'a ClientHandle,
    /// The progress token of the client's request during which the server asks.
    pub progress_token: Option<&'a ProgressToken>,
    pub timeout: Duration,
}

/// Who answers a server's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Respondent {
    Client,
    /// Drawbridge, in place of a client that cannot answer.
    Drawbridge,
}

/// Carries the allowed requests of servers to clients, and answers the requests that a client
/// cannot answer.
pub trait ClientRequestGate: Send + Sync {
    /// Returns who answers a request, or `None` if nobody can.
    fn find_respondent(
        &self,
        request: &InputRequest,
        session: &ClientSession,
    ) -> Option<Respondent>;

    /// Returns which requests Drawbridge can answer in place of a client.
    fn own_capabilities(&self, session: &ClientSession) -> OwnCapabilities;

    /// Returns the answer to a request of a server: from the client, or else from Drawbridge.
    ///
    /// # Errors
    /// Returns an error if the request is denied, if nobody can answer it, or if the answer is an
    /// error or does not arrive within `timeout`.
    fn answer_request<'a>(&'a self, question: ServerQuestion<'a>) -> BoxFuture<'a, RpcResult>;

    /// Returns Drawbridge's answer to a request that is for no particular client, or `None` if
    /// Drawbridge cannot answer it.
    fn answer_request_without_client<'a>(
        &'a self,
        server: &'a Arc<RegisteredServer>,
        request: &'a InputRequest,
    ) -> BoxFuture<'a, Option<RpcResult>>;
}
