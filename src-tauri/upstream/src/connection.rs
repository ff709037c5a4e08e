//! A live connection to a server whose revision is known. Requests are encoded for that revision.

use drawbridge_model::{
    cause::Cause,
    ids::ClientName,
    protocol::{
        Era, Extensions, LogLevel, ProgressToken, ServerHello,
        headers::{self, HeaderParam},
        meta::{self, OutgoingMeta},
    },
};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use drawbridge_jsonrpc::json::RawObject;
use drawbridge_sessions::ClientHandle;
use serde_json::value::RawValue;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    UpstreamError,
    client_extensions::ClientExtensions,
    server_request::{SentRequest, ServerRequest},
};
use crate::transport::{NotSentReason, RpcResponse, Transport, TransportError, TransportRequest};

/// Generates ids for requests to servers. No id is used twice while Drawbridge runs. Cheap to
/// clone.
#[derive(Clone, Default)]
pub(super) struct RequestIds(Arc<AtomicU64>);

impl RequestIds {
    pub(super) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// The extensions of clients that Drawbridge announces to a server.
pub(super) struct DeclaredExtensions {
    clients: ClientExtensions,
    /// The client to which the connection belongs, if the connection is not shared.
    client: Option<ClientName>,
    /// The extensions when the connection was made. A legacy server knows no other extensions.
    declared: Extensions,
}

impl DeclaredExtensions {
    pub(super) fn new(clients: ClientExtensions, client: Option<ClientName>) -> Self {
        let declared = clients.declared_by(client.as_ref());
        Self {
            clients,
            client,
            declared,
        }
    }

    pub(super) fn declared(&self) -> &Extensions {
        &self.declared
    }

    fn current(&self) -> Extensions {
        self.clients.declared_by(self.client.as_ref())
    }
}

/// A connection with a completed handshake.
pub struct Connection {
    transport: Transport,
    pub hello: ServerHello,
    ids: RequestIds,
    /// The lowest level that the server was asked to log, or `None` if it was not asked.
    log_level: Mutex<Option<LogLevel>>,
    /// Whether a server of the modern era has answered a call, or a request for a prompt or a
    /// resource, with a result.
    has_answered: AtomicBool,
    /// Whether a client has sent a request other than for a list. If so, the server may keep state
    /// for the client.
    has_client: AtomicBool,
    extensions: DeclaredExtensions,
    /// Cancelled when the session gives the connection up. The tasks that watch the connection end
    /// then.
    pub(super) released: CancellationToken,
}

impl Connection {
    pub(super) fn new(
        transport: Transport,
        hello: ServerHello,
        ids: RequestIds,
        extensions: DeclaredExtensions,
    ) -> Self {
        Self {
            transport,
            hello,
            ids,
            log_level: Mutex::default(),
            has_answered: AtomicBool::new(false),
            has_client: AtomicBool::new(false),
            extensions,
            released: CancellationToken::new(),
        }
    }

