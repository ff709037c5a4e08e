//! The session of one server, and the requests to it. `life` drives the state machine, `hearing`
//! handles the messages that the server sends by itself, and `rounds` obtains the input that the
//! server requires.

mod hearing;
mod life;
mod rounds;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::{task::JoinSet, time::Instant};

use super::{
    Mailbox, UpstreamError,
    connection::{Asking, Connection},
    following::Wanted,
    handshake,
    in_flight::InFlight,
    link::Linker,
    state::{Event as StateEvent, State},
    visits::Visits,
};
use crate::{
    model::{
        ids::ClientName,
        json::{self, Json},
        spec::{RegisteredServer, Timeouts},
    },
    protocol::{Era, LogLevel, ServerHello, headers::HeaderParam, translate},
    sessions::Back,
    transport::Reply,
};

/// How long a client may take to answer a server's request: a person may have to answer it.
const ANSWER: Duration = Duration::from_secs(300);
/// How often a server may require more input before it answers.
const MAX_ROUNDS: u32 = 16;
const SHORT: Duration = Duration::from_secs(5);

/// How long an answer may take: without a sign of life, and in total.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub quiet: Duration,
    pub total: Duration,
}

impl Patience {
    /// Returns the timeouts of a request, or of a call of `tool` if it is given.
    pub fn of(timeouts: &Timeouts, tool: Option<&str>) -> Self {
        let quiet = tool
            .and_then(|tool| timeouts.tools.get(tool))
            .copied()
            .unwrap_or(timeouts.call_ms);
        let ms = |ms: u32| Duration::from_millis(ms.into());
        Self {
            quiet: ms(quiet),
            total: ms(timeouts.total_ms.max(quiet)),
        }
    }
}

impl From<Duration> for Patience {
    /// Progress extends the timeout to at most ten times its length.
    fn from(quiet: Duration) -> Self {
        Self {
            quiet,
            total: quiet * 10,
        }
    }
}

/// A request to a server.
pub struct Outgoing<'a> {
    method: &'a str,
    params: Option<&'a RawValue>,
    patience: Patience,
    back: Option<&'a Back>,
    progress_token: Option<&'a RawValue>,
    mirrored: &'a [HeaderParam],
}

impl<'a> Outgoing<'a> {
    pub fn new(
        method: &'a str,
        params: Option<&'a RawValue>,
        patience: impl Into<Patience>,
    ) -> Self {
        Self {
            method,
            params,
            patience: patience.into(),
            back: None,
            progress_token: None,
            mirrored: &[],
        }
    }

    /// Sends the request for a client. `back` receives the messages that the server sends
    /// meanwhile, and progress carries the client's token.
    #[must_use]
    pub fn on_behalf_of(self, back: &'a Back, progress_token: Option<&'a RawValue>) -> Self {
        Self {
            back: Some(back),
            progress_token,
            ..self
        }
    }

    /// Repeats arguments in headers, if the transport and the revision support that.
    #[must_use]
    pub fn repeating(self, mirrored: &'a [HeaderParam]) -> Self {
        Self { mirrored, ..self }
    }
}

/// The session of one server. The session outlives its connections.
pub struct ServerSession {
    server: Arc<RegisteredServer>,
    /// The client that the session belongs to, if the session is not shared.
    client: Option<ClientName>,
    linker: Linker,
    mailbox: Mailbox,
    inner: Mutex<Inner>,
    /// Held while the server is being started, so that concurrent callers start it only once.
    starting: tokio::sync::Mutex<()>,
    in_flight: InFlight,
    wanted: Arc<Wanted>,
    visits: Visits,
    noise: Arc<AtomicU32>,
    starts: AtomicU32,
}

struct Inner {
    state: State,
    /// Whether the session has ended for ever, because the server was removed or replaced, or the
    /// hub is shutting down. Nothing starts the server any more.
    retired: bool,
    connection: Option<Arc<Connection>>,
    /// The tasks of the current connection.
    tasks: JoinSet<()>,
    failure: Option<UpstreamError>,
    reason: String,
    /// The times of the crashes within the last minute.
    crashes: Vec<Instant>,
    /// The end of the pause, during which the server is not started.
    paused_until: Option<Instant>,
    in_use: u32,
    last_used: Instant,
}

/// The status of a session, for the screens.
#[derive(Debug, Clone)]
pub struct Status {
    pub state: State,
    pub reason: String,
    pub failure: Option<UpstreamError>,
    /// How long the server is not started yet, even if somebody needs it.
    pub left_alone: Option<Duration>,
    pub pid: Option<u32>,
    pub noise_lines: u32,
    pub starts: u32,
}

