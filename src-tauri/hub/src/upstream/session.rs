//! The session of one server: the driver of its state machine.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::future::try_join_all;
use serde_json::value::RawValue;
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{
    Mailbox, UpstreamError,
    connection::{Asking, Connection},
    following::{self, Wanted},
    in_flight::InFlight,
    link::{Linked, Linker},
    state::{Effect, Event as StateEvent, State},
    visits::Visits,
};
use crate::{
    model::{
        event::Event,
        json::{self, Json, RawObject},
        log::Level,
        rpc::{RpcError, code},
        spec::Registered,
    },
    protocol::{
        Era, LogLevel, ServerHello,
        headers::Mirrored,
        input::{InputRequest, InputRequired, Retry},
        meta, translate,
    },
    random,
    sessions::Back,
    transport::{FromServer, Reply, message::Incoming},
};

/// How long a client may take to answer what a server asks: a person may have to.
const ANSWER: Duration = Duration::from_secs(300);
/// How often a server may ask for more before it answers.
const MAX_ROUNDS: u32 = 16;
const SHORT: Duration = Duration::from_secs(5);

/// A request to a server.
pub struct Outgoing<'a> {
    method: &'a str,
    params: Option<&'a RawValue>,
    patience: Duration,
    back: Option<&'a Back>,
    progress_token: Option<&'a RawValue>,
    mirrored: &'a [Mirrored],
}

impl<'a> Outgoing<'a> {
    pub fn new(method: &'a str, params: Option<&'a RawValue>, patience: Duration) -> Self {
        Self { method, params, patience, back: None, progress_token: None, mirrored: &[] }
    }

    /// For a client: over `back` goes what the server sends meanwhile, progress with the client's token.
    #[must_use]
    pub fn on_behalf_of(self, back: &'a Back, progress_token: Option<&'a RawValue>) -> Self {
        Self { back: Some(back), progress_token, ..self }
    }

    /// With arguments that are repeated outside the body, where the transport and the revision have that.
    #[must_use]
    pub fn repeating(self, mirrored: &'a [Mirrored]) -> Self {
        Self { mirrored, ..self }
    }
}

/// One server's session. It outlives its connections.
pub struct ServerSession {
    server: Arc<Registered>,
    linker: Linker,
    mailbox: Mailbox,
    inner: Mutex<Inner>,
    /// Held while it is being started, so that many callers start it once.
    starting: tokio::sync::Mutex<()>,
    in_flight: InFlight,
    wanted: Arc<Wanted>,
    visits: Visits,
    noise: Arc<AtomicU32>,
    starts: AtomicU32,
}

struct Inner {
    state: State,
    /// For ever: the server was removed, replaced, or the hub is ending. Nothing starts it any more.
    retired: bool,
    connection: Option<Arc<Connection>>,
    /// Live with the connection.
    tasks: JoinSet<()>,
    failure: Option<UpstreamError>,
    reason: String,
    in_use: u32,
    last_used: Instant,
}

/// How a session stands, for the screens.
#[derive(Debug, Clone)]
pub struct Status {
    pub state: State,
    pub reason: String,
    pub failure: Option<UpstreamError>,
    pub pid: Option<u32>,
    pub noise_lines: u32,
    pub starts: u32,
}