    /// Records that the server has answered a request of this method with a result.
    pub(super) fn record_success(&self, method: &str) {
        if self.era().is_modern()
            && matches!(method, "tools/call" | "prompts/get" | "resources/read")
        {
            self.has_answered.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether a refusal can mean that the server offers the modern revision without
    /// supporting it. Some servers list their tools in that revision, but refuse every call.
    pub(super) fn may_need_initialize(&self) -> bool {
        self.era().is_modern() && !self.has_answered.load(Ordering::Relaxed)
    }

    /// Returns whether a new connection should replace this connection, to tell a server of the
    /// legacy era about more extensions. Returns `false` if state might be lost, because clients
    /// have requested more than lists over this connection.
    pub(super) fn is_outdated(&self) -> bool {
        !self.era().is_modern()
            && !self.has_client.load(Ordering::Relaxed)
            && !self.extensions.declared.include(&self.extensions.current())
    }

    pub fn era(&self) -> Era {
        self.hello.era()
    }

    pub(super) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Returns whether the server has to be asked to log from this level on. If so, stores the
    /// level as the requested level.
    pub(super) fn update_log_level(&self, level: LogLevel) -> bool {
        let mut requested = self
            .log_level
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_lower = requested.is_none_or(|requested| level < requested);
        if is_lower {
            *requested = Some(level);
        }
        is_lower
    }

    /// Sends a request on Drawbridge's own behalf, and returns the answer.
    ///
    /// # Errors
    /// Returns an error if the request cannot be sent, or if no answer arrives within `time_limit`.
    pub async fn request_with_timeout(
        &self,
        method: &str,
        params: &RawValue,
        time_limit: Duration,
    ) -> Result<RpcResponse, UpstreamError> {
        let request = ServerRequest::without_timeout(method, Some(params));
        match timeout(time_limit, self.request(self.ids.next(), &request)).await {
            Ok(response) => Ok(response?),
            Err(_) => Err(UpstreamError::no_answer(time_limit)),
        }
    }

    /// Checks that the server is alive. An answer that is an error is a sign of life, too.
    ///
    /// # Errors
    /// Returns an error if the ping cannot be sent, or if no answer arrives within `time_limit`.
    pub(super) async fn ping(&self, time_limit: Duration) -> Result<(), UpstreamError> {
        let request = ServerRequest::without_timeout("ping", None);
        match timeout(time_limit, self.request(self.ids.next(), &request)).await {
            Ok(response) => Ok(response.map(drop)?),
            Err(_) => Err(UpstreamError::no_answer(time_limit)),
        }
    }

    /// Sends a request under this id and waits for the answer, without a timeout. If the client
    /// asked for progress, the id is the progress token for the server. Dropping the future cancels
    /// the request.
    pub(super) async fn request(
        &self,
        id: u64,
        request: &ServerRequest<'_>,
    ) -> Result<RpcResponse, TransportError> {
        let ServerRequest { method, params, .. } = *request;
        if request.client_handle.is_some() && !method.ends_with("/list") {
            self.has_client.store(true, Ordering::Relaxed);
        }
        let is_modern = self.era().is_modern();
        // Two clients may use the same token, so the server gets Drawbridge's own token.
        let progress_token = request
            .progress_token
            .map(|_| ProgressToken::for_request(id));
        if let Some(span) = request.span {
            let _ = span.sent.set(SentRequest {
                id,
                protocol_version: self.hello.protocol_version.clone(),
                is_pipe: self.transport.is_pipe(),
            });
        }
        if !is_modern && progress_token.is_none() && request.span.is_none() {
            return self
                .transport
                .request(TransportRequest {
                    id,
                    method,
                    params: params.map(RawValue::get),
                    headers: &[],
                })
                .await;
        }
        let unreadable = |error: serde_json::Error| {
            TransportError::NotSent(NotSentReason::Params {
                method: method.to_owned(),
                source: Cause::new(error),
            })
        };
        let client = request.client_handle.map(|handle| &handle.session().hello);
        let own_extensions = (is_modern && client.is_none()).then(|| self.extensions.current());
        let outgoing_meta = OutgoingMeta {
            is_modern,
            client,
            own_extensions: own_extensions.as_ref(),
            capabilities: request.capabilities,
            log_level: request.client_handle.and_then(ClientHandle::log_level),
            progress_token: progress_token.as_ref(),
            trace: request.span.map(|span| span.context),
        };
        let text = meta::add_meta(params, &outgoing_meta).map_err(unreadable)?;
        let headers = if is_modern && self.transport.is_streamable_http() {
            let params = params
                .map(RawObject::parse)
                .transpose()
                .map_err(unreadable)?
                .unwrap_or_default();
            modern_headers(method, &params, request.header_params)
        } else {
            Vec::new()
        };
        self.transport
            .request(TransportRequest {
                id,
                method,
                params: Some(&text),
                headers: &headers,
            })
            .await
    }

    pub async fn close(&self) {
        self.transport.close().await;
    }
}

/// Returns the headers of a request of the modern era.
fn modern_headers(
    method: &str,
    params: &RawObject<'_>,
    header_params: &[HeaderParam],
) -> Vec<(String, String)> {
    let mut request_headers = headers::standard_headers(method, params);
    if let Some(arguments) = params.get("arguments") {
        let values = header_params
            .iter()
            .filter_map(|param| Some((param, headers::param_value(arguments, param)?)));
        request_headers
            .extend(values.map(|(param, value)| (param.header.clone(), headers::encode(&value))));
    }
    request_headers
}
