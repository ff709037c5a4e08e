//! The session of one server, and the requests to it. `driver` drives the state machine, `incoming`
//! handles the messages that the server sends by itself, and `input_required` obtains the input
//! that the server requires.

mod driver;
mod incoming;
mod input_required;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use drawbridge_jsonrpc::json::{self, Json};
use drawbridge_model::{
    ids::ClientName,
    protocol::{Era, LogLevel, ServerHello, translate},
    sandbox::EnforcedSandbox,
    spec::RegisteredServer,
};
use drawbridge_sessions::ClientHandle;
use serde_json::value::RawValue;
use tokio::{task::JoinSet, time::Instant};

use super::{
    ClientRequestGate, SessionEvents, UpstreamError,
    connection::Connection,
    connection_change::ReportedConnection,
    connector::Connector,
    error::ProtocolFault,
    handshake,
    in_flight::RequestTracker,
    server_request::ServerRequest,
    server_subscriptions::DesiredSubscriptions,
    state::{State, StateEvent},
    url_elicitations::UrlElicitations,
};
use crate::transport::RpcResponse;

/// How long a client may take to answer a server's request, which a person may have to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// The most times that a request is sent while its server keeps requiring input.
const MAX_ROUND_TRIPS: u32 = 16;
const SET_LEVEL_TIMEOUT: Duration = Duration::from_secs(5);

/// The session of one server. The session outlives its connections.
pub struct ServerSession {
    server: Arc<RegisteredServer>,
    /// The client to which the session belongs, if the session is not shared.
    client: Option<ClientName>,
    connector: Connector,
    session_events: SessionEvents,
    client_requests: Arc<dyn ClientRequestGate>,
    inner: Mutex<Inner>,
    /// Held while the server is being started, so that concurrent callers start it only once.
    starting: tokio::sync::Mutex<()>,
    in_flight: RequestTracker,
    subscriptions: Arc<DesiredSubscriptions>,
    url_elicitations: UrlElicitations,
    non_jsonrpc_lines: Arc<AtomicU32>,
    starts: AtomicU32,
}

struct Inner {
    state: State,
    /// Whether the session has ended for good, for instance because its spec has changed or the hub
    /// is shutting down. The session never starts the server again.
    retired: bool,
    connection: Option<Arc<Connection>>,
    /// The tasks of the current connection.
    tasks: JoinSet<()>,
    /// The failure that led to the state, if any.
    failure: Option<UpstreamError>,
    /// Why the session is in its state, as text for the screens; may be empty.
    reason: String,
    /// The times of the crashes within the last minute.
    crashes: Vec<Instant>,
    /// The end of the pause after a crash or a failed start. The server is not started before it.
    no_start_before: Option<Instant>,
    /// The number of requests that use the session.
    in_use: u32,
    last_used: Instant,
    reported: ReportedConnection,
}

/// The status of a session, for the screens.
#[derive(Debug, Clone)]
pub struct Status {
    pub state: State,
    /// Why the session is in its state; may be empty.
    pub reason: String,
    /// The failure that led to the state, if any.
    pub failure: Option<UpstreamError>,
    /// How much longer the pause after a crash or a failed start lasts. No request starts the server
    /// during the pause.
    pub retry_after: Option<Duration>,
    pub pid: Option<u32>,
    /// The sandbox as it is enforced, if the server runs in a sandbox.
    pub sandbox: Option<EnforcedSandbox>,
    pub non_jsonrpc_lines: u32,
    /// How often the session has tried to start the server.
    pub starts: u32,
}

impl ServerSession {
    /// Creates a session. A session that is `retired` from the start never starts its server.
    pub(super) fn new(
        server: Arc<RegisteredServer>,
        client: Option<ClientName>,
        connector: Connector,
        session_events: SessionEvents,
        client_requests: Arc<dyn ClientRequestGate>,
        retired: bool,
    ) -> Arc<Self> {
        let inner = Inner {
            state: State::Idle,
            retired,
            connection: None,
            tasks: JoinSet::new(),
            failure: None,
            reason: String::new(),
            crashes: Vec::new(),
            no_start_before: None,
            in_use: 0,
            last_used: Instant::now(),
            reported: ReportedConnection::default(),
        };
        Arc::new(Self {
            server,
            client,
            connector,
            session_events,
            client_requests,
            inner: Mutex::new(inner),
            starting: tokio::sync::Mutex::default(),
            in_flight: RequestTracker::default(),
            subscriptions: Arc::default(),
            url_elicitations: UrlElicitations::default(),
            non_jsonrpc_lines: Arc::default(),
            starts: AtomicU32::new(0),
        })
    }

    pub fn server(&self) -> &RegisteredServer {
        &self.server
    }

    /// Returns whether a server's spec equals the spec of this session in all fields that matter to
    /// a session.
    pub(super) fn matches_spec(&self, server: &RegisteredServer) -> bool {
        let (own, other) = (&self.server.spec, &server.spec);
        self.server.identity == server.identity
            && own.timeouts == other.timeouts
            && own.retries == other.retries
            && own.isolation == other.isolation
            && own.lifecycle == other.lifecycle
            && own.protocol_version == other.protocol_version
    }