impl ServerSession {
    /// Creates a session. If it is `retired` from the start, it never starts its server.
    pub(super) fn new(
        server: Arc<RegisteredServer>,
        client: Option<ClientName>,
        linker: Linker,
        mailbox: Mailbox,
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
            paused_until: None,
            in_use: 0,
            last_used: Instant::now(),
        };
        Arc::new(Self {
            server,
            client,
            linker,
            mailbox,
            inner: Mutex::new(inner),
            starting: tokio::sync::Mutex::default(),
            in_flight: InFlight::default(),
            wanted: Arc::default(),
            visits: Visits::default(),
            noise: Arc::default(),
            starts: AtomicU32::new(0),
        })
    }

    pub fn server(&self) -> &RegisteredServer {
        &self.server
    }

    /// Returns whether the session was made from this spec, apart from fields that do not matter to
    /// a session.
    pub(super) fn is_of(&self, server: &RegisteredServer) -> bool {
        let (now, made_from) = (&server.spec, &self.server.spec);
        self.server.identity == server.identity
            && now.timeouts == made_from.timeouts
            && now.retries == made_from.retries
            && now.isolation == made_from.isolation
            && now.lifecycle == made_from.lifecycle
            && now.protocol_version == made_from.protocol_version
    }

    /// Sends a request, and starts the server if it does not run. The request is sent again only if
    /// the server requires more input (`input_required`), or if it refused the request because
    /// nobody had sent `initialize`.
    ///
    /// # Errors
    /// Returns an error if the server cannot be started, its connection ends, or it does not answer
    /// in time.
    pub async fn request(self: &Arc<Self>, outgoing: Outgoing<'_>) -> Result<Reply, UpstreamError> {
        let _used = self.in_use();
        let connection = self
            .connection_for(&outgoing)
            .await
            .map_err(UpstreamError::before_sending)?;
        if let Some(level) = outgoing.back.and_then(Back::log_level) {
            Box::pin(self.set_level(&connection, level)).await;
        }
        let mut reply = self.converse(&connection, &outgoing).await;
        if let Ok(Err(error)) = &reply
            && connection.may_need_initialize()
            && handshake::asks_for_initialize(error)
        {
            reply = Box::pin(self.request_after_initialize(&connection, &outgoing, &error.message))
                .await;
        }
        reply.map_err(|error| error.map_text(|text| self.linker.logs().mask_text(text)))
    }

    /// Sends a request again after the server refused it for lack of `initialize`, on a new
    /// connection that begins with `initialize`.
    async fn request_after_initialize(
        self: &Arc<Self>,
        refused_on: &Arc<Connection>,
        outgoing: &Outgoing<'_>,
        why: &str,
    ) -> Result<Reply, UpstreamError> {
        self.linker.known().needs_initialize(&self.server);
        self.end_for_now(
            refused_on,
            format!("it wants initialize first ({why}): starting again with that"),
        )
        .await;
        let connection = self
            .connection_for(outgoing)
            .await
            .map_err(UpstreamError::before_sending)?;
        // Have the lists read again, so that the revision is stored with them.
        self.mailbox.list_changes.tell(self.server.id.clone());
        self.converse(&connection, outgoing).await
    }

    /// Sends the request until the answer is final. If a server of the modern era requires input, a
    /// client of the legacy era is asked for it.
    async fn converse(
        &self,
        connection: &Connection,
        outgoing: &Outgoing<'_>,
    ) -> Result<Reply, UpstreamError> {
        let Outgoing {
            method,
            params,
            back,
            ..
        } = *outgoing;
        // Drawbridge's own requests need no translation.
        let client = back.map_or(connection.era(), Back::era);
        let mut current = match (client, connection.era()) {
            (Era::Modern, Era::Legacy) => rounds::without_retry(params),
            _ => None,
        };
        for _ in 0..MAX_ROUNDS {
            let result = match self
                .exchange(connection, outgoing, current.as_deref().or(params))
                .await?
            {
                Ok(result) => result,
                Err(error) => return Ok(Err(error)),
            };
            let required = translate::needs_client_input(client, connection.era(), &result);
            let (Some(back), Some(required)) = (back, required) else {
                return Ok(Ok(translate::translate_result(
                    client,
                    connection.era(),
                    method,
                    result,
                )));
            };
            let answers = match Box::pin(rounds::ask_all(back, &required)).await {
                Ok(answers) => answers,
                Err(error) => return Ok(Err(error)),
            };
            current = rounds::retry(params, &required, &answers);
        }
        Err(UpstreamError::Protocol(
            "it asks for more input without end".into(),
        ))
    }

    async fn exchange(
        &self,
        connection: &Connection,
        outgoing: &Outgoing<'_>,
        params: Option<&RawValue>,
    ) -> Result<Reply, UpstreamError> {
        let Outgoing {
            method,
            patience,
            back,
            progress_token,
            mirrored,
            ..
        } = *outgoing;
        let id = self.linker.ids().next();
        let flight = self.in_flight.begin(id, back, progress_token);
        let asking = Asking {
            id,
            method,
            params,
            wants_progress: progress_token.is_some(),
            client: back.map(|back| &back.session().hello),
            log_level: back.and_then(Back::log_level),
            mirrored,
        };
        tokio::select! {
            biased;
            reply = connection.request(asking) => {
                let reply = reply?;
                if reply.is_ok() {
                    connection.note_answered(method);
                }
                Ok(reply)
            }
            () = flight.expired(patience) => Err(flight.too_slow(patience)),
        }
    }

    /// Asks a server of the legacy era to log from this level on. The server is never asked to log
    /// less, because other clients may want more.
    async fn set_level(&self, connection: &Connection, level: LogLevel) {
        if connection.era() == Era::Legacy
            && connection.hello.capabilities.supports_logging()
            && connection.wants_level(level)
        {
            let params = json::raw(format!(r#"{{"level":"{}"}}"#, level.as_str()));
            let _ = connection.ask("logging/setLevel", &params, SHORT).await;
        }
    }

    /// Asks the server to log from this level on, if it runs.
    pub async fn log_from(&self, level: LogLevel) {
        if let Some(connection) = self.live() {
            self.set_level(&connection, level).await;
        }
    }

    /// Subscribes to the changes of a resource, now and after each start.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`ServerSession::request`].
    pub async fn subscribe(
        self: &Arc<Self>,
        uri: &str,
        outgoing: Outgoing<'_>,
    ) -> Result<Reply, UpstreamError> {
        let connection = self.connection().await?;
        if connection.era() == Era::Modern {
            self.wanted.add(uri);
            self.wanted.told(uri).await;
            return Ok(Ok(Json::new("{}")));
        }
        let reply = self.request(outgoing).await?;
        if reply.is_ok() {
            self.wanted.add(uri);
        }
        Ok(reply)
    }

    /// Ends a subscription. If the server does not run, it is not started for that.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`ServerSession::request`].
    pub async fn unsubscribe(
        self: &Arc<Self>,
        uri: &str,
        outgoing: Outgoing<'_>,
    ) -> Result<Reply, UpstreamError> {
        self.wanted.remove(uri);
        match self.live() {
            Some(connection) if connection.era() == Era::Legacy => self.request(outgoing).await,
            _ => Ok(Ok(Json::new("{}"))),
        }
    }

    /// Sends a notification, if the server runs and belongs to the legacy era.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) {
        if let Some(connection) = self
            .live()
            .filter(|connection| connection.era() == Era::Legacy)
        {
            let _ = connection.link().notify(method, params).await;
        }
    }

    /// Returns the server's introduction from the handshake, and starts the server if it does not
    /// run.
    ///
    /// # Errors
    /// Returns an error if the server cannot be started.
    pub async fn hello(self: &Arc<Self>) -> Result<ServerHello, UpstreamError> {
        Ok(self.connection().await?.hello.clone())
    }

    pub fn status(&self) -> Status {
        let inner = self.inner();
        Status {
            state: inner.state,
            reason: inner.reason.clone(),
            failure: inner.failure.clone(),
            left_alone: inner
                .paused_until
                .map(|until| until.saturating_duration_since(Instant::now())),
            pid: inner
                .connection
                .as_ref()
                .and_then(|connection| connection.link().pid()),
            noise_lines: self.noise.load(Ordering::Relaxed),
            starts: self.starts.load(Ordering::Relaxed),
        }
    }

    /// Returns whether the server runs now.
    pub fn is_active(&self) -> bool {
        self.inner().state == State::Active
    }

    /// Ends the session for ever, and returns once the server's processes are gone. If the server
    /// is just being started, returns at once: its connection is closed when the handshake is done.
    pub async fn retire(&self, why: &str) {
        self.inner().retired = true;
        self.step(StateEvent::Close, why.to_owned(), None);
        let connection = self.inner().take_connection();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    fn in_use(self: &Arc<Self>) -> InUse {
        self.inner().in_use += 1;
        InUse(self.clone())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks the session as in use while a request is in flight.
struct InUse(Arc<ServerSession>);

impl Drop for InUse {
    fn drop(&mut self) {
        let mut inner = self.0.inner();
        inner.in_use -= 1;
        inner.last_used = Instant::now();
    }
}