impl ServerSession {
    /// A session that is `retired` from the start never starts its server.
    pub(super) fn new(server: Arc<Registered>, linker: Linker, mailbox: Mailbox, retired: bool) -> Arc<Self> {
        let inner = Inner {
            state: State::Idle,
            retired,
            connection: None,
            tasks: JoinSet::new(),
            failure: None,
            reason: String::new(),
            in_use: 0,
            last_used: Instant::now(),
        };
        Arc::new(Self {
            server,
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

    pub fn server(&self) -> &Registered {
        &self.server
    }

    /// Sends a request, starting the server where it does not run. It is never sent twice, unless the server itself
    /// asks for that with `input_required`.
    ///
    /// # Errors
    /// Where the server cannot be started, went away, or did not answer in time.
    pub async fn request(self: &Arc<Self>, outgoing: Outgoing<'_>) -> Result<Reply, UpstreamError> {
        let _used = self.in_use();
        let connection = self.connection().await?;
        if let Some(level) = outgoing.back.and_then(Back::log_level) {
            Box::pin(self.set_level(&connection, level)).await;
        }
        let reply = self.converse(&connection, &outgoing).await;
        reply.map_err(|error| error.map_text(|text| self.linker.logs().masked(text)))
    }

    /// Asks until the answer is final: what a server of the modern era needs is asked of a client with sessions.
    async fn converse(&self, connection: &Connection, outgoing: &Outgoing<'_>) -> Result<Reply, UpstreamError> {
        let Outgoing { method, params, back, .. } = *outgoing;
        // Drawbridge itself understands every server.
        let client = back.map_or(connection.era(), Back::era);
        let mut current = match (client, connection.era()) {
            (Era::Modern, Era::Legacy) => without_retry(params),
            _ => None,
        };
        for _ in 0..MAX_ROUNDS {
            let result = match self.exchange(connection, outgoing, current.as_deref().or(params)).await? {
                Ok(result) => result,
                Err(error) => return Ok(Err(error)),
            };
            let required = translate::must_be_asked(client, connection.era(), &result);
            let (Some(back), Some(required)) = (back, required) else {
                return Ok(Ok(translate::result_between(client, connection.era(), method, result)));
            };
            let answers = match Box::pin(ask_all(back, &required)).await {
                Ok(answers) => answers,
                Err(error) => return Ok(Err(error)),
            };
            current = retry(params, &required, &answers);
        }
        Err(UpstreamError::Protocol("it asks for more input without end".into()))
    }

    async fn exchange(
        &self,
        connection: &Connection,
        outgoing: &Outgoing<'_>,
        params: Option<&RawValue>,
    ) -> Result<Reply, UpstreamError> {
        let Outgoing { method, patience, back, progress_token, mirrored, .. } = *outgoing;
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
            reply = connection.request(asking) => Ok(reply?),
            () = flight.expired(patience) => Err(UpstreamError::no_answer(patience)),
        }
    }

    /// Has a server with sessions log as much as a client wants. Others may want more: it is never told less.
    async fn set_level(&self, connection: &Connection, level: LogLevel) {
        if connection.era() == Era::Legacy && connection.hello.capabilities.logs() && connection.wants_level(level) {
            let params = json::raw(format!(r#"{{"level":"{}"}}"#, level.as_str()));
            let _ = connection.ask("logging/setLevel", &params, SHORT).await;
        }
    }

    /// The same, where the server runs.
    pub async fn log_from(&self, level: LogLevel) {
        if let Some(connection) = self.live() {
            self.set_level(&connection, level).await;
        }
    }

    /// Has the server tell when a resource changes, now and after each start.
    ///
    /// # Errors
    /// As for [`ServerSession::request`].
    pub async fn subscribe(self: &Arc<Self>, uri: &str, outgoing: Outgoing<'_>) -> Result<Reply, UpstreamError> {
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

    /// The opposite. One that does not run is not started for that.
    ///
    /// # Errors
    /// As for [`ServerSession::request`].
    pub async fn unsubscribe(self: &Arc<Self>, uri: &str, outgoing: Outgoing<'_>) -> Result<Reply, UpstreamError> {
        self.wanted.remove(uri);
        match self.live() {
            Some(connection) if connection.era() == Era::Legacy => self.request(outgoing).await,
            _ => Ok(Ok(Json::new("{}"))),
        }
    }

    /// Sends a notification, where the server runs and has sessions.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) {
        if let Some(connection) = self.live().filter(|connection| connection.era() == Era::Legacy) {
            let _ = connection.link().notify(method, params).await;
        }
    }

    /// What the server said of itself, starting it where it does not run.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub async fn hello(self: &Arc<Self>) -> Result<ServerHello, UpstreamError> {
        Ok(self.connection().await?.hello.clone())
    }

    pub fn status(&self) -> Status {
        let inner = self.inner();
        Status {
            state: inner.state,
            reason: inner.reason.clone(),
            failure: inner.failure.clone(),
            pid: inner.connection.as_ref().and_then(|connection| connection.link().pid()),
            noise_lines: self.noise.load(Ordering::Relaxed),
            starts: self.starts.load(Ordering::Relaxed),
        }
    }

    /// Whether it runs now.
    pub fn is_active(&self) -> bool {
        self.inner().state == State::Active
    }

    /// Ends the session for ever, and returns once the server's processes are gone.
    pub async fn retire(&self, why: &str) {
        self.inner().retired = true;
        self.step(StateEvent::Close, why.to_owned(), None);
        let connection = self.inner().take_connection();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// The live connection, made where there is none.
    async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        // In a task of its own: a caller that leaves must not leave a start half done.
        let me = self.clone();
        let started = tokio::spawn(async move { me.start().await });
        started.await.unwrap_or_else(|e| Err(UpstreamError::Unreachable(format!("its start failed: {e}"))))
    }

    fn live(&self) -> Option<Arc<Connection>> {
        self.inner().connection.clone().filter(|connection| connection.link().ended().is_none())
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        let _starting = self.starting.lock().await;
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        if self.inner().retired {
            return Err(stopped());
        }
        // Its end may not have been told yet.
        self.step(StateEvent::Ended, "its connection ended".into(), None);
        let mut effect = self.step(StateEvent::Wanted, "starting".into(), None);
        let mut failure = stopped();
        while let Some(Effect::Start) = effect {
            self.starts.fetch_add(1, Ordering::Relaxed);
            match self.linker.link(&self.server, self.noise.clone()).await {
                Ok(linked) => return self.ready(linked).await,
                Err(error) => failure = error,
            }
            tracing::warn!("server {}: {failure}", self.server.id);
            let failed = StateEvent::Failed { for_good: !failure.is_transient() };
            effect = self.step(failed, failure.to_string(), Some(failure.clone()));
            if let Some(Effect::RetryAfter(pause)) = effect {
                tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..1.5))).await;
                effect = self.step(StateEvent::RetryDue, "starting again".into(), Some(failure.clone()));
            }
        }
        Err(failure)
    }