    /// Sends a request, and starts the server if it does not run. This session sends the request
    /// again only if the server requires more input (`input_required`), if the server requires that
    /// a person visits URLs, or if the server refused the request because nobody had sent
    /// `initialize`.
    ///
    /// # Errors
    /// Returns an error if the server cannot be started, if its connection ends, if it refuses the
    /// request over HTTP or demands a sign-in, if it does not answer in time, or if it breaks the
    /// protocol.
    pub async fn request(
        self: &Arc<Self>,
        outgoing: ServerRequest<'_>,
    ) -> Result<RpcResponse, UpstreamError> {
        self.end_outdated_connection().await;
        let _in_use = self.mark_in_use();
        let connection = self
            .connect_for(&outgoing)
            .await
            .map_err(UpstreamError::into_not_sent)?;
        if let Some(level) = outgoing.client_handle.and_then(ClientHandle::log_level) {
            Box::pin(self.set_log_level(&connection, level)).await;
        }
        let mut response = self.request_until_final(&connection, &outgoing).await;
        if let Ok(RpcResponse::Error(error)) = &response
            && connection.may_need_initialize()
            && handshake::is_initialize_required(error)
        {
            response =
                Box::pin(self.request_after_initialize(&connection, &outgoing, &error.message))
                    .await;
        }
        response.map_err(|error| error.map_text(&|text| self.connector.logs().mask_text(text)))
    }

    /// Sends a request again after the server refused it for lack of `initialize`, on a new
    /// connection that begins with `initialize`.
    async fn request_after_initialize(
        self: &Arc<Self>,
        refused_on: &Arc<Connection>,
        outgoing: &ServerRequest<'_>,
        message: &str,
    ) -> Result<RpcResponse, UpstreamError> {
        self.connector
            .negotiations()
            .require_initialize(&self.server);
        self.end_connection(
            refused_on,
            format!(
                "Connecting again: the server requires initialize first (\"{}\")",
                self.connector.logs().mask_text(message)
            ),
        )
        .await;
        let connection = self
            .connect_for(outgoing)
            .await
            .map_err(UpstreamError::into_not_sent)?;
        // Have the lists read again, so that the revision is stored with them.
        self.session_events
            .list_changes
            .insert(self.server.id.clone());
        self.request_until_final(&connection, outgoing).await
    }

    /// Sends the request until the answer is final. If a server of the modern era requires input,
    /// asks a client of the legacy era for the input. For clients of both eras, Drawbridge provides
    /// the input that the client cannot provide.
    async fn request_until_final(
        &self,
        connection: &Connection,
        outgoing: &ServerRequest<'_>,
    ) -> Result<RpcResponse, UpstreamError> {
        let ServerRequest {
            method,
            params,
            client_handle,
            ..
        } = *outgoing;
        // Drawbridge's own requests need no translation.
        let client_era = client_handle.map_or(connection.era(), ClientHandle::era);
        let mut retry_params = match (client_era, connection.era()) {
            (Era::Modern, Era::Legacy) => input_required::without_retry_fields(params),
            _ => None,
        };
        for _ in 0..MAX_ROUND_TRIPS {
            let result = match self
                .send_once(connection, outgoing, retry_params.as_deref().or(params))
                .await?
            {
                RpcResponse::Result(result) => result,
                RpcResponse::Error(error) => {
                    // A server that requires URLs to be visited has not processed the request.
                    if Box::pin(self.visit_required_urls(&error, outgoing)).await {
                        continue;
                    }
                    return Ok(RpcResponse::Error(error));
                }
            };
            let required =
                self.find_required_input(client_era, connection.era(), client_handle, &result);
            let (Some(client_handle), Some(required)) = (client_handle, required) else {
                return Ok(RpcResponse::Result(translate::translate_result(
                    client_era,
                    connection.era(),
                    method,
                    result,
                )));
            };
            let answers = match Box::pin(self.ask_all(client_handle, &required, outgoing)).await {
                Ok(answers) => answers,
                Err(error) => return Ok(RpcResponse::Error(error)),
            };
            retry_params = input_required::build_retry_params(params, &required, &answers);
        }
        Err(UpstreamError::Protocol(ProtocolFault::EndlessInput {
            times: MAX_ROUND_TRIPS,
        }))
    }

