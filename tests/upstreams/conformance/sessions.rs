//! The SDK's sessions, with one addition: a call of `test_reconnection` gets only the first event
//! of its stream, so that the client must resume the stream.

use std::time::Duration;

use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcRequest, ServerJsonRpcMessage},
    transport::streamable_http_server::{
        SessionId, SessionManager,
        session::{
            ServerSseMessage,
            local::{LocalSessionManager, LocalSessionManagerError},
        },
    },
};
use tokio_stream::{Stream, StreamExt};

pub(crate) struct Sessions(LocalSessionManager);

impl Sessions {
    /// Returns sessions whose streams ask the client to wait for `retry` before it reconnects.
    pub(crate) fn new(retry: Duration) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.sse_retry = Some(retry);
        Self(sessions)
    }
}

/// The result of a method that opens a stream.
type StreamResult<S> = Result<S, LocalSessionManagerError>;

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.0.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.0.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.0.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.0.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> StreamResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let max_events = if calls_test_reconnection(&message) {
            1
        } else {
            usize::MAX
        };
        Ok(self.0.create_stream(id, message).await?.take(max_events))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.0.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> StreamResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.0.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> StreamResult<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.0.resume(id, last_event_id).await
    }
}

fn calls_test_reconnection(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(JsonRpcRequest {
        request: ClientRequest::CallToolRequest(call),
        ..
    }) = message
    else {
        return false;
    };
    call.params.name == "test_reconnection"
}