    async fn ready(self: &Arc<Self>, linked: Linked) -> Result<Arc<Connection>, UpstreamError> {
        let Linked { connection, inbox } = linked;
        let accepted = {
            let mut inner = self.inner();
            let (next, _) = inner.state.on(StateEvent::Ready);
            let accepted = next == State::Active && !inner.retired;
            if accepted {
                inner.state = next;
                inner.reason = String::new();
                inner.failure = None;
                inner.last_used = Instant::now();
                inner.connection = Some(connection.clone());
                // Those of the last connection end with it.
                inner.tasks = JoinSet::new();
                inner.tasks.spawn(self.clone().listen(connection.clone(), inbox));
                let (wanted, ids) = (self.wanted.clone(), self.linker.ids().clone());
                inner.tasks.spawn(following::follow(wanted, connection.clone(), ids));
            }
            accepted
        };
        if !accepted {
            connection.close().await;
            return Err(stopped());
        }
        self.tell();
        tracing::info!("server {}: active", self.server.id);
        tokio::spawn(self.clone().end_when_idle(connection.clone()));
        Ok(connection)
    }

    /// Takes a step of the machine and tells the screens.
    fn step(&self, event: StateEvent, reason: String, failure: Option<UpstreamError>) -> Option<Effect> {
        let mut inner = self.inner();
        let (next, effect) = inner.state.on(event);
        if next != inner.state {
            inner.state = next;
            inner.reason = reason;
            inner.failure = failure;
            drop(inner);
            self.tell();
        }
        effect
    }

    fn tell(&self) {
        self.linker.events().tell(Event::ServerChanged { id: self.server.id.clone() });
    }

    async fn listen(self: Arc<Self>, connection: Arc<Connection>, mut inbox: mpsc::Receiver<FromServer>) {
        while let Some(told) = inbox.recv().await {
            match told {
                FromServer::Message { message: Incoming::Request { id, method, params }, during } => {
                    // In a task of its own: a person may have to answer it, and what follows must not wait.
                    let (me, connection) = (self.clone(), connection.clone());
                    tokio::spawn(async move {
                        let reply = me.answer(InputRequest { method, params }, during).await;
                        let _ = connection.link().answer(&id, &reply).await;
                    });
                }
                FromServer::Message { message: Incoming::Notification { method, params }, during } => {
                    self.notified(&method, params.as_deref(), during);
                }
                FromServer::Ended(how) => return self.ended(&connection, how),
            }
        }
    }

    /// Answers a request of the server's: by the client whose request is in flight.
    async fn answer(&self, request: InputRequest, during: Option<u64>) -> Reply {
        let InputRequest { method, params } = &request;
        if method == "ping" {
            return Ok(Json::new("{}"));
        }
        let nobody = |why: &str| RpcError::new(code::METHOD_NOT_FOUND, format!("nobody can answer '{method}': {why}"));
        let owner = self.in_flight.owner(during);
        let owner = owner.ok_or_else(|| nobody("there is not one client with a request in flight"))?;
        if !owner.back.session().hello.capabilities.can_answer(method, params.as_deref()) {
            return Err(nobody("the client does not offer it"));
        }
        self.visits.note(&request, owner.back.session());
        let _asked = owner.asked();
        owner.back.ask(&request, ANSWER).await
    }

    fn notified(&self, method: &str, params: Option<&RawValue>, during: Option<u64>) {
        match (method, params) {
            (
                "notifications/tools/list_changed"
                | "notifications/prompts/list_changed"
                | "notifications/resources/list_changed",
                _,
            ) => self.mailbox.list_changes.tell(self.server.id.clone()),
            ("notifications/progress", Some(params)) => self.in_flight.progress(params),
            (
                "notifications/resources/updated" | "notifications/tasks/status" | "notifications/tasks",
                Some(params),
            ) => {
                self.mailbox.announce(&self.server.id, method, meta::without_subscription(params));
            }
            ("notifications/subscriptions/acknowledged", Some(params)) => self.wanted.acknowledge(params),
            ("notifications/message", params) => {
                let text = params.map_or("", RawValue::get);
                self.linker.logs().server(&self.server.id, Level::Info, "message", text);
                if let Some(owner) = self.in_flight.owner(during) {
                    owner.back.log(params);
                }
            }
            ("notifications/elicitation/complete", Some(params)) => {
                if let Some(session) = self.visits.done(params) {
                    Back::at_any_time(session).notify(method, Some(params));
                }
            }
            _ => {}
        }
    }

