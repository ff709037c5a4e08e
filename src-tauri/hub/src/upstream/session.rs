//! The session of one server: the driver of its state machine.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::{sync::mpsc, time::Instant};

use super::{
    ListChanged, UpstreamError,
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
    transport::{FromServer, Link, Reply, message::Incoming},
};

/// One server's session. It outlives its connections.
pub struct ServerSession {
    server: Arc<Registered>,
    linker: Linker,
    list_changed: ListChanged,
    inner: Mutex<Inner>,
    /// Held while it is being started, so that many callers start it once.
    starting: tokio::sync::Mutex<()>,
    noise: Arc<AtomicU32>,
    starts: AtomicU32,
}

struct Inner {
    state: State,
    link: Option<Arc<Link>>,
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
    pub(super) fn new(server: Arc<Registered>, linker: Linker, list_changed: ListChanged) -> Arc<Self> {
        let inner = Inner {
            state: State::Idle,
            link: None,
            hello: ServerHello::default(),
            failure: None,
            reason: String::new(),
            in_use: 0,
            last_used: Instant::now(),
        };
        Arc::new(Self {
            server,
            linker,
            list_changed,
            inner: Mutex::new(inner),
            starting: tokio::sync::Mutex::default(),
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
    pub async fn request(
        self: &Arc<Self>,
        method: &str,
        params: Option<&RawValue>,
        patience: Duration,
    ) -> Result<Reply, UpstreamError> {
        let _used = self.in_use();
        let link = self.link().await?;
        Ok(link.request(method, params, patience).await?)
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

    /// Ends the connection, and returns once the server's processes are gone. A later request begins anew.
    pub async fn close(&self, why: &str) {
        self.step(StateEvent::Close, why.to_owned(), None);
        let link = self.inner().link.take();
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
        // Its end may not have been told yet.
        self.step(StateEvent::Ended, "its connection ended".into(), None);
        let mut effect = self.step(StateEvent::Wanted, "starting".into(), None);
        let mut failure = UpstreamError::Unreachable("it is being stopped".into());
        while let Some(Effect::Start) = effect {
            self.starts.fetch_add(1, Ordering::Relaxed);
            match self.linker.link(&self.server, self.noise.clone()).await {
                Ok(linked) => return self.ready(linked).await,
                Err(error) => failure = error,
            }
            let text = self.linker.logs().masked(&failure.to_string());
            tracing::warn!("server {}: {text}", self.server.id);
            let failed = StateEvent::Failed { for_good: !failure.is_transient() };
            effect = self.step(failed, text, Some(failure.clone()));
            if let Some(Effect::RetryAfter(pause)) = effect {
                tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..1.5))).await;
                effect = self.step(StateEvent::RetryDue, "starting again".into(), Some(failure.clone()));
            }
        }
        Err(failure)
    }

    async fn ready(self: &Arc<Self>, linked: Linked) -> Result<Arc<Link>, UpstreamError> {
        let Linked { link, hello, inbox } = linked;
        {
            let mut inner = self.inner();
            inner.hello = hello;
            inner.last_used = Instant::now();
        }
        self.step(StateEvent::Ready, String::new(), None);
        if !self.is_active() {
            link.close().await;
            return Err(UpstreamError::Unreachable("it was stopped while it started".into()));
        }
        self.inner().link = Some(link.clone());
        tracing::info!("server {}: active", self.server.id);
        tokio::spawn(self.clone().listen(link.clone(), inbox));
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
            self.linker.events().tell(Event::ServerChanged { id: self.server.id.clone() });
        }
        effect
    }

    async fn listen(self: Arc<Self>, link: Arc<Link>, mut inbox: mpsc::Receiver<FromServer>) {
        while let Some(told) = inbox.recv().await {
            match told {
                FromServer::Message(Incoming::Request { id, method, .. }) => {
                    let _ = link.answer(&id, &answer(&method)).await;
                }
                FromServer::Message(Incoming::Notification { method, params }) => {
                    self.notified(&method, params.as_deref())
                }
                FromServer::Ended(how) => return self.ended(&link, how),
            }
        }
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => drop(self.list_changed.send(self.server.id.clone())),
            "notifications/message" => {
                let text = params.map_or("", RawValue::get);
                self.linker.logs().server(&self.server.id, Level::Info, "message", text);
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
        while link.ended().is_none() && self.inner().link.as_ref().is_some_and(|ours| Arc::ptr_eq(ours, &link)) {
            let (in_use, last_used) = {
                let inner = self.inner();
                (inner.in_use > 0, inner.last_used)
            };
            let due = if in_use { Instant::now() + patience } else { last_used + patience };
            if due <= Instant::now() {
                tracing::info!("server {}: ended, as it was idle", self.server.id);
                self.step(StateEvent::IdleTimeout, "ended, as nobody used it".into(), None);
                self.inner().link = None;
                return link.close().await;
            }
            tokio::time::sleep_until(due).await;
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

/// Drawbridge offers servers nothing yet but an answer to `ping`, and says so at `initialize`.
fn answer(method: &str) -> Reply {
    if method == "ping" {
        return Ok(json::raw("{}".into()));
    }
    Err(RpcError::new(code::METHOD_NOT_FOUND, format!("Drawbridge does not offer '{method}'")))
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