    async fn send_once(
        &self,
        connection: &Connection,
        outgoing: &ServerRequest<'_>,
        params: Option<&RawValue>,
    ) -> Result<RpcResponse, UpstreamError> {
        let id = self.connector.ids().next();
        let tracked = self.in_flight.register(id, outgoing);
        let capabilities = outgoing
            .client_handle
            .filter(|_| connection.era().is_modern())
            .map(|handle| {
                let own = self.client_requests.own_capabilities(handle.session());
                handle.session().hello.capabilities.with_own(own)
            });
        let request = ServerRequest {
            params,
            capabilities: capabilities.as_deref(),
            ..*outgoing
        };
        tokio::select! {
            biased;
            response = connection.request(id, &request) => {
                let response = response?;
                if matches!(response, RpcResponse::Result(_)) {
                    connection.record_success(request.method);
                }
                Ok(response)
            }
            () = tracked.expired(request.timeouts) => Err(tracked.timeout_error(request.timeouts)),
        }
    }

    /// Asks a server of the legacy era to log from this level on. The server is never asked to log
    /// less, because other clients may want more.
    async fn set_log_level(&self, connection: &Connection, level: LogLevel) {
        if connection.era() == Era::Legacy
            && connection.hello.capabilities.supports_logging()
            && connection.update_log_level(level)
        {
            let params = json::raw(format!(r#"{{"level":"{}"}}"#, level.as_str()));
            let _ = connection
                .request_with_timeout("logging/setLevel", &params, SET_LEVEL_TIMEOUT)
                .await;
        }
    }

    /// Asks the server to log from this level on, if it runs and belongs to the legacy era.
    pub async fn request_log_level(&self, level: LogLevel) {
        if let Some(connection) = self.live_connection() {
            self.set_log_level(&connection, level).await;
        }
    }

    /// Subscribes to the changes of a resource, now and on each new connection. A server of the
    /// modern era that does not acknowledge the subscription in time counts as subscribed.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`ServerSession::request`].
    pub async fn subscribe(
        self: &Arc<Self>,
        uri: &str,
        outgoing: ServerRequest<'_>,
    ) -> Result<RpcResponse, UpstreamError> {
        let connection = (self.connect().await).map_err(UpstreamError::into_not_sent)?;
        if connection.era() == Era::Modern {
            self.subscriptions.add(uri);
            self.subscriptions.wait_until_acknowledged(uri).await;
            return Ok(RpcResponse::Result(Json::new("{}")));
        }
        let response = self.request(outgoing).await?;
        if matches!(response, RpcResponse::Result(_)) {
            self.subscriptions.add(uri);
        }
        Ok(response)
    }

    /// Ends a subscription, without starting a server that does not run.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`ServerSession::request`].
    pub async fn unsubscribe(
        self: &Arc<Self>,
        uri: &str,
        outgoing: ServerRequest<'_>,
    ) -> Result<RpcResponse, UpstreamError> {
        self.subscriptions.remove(uri);
        match self.live_connection() {
            Some(connection) if connection.era() == Era::Legacy => self.request(outgoing).await,
            _ => Ok(RpcResponse::Result(Json::new("{}"))),
        }
    }

    /// Sends a notification, if the server runs and belongs to the legacy era.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) {
        if let Some(connection) = self
            .live_connection()
            .filter(|connection| connection.era() == Era::Legacy)
        {
            let _ = connection.transport().notify(method, params).await;
        }
    }

    /// Returns the server's introduction from the handshake, and starts the server if it does not
    /// run.
    ///
    /// # Errors
    /// Returns an error if the server cannot be started.
    pub async fn hello(self: &Arc<Self>) -> Result<ServerHello, UpstreamError> {
        self.end_outdated_connection().await;
        let connection = (self.connect().await).map_err(UpstreamError::into_not_sent)?;
        Ok(connection.hello.clone())
    }

    pub fn status(&self) -> Status {
        let inner = self.inner();
        Status {
            state: inner.state,
            reason: inner.reason.clone(),
            failure: inner.failure.clone(),
            retry_after: inner
                .no_start_before
                .map(|until| until.saturating_duration_since(Instant::now())),
            pid: inner
                .connection
                .as_ref()
                .and_then(|connection| connection.transport().pid()),
            sandbox: inner
                .connection
                .as_ref()
                .and_then(|connection| connection.transport().sandbox()),
            non_jsonrpc_lines: self.non_jsonrpc_lines.load(Ordering::Relaxed),
            starts: self.starts.load(Ordering::Relaxed),
        }
    }

    /// Returns whether the server runs now.
    pub fn is_active(&self) -> bool {
        self.inner().state == State::Active
    }

    /// Ends the session for good, and returns once the server's processes are gone. If the server
    /// is just being started, returns at once, and the connection is closed after the handshake.
    pub async fn retire(&self, reason: &str) {
        self.inner().retired = true;
        self.step(StateEvent::Close, format!("Stopped: {reason}"), None);
        let connection = self.inner().take_connection();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    fn mark_in_use(self: &Arc<Self>) -> InUseGuard {
        self.inner().in_use += 1;
        InUseGuard(self.clone())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks the session as in use while a request is in flight.
struct InUseGuard(Arc<ServerSession>);

impl Drop for InUseGuard {
    fn drop(&mut self) {
        let mut inner = self.0.inner();
        inner.in_use -= 1;
        inner.last_used = Instant::now();
    }
}