    fn ended(&self, connection: &Arc<Connection>, how: String) {
        let is_ours = {
            let mut inner = self.inner();
            let is_ours = inner.is(connection);
            if is_ours {
                // Its tasks, of which this one may be called, end with the next connection.
                inner.connection = None;
            }
            is_ours
        };
        if is_ours {
            tracing::warn!("server {}: {how}", self.server.id);
            let failure = UpstreamError::Lost(how.clone());
            self.step(StateEvent::Ended, how, Some(failure));
        }
    }

    async fn end_when_idle(self: Arc<Self>, connection: Arc<Connection>) {
        let patience = Duration::from_millis(self.server.spec.timeouts.idle_ms.into());
        loop {
            let due = match self.inner().idle(&connection, patience, !self.wanted.is_empty()) {
                Idle::Gone => return,
                Idle::Until(due) => due,
                Idle::Now => break,
            };
            tokio::time::sleep_until(due).await;
        }
        tracing::info!("server {}: ended, as it was idle", self.server.id);
        self.tell();
        connection.close().await;
    }

    fn in_use(self: &Arc<Self>) -> InUse {
        self.inner().in_use += 1;
        InUse(self.clone())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a connection may still be idle.
enum Idle {
    Until(Instant),
    /// It was, long enough: it is out of the session, and to be closed.
    Now,
    /// It is not the session's any more.
    Gone,
}

impl Inner {
    fn is(&self, connection: &Arc<Connection>) -> bool {
        self.connection.as_ref().is_some_and(|ours| Arc::ptr_eq(ours, connection))
    }

    fn take_connection(&mut self) -> Option<Arc<Connection>> {
        self.tasks.abort_all();
        self.connection.take()
    }

    fn idle(&mut self, connection: &Arc<Connection>, patience: Duration, is_wanted: bool) -> Idle {
        // Asked again at least that much later, so that no patience, however short, spins.
        const PAUSE: Duration = Duration::from_millis(50);
        if connection.link().ended().is_some() || !self.is(connection) {
            return Idle::Gone;
        }
        let now = Instant::now();
        if is_wanted {
            self.last_used = now;
        }
        let due = self.last_used + patience;
        if self.in_use > 0 || due > now {
            return Idle::Until(due.max(now + PAUSE));
        }
        let (next, effect) = self.state.on(StateEvent::IdleTimeout);
        self.state = next;
        self.reason = "ended, as nobody used it".into();
        if effect == Some(Effect::Stop) {
            self.take_connection();
        }
        Idle::Now
    }
}

/// The params without what a client of the modern era sends along with another try; none where there is nothing of it.
fn without_retry(params: Option<&RawValue>) -> Option<Box<RawValue>> {
    let params = params?;
    if !json::mentions(params, "inputResponses") && !json::mentions(params, "requestState") {
        return None;
    }
    let mut object = RawObject::parse(params).ok()?;
    Retry::take(&mut object).ok()?;
    Some(object.to_raw())
}

/// The params with the client's answers.
fn retry(
    params: Option<&RawValue>,
    required: &InputRequired,
    answers: &BTreeMap<String, Box<RawValue>>,
) -> Option<Box<RawValue>> {
    let mut object = RawObject::parse(params?).ok()?;
    required.retry(&mut object, answers);
    Some(object.to_raw())
}

/// Asks a client for all that a server needs.
async fn ask_all(back: &Back, required: &InputRequired) -> Result<BTreeMap<String, Box<RawValue>>, RpcError> {
    let ask = |(key, request): &(String, InputRequest)| {
        let request = translate::for_legacy_asked(request, &random::id());
        let key = key.clone();
        async move {
            if !back.session().hello.capabilities.can_answer(&request.method, request.params.as_deref()) {
                let why = format!("the server asks for '{}', which the client does not offer", request.method);
                return Err(RpcError::new(meta::MISSING_CAPABILITY, why));
            }
            Ok((key, back.ask(&request, ANSWER).await?.to_raw()))
        }
    };
    Ok(try_join_all(required.requests.iter().map(ask)).await?.into_iter().collect())
}

fn stopped() -> UpstreamError {
    UpstreamError::Unreachable("it was stopped".into())
}

/// A request is in flight: the session is not idle.
struct InUse(Arc<ServerSession>);

impl Drop for InUse {
    fn drop(&mut self) {
        let mut inner = self.0.inner();
        inner.in_use -= 1;
        inner.last_used = Instant::now();
    }
}
