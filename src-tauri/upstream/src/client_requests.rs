//! What stands between a server's request and the client that it is for.

use std::{sync::Arc, time::Duration};

use drawbridge_jsonrpc::rpc::RpcResult;
use drawbridge_model::{protocol::input::InputRequest, spec::RegisteredServer};
use drawbridge_sessions::ClientHandle;
use futures_util::future::BoxFuture;

/// Carries requests of servers to clients, if they are allowed.
pub trait ClientRequestGate: Send + Sync {
    /// Sends a request of a server to a client, and returns the client's answer.
    ///
    /// # Errors
    /// Returns an error if the request is denied, if the client answers with one or does not answer
    /// within `max_wait`.
    fn ask<'a>(
        &'a self,
        server: &'a Arc<RegisteredServer>,
        request: &'a InputRequest,
        handle: &'a ClientHandle,
        max_wait: Duration,
    ) -> BoxFuture<'a, RpcResult>;
}
