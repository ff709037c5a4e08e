//! The session of one server: the driver of its state machine.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::{sync::mpsc, task::AbortHandle, time::Instant};

use super::{
    Mailbox, UpstreamError,
    in_flight::InFlight,
    link::{Linked, Linker},
    state::{Effect, Event as StateEvent, State},
};
use crate::{
    model::{
        event::Event,
        json,
        log::Level,
        rpc::{RpcError, code},
        spec::Registered,
    },
    protocol::ServerHello,
    sessions::Back,
    transport::{FromServer, Link, Reply, message::Incoming},
};

/// How long a client may take to answer what a server asks: a person may have to.
const ANSWER: Duration = Duration::from_secs(300);

/// A request to a server.
pub struct Outgoing<'a> {
    method: &'a str,
    params: Option<&'a RawValue>,
    patience: Duration,
    back: Option<&'a Back>,
    progress_token: Option<&'a RawValue>,
}

impl<'a> Outgoing<'a> {
    pub fn new(method: &'a str, params: Option<&'a RawValue>, patience: Duration) -> Self {
        Self { method, params, patience, back: None, progress_token: None }
    }

    /// For a client: over `back` goes what the server sends meanwhile, progress with the client's token.
    #[must_use]
    pub fn on_behalf_of(self, back: &'a Back, progress_token: Option<&'a RawValue>) -> Self {
        Self { back: Some(back), progress_token, ..self }
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
    noise: Arc<AtomicU32>,
    starts: AtomicU32,
}

struct Inner {
    state: State,
    /// For ever: the server was removed, replaced, or the hub is ending. Nothing starts it any more.
    retired: bool,
    link: Option<Arc<Link>>,
    /// Listens to the link.
    listener: Option<AbortHandle>,
    hello: ServerHello,
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
            link: None,
            listener: None,
            hello: ServerHello::default(),
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
            noise: Arc::default(),
            starts: AtomicU32::new(0),
        })
    }

    pub fn server(&self) -> &Registered {
        &self.server
    }

    /// Sends a request, starting the server where it does not run. It is never sent twice.
    ///
    /// # Errors
    /// Where the server cannot be started, went away, or did not answer in time.
    pub async fn request(self: &Arc<Self>, outgoing: Outgoing<'_>) -> Result<Reply, UpstreamError> {
        let Outgoing { method, params, patience, back, progress_token } = outgoing;
        let _used = self.in_use();
        let link = self.link().await?;
        let flight = back.map(|back| self.in_flight.begin(back, progress_token));
        let with_token = flight.as_ref().filter(|_| progress_token.is_some()).map(|flight| flight.with_token(params));
        let reply = link.request(method, with_token.as_deref().or(params), patience).await;
        reply.map_err(|error| UpstreamError::from(error).map_text(|text| self.linker.logs().masked(text)))
    }

    /// Sends a notification, where the server runs.
    pub async fn notify(&self, method: &str, params: Option<&RawValue>) {
        if let Some(link) = self.live() {
            let _ = link.notify(method, params).await;
        }
    }

    /// What the server said of itself at `initialize`, starting it where it does not run.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub async fn hello(self: &Arc<Self>) -> Result<ServerHello, UpstreamError> {
        self.link().await?;
        Ok(self.inner().hello.clone())
    }

    pub fn status(&self) -> Status {
        let inner = self.inner();
        Status {
            state: inner.state,
            reason: inner.reason.clone(),
            failure: inner.failure.clone(),
            pid: inner.link.as_ref().and_then(|link| link.pid()),
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
        let link = self.inner().take_link();
        if let Some(link) = link {
            link.close().await;
        }
    }

    /// The live connection, made where there is none.
    async fn link(self: &Arc<Self>) -> Result<Arc<Link>, UpstreamError> {
        if let Some(link) = self.live() {
            return Ok(link);
        }
        // In a task of its own: a caller that leaves must not leave a start half done.
        let me = self.clone();
        let started = tokio::spawn(async move { me.start().await });
        started.await.unwrap_or_else(|e| Err(UpstreamError::Unreachable(format!("its start failed: {e}"))))
    }

    fn live(&self) -> Option<Arc<Link>> {
        self.inner().link.clone().filter(|link| link.ended().is_none())
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Link>, UpstreamError> {
        let _starting = self.starting.lock().await;
        if let Some(link) = self.live() {
            return Ok(link);
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

    async fn ready(self: &Arc<Self>, linked: Linked) -> Result<Arc<Link>, UpstreamError> {
        let Linked { link, hello, inbox } = linked;
        let accepted = {
            let mut inner = self.inner();
            let (next, _) = inner.state.on(StateEvent::Ready);
            let accepted = next == State::Active && !inner.retired;
            if accepted {
                inner.state = next;
                inner.reason = String::new();
                inner.failure = None;
                inner.hello = hello;
                inner.last_used = Instant::now();
                inner.link = Some(link.clone());
                inner.listener = Some(tokio::spawn(self.clone().listen(link.clone(), inbox)).abort_handle());
            }
            accepted
        };
        if !accepted {
            link.close().await;
            return Err(stopped());
        }
        self.tell();
        tracing::info!("server {}: active", self.server.id);
        tokio::spawn(self.clone().end_when_idle(link.clone()));
        Ok(link)
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

    async fn listen(self: Arc<Self>, link: Arc<Link>, mut inbox: mpsc::Receiver<FromServer>) {
        while let Some(told) = inbox.recv().await {
            match told {
                FromServer::Message(Incoming::Request { id, method, params }) => {
                    // In a task of its own: a person may have to answer it, and what follows must not wait.
                    let (me, link) = (self.clone(), link.clone());
                    tokio::spawn(async move {
                        let reply = me.answer(&method, params.as_deref()).await;
                        let _ = link.answer(&id, &reply).await;
                    });
                }
                FromServer::Message(Incoming::Notification { method, params }) => {
                    self.notified(&method, params.as_deref())
                }
                FromServer::Ended(how) => return self.ended(&link, how),
            }
        }
    }

    /// Answers a request of the server's: by the client whose request is in flight.
    async fn answer(&self, method: &str, params: Option<&RawValue>) -> Reply {
        if method == "ping" {
            return Ok(json::raw("{}".into()));
        }
        let nobody = |why: &str| RpcError::new(code::METHOD_NOT_FOUND, format!("nobody can answer '{method}': {why}"));
        let back = self.in_flight.owner();
        let back = back.ok_or_else(|| nobody("there is not one client with a request in flight"))?;
        if !back.session().capabilities.can_answer(method) {
            return Err(nobody("the client does not offer it"));
        }
        back.ask(method, params, ANSWER).await
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => self.mailbox.list_changes.tell(self.server.id.clone()),
            "notifications/progress" => params.into_iter().for_each(|params| self.in_flight.progress(params)),
            "notifications/resources/updated" => self.mailbox.updated(&self.server.id, params),
            "notifications/message" => {
                let text = params.map_or("", RawValue::get);
                self.linker.logs().server(&self.server.id, Level::Info, "message", text);
                if let Some(back) = self.in_flight.owner() {
                    back.notify(method, params);
                }
            }
            _ => {}
        }
    }

    fn ended(&self, link: &Arc<Link>, how: String) {
        let is_ours = {
            let mut inner = self.inner();
            let is_ours = inner.link.as_ref().is_some_and(|ours| Arc::ptr_eq(ours, link));
            if is_ours {
                inner.link = None;
                inner.listener = None;
            }
            is_ours
        };
        if is_ours {
            tracing::warn!("server {}: {how}", self.server.id);
            let failure = UpstreamError::Lost(how.clone());
            self.step(StateEvent::Ended, how, Some(failure));
        }
    }

    async fn end_when_idle(self: Arc<Self>, link: Arc<Link>) {
        let patience = Duration::from_millis(self.server.spec.timeouts.idle_ms.into());
        loop {
            let due = match self.inner().idle(&link, patience) {
                Idle::Gone => return,
                Idle::Until(due) => due,
                Idle::Now => break,
            };
            tokio::time::sleep_until(due).await;
        }
        tracing::info!("server {}: ended, as it was idle", self.server.id);
        self.tell();
        link.close().await;
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
    fn take_link(&mut self) -> Option<Arc<Link>> {
        if let Some(listener) = self.listener.take() {
            listener.abort();
        }
        self.link.take()
    }

    fn idle(&mut self, link: &Arc<Link>, patience: Duration) -> Idle {
        // Asked again at least that much later, so that no patience, however short, spins.
        const PAUSE: Duration = Duration::from_millis(50);
        if link.ended().is_some() || !self.link.as_ref().is_some_and(|ours| Arc::ptr_eq(ours, link)) {
            return Idle::Gone;
        }
        let now = Instant::now();
        let due = self.last_used + patience;
        if self.in_use > 0 || due > now {
            return Idle::Until(due.max(now + PAUSE));
        }
        let (next, effect) = self.state.on(StateEvent::IdleTimeout);
        self.state = next;
        self.reason = "ended, as nobody used it".into();
        if effect == Some(Effect::Stop) {
            self.take_link();
        }
        Idle::Now
    }
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
