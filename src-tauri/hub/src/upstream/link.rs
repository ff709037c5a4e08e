//! Connects to servers: resolves the secrets of a spec, opens the transport, and performs the
//! handshake.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use super::{
    UpstreamError,
    connection::{Connection, Ids},
    handshake::{self, Known, Way},
};
use crate::{
    events::Events,
    http::HttpClient,
    logs::Logs,
    model::{
        ids::ServerId,
        spec::{RegisteredServer, ServerSpec},
    },
    oauth::Authorizer,
    secrets::{Secret, Secrets},
    transport::{
        FromServer, HttpLink, HttpTarget, Link, Served, ServedError, SseError, SseLink, StdioLink,
        ToUpstream,
        process::{Launch, guard::Guard, usage::Meter},
    },
};

/// The most messages of a server that may wait. If a server sends more, it is slowed down.
const INBOX: usize = 256;
/// The longest time for which a program may prepare a server, as long as it uses CPU time.
const LONGEST_START: Duration = Duration::from_secs(300);
/// How often the CPU time of the program is read meanwhile. A difference of at least
/// `LEAST_WORK_MS` counts as work.
const LOOK: Duration = Duration::from_secs(1);
const LEAST_WORK_MS: u64 = 20;

/// Makes connections. Cheap to clone.
#[derive(Clone)]
pub struct Linker {
    events: Events,
    logs: Logs,
    secrets: Secrets,
    authorizer: Authorizer,
    guard: Guard,
    http: HttpClient,
    ids: Ids,
    known: Known,
    meter: Meter,
}

/// Receives the progress of a server's start, as text for people.
pub(super) type Progress<'a> = &'a (dyn Fn(String) + Send + Sync);

/// A connection with a completed handshake, and the receiver of its server's messages.
pub struct Linked {
    pub connection: Arc<Connection>,
    pub inbox: mpsc::Receiver<FromServer>,
}

impl Linker {
    pub fn new(
        events: Events,
        logs: Logs,
        secrets: Secrets,
        authorizer: Authorizer,
        guard: Guard,
    ) -> Self {
        Self {
            events,
            logs,
            secrets,
            authorizer,
            guard,
            http: HttpClient::new(),
            ids: Ids::default(),
            known: Known::default(),
            meter: Meter::default(),
        }
    }

    pub fn events(&self) -> &Events {
        &self.events
    }

    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    pub(super) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Returns the negotiations that have worked before.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Returns the meter for the servers' usage of CPU and memory.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Connects to a server and performs the handshake, within the timeout of the spec. Begins with
    /// the negotiation that worked last. `noise` counts lines on stdout that are not JSON-RPC.
    /// `progress` receives the progress of a start that takes long, if its program may have to be
    /// downloaded first.
    ///
    /// # Errors
    /// Returns an error if a secret is missing, or if the server cannot be reached or does not
    /// speak the protocol. The server's processes are ended then. If the handshake timed out, they
    /// may end after the return.
    pub async fn link(
        &self,
        server: &RegisteredServer,
        noise: Arc<AtomicU32>,
        progress: Progress<'_>,
    ) -> Result<Linked, UpstreamError> {
        let mut way = self.known.way(server);
        let mut tried = Vec::new();
        loop {
            tried.push(way);
            let (linked, next) = self.try_way(server, noise.clone(), way, progress).await;
            let may_try =
                |next: &Way| !tried.contains(next) && server.spec.protocol_version.is_none();
            match (linked, next.filter(may_try)) {
                (Ok(linked), _) => {
                    self.known.note(server, way, &linked.connection.hello);
                    return Ok(linked);
                }
                (Err(error), None) => return Err(error.map_text(|text| self.logs.mask_text(text))),
                (Err(_), Some(next)) => way = next,
            }
        }
    }

    /// Connects with one negotiation. If that fails, also returns the next one that is worth
    /// trying.
    async fn try_way(
        &self,
        server: &RegisteredServer,
        noise: Arc<AtomicU32>,
        way: Way,
        progress: Progress<'_>,
    ) -> (Result<Linked, UpstreamError>, Option<Way>) {
        let (to_upstream, inbox) = mpsc::channel(INBOX);
        let to_upstream = ToUpstream::new(to_upstream);
        let link = match self
            .open(&server.id, &server.spec, noise, to_upstream, way)
            .await
        {
            Ok(link) => link,
            Err(error) => return (Err(error), None),
        };
        let patience = Duration::from_millis(server.spec.timeouts.initialize_ms.into());
        let handshake = handshake::shake(
            &link,
            &self.ids,
            way,
            server.spec.protocol_version.as_deref(),
        );
        let shaken = self
            .in_time(server, &link, patience, progress, handshake)
            .await;
        match shaken.unwrap_or(Err(handshake::Failure::TooSlow(patience))) {
            Ok(hello) => {
                let connection = Arc::new(Connection::new(link, hello, self.ids.clone()));
                (Ok(Linked { connection, inbox }), None)
            }
            Err(failure) => {
                let next = failure.next_way(way, &link, server.spec.transport);
                // A server that timed out may also be slow to end. Wait for its end only if another
                // one is to be started in its place.
                if next.is_some() || !matches!(failure, handshake::Failure::TooSlow(_)) {
                    link.close().await;
                } else {
                    tokio::spawn(async move { link.close().await });
                }
                (Err(failure.into()), next)
            }
        }
    }

    /// Returns the output of `awaited`, or `None` if it takes too long. If the server's program may
    /// have to be downloaded first (`npx` and the like), the timeout begins anew as long as the
    /// program works.
    async fn in_time<T>(
        &self,
        server: &RegisteredServer,
        link: &Link,
        patience: Duration,
        progress: Progress<'_>,
        awaited: impl Future<Output = T>,
    ) -> Option<T> {
        let runtime = server
            .spec
            .runtime()
            .filter(|runtime| runtime.may_download());
        let (Some(runtime), Some(pid)) = (runtime, link.pid()) else {
            return timeout(patience, awaited).await.ok();
        };
        let mut awaited = std::pin::pin!(awaited);
        let (began, mut worked_at, mut worked) = (Instant::now(), Instant::now(), 0_u64);
        while worked_at.elapsed() < patience && began.elapsed() < LONGEST_START.max(patience) {
            tokio::select! {
                done = &mut awaited => return Some(done),
                () = sleep(LOOK.min(patience)) => {}
            }
            let used = self
                .meter
                .measure(vec![pid])
                .await
                .get(&pid)
                .map_or(0, |used| used.cpu_ms);
            if used.abs_diff(worked) >= LEAST_WORK_MS {
                (worked, worked_at) = (used, Instant::now());
            }
            if began.elapsed() > 2 * LOOK {
                let seconds = began.elapsed().as_secs();
                progress(format!(
                    "{} prepares it, {seconds} s so far: a first start may have to fetch it",
                    runtime.command()
                ));
            }
        }
        None
    }

    async fn open(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        noise: Arc<AtomicU32>,
        to_upstream: ToUpstream,
        way: Way,
    ) -> Result<Link, UpstreamError> {
        match (&spec.command, &spec.url) {
            (Some(_), Some(url)) => {
                let launch = self.launch(spec).await?;
                let patience = Duration::from_millis(spec.timeouts.initialize_ms.into());
                let served =
                    Served::start(id, &launch, url, patience, &self.guard, &self.logs).await?;
                match self.open_url(id, spec, url, to_upstream.clone(), way).await {
                    Ok(link) => Ok(served.with(link, to_upstream)),
                    Err(error) => {
                        served.stop().await;
                        Err(error)
                    }
                }
            }
            (None, Some(url)) => self.open_url(id, spec, url, to_upstream, way).await,
            (_, None) => {
                let launch = self.launch(spec).await?;
                let link = StdioLink::start(
                    id.clone(),
                    &launch,
                    &self.guard,
                    self.logs.clone(),
                    noise,
                    to_upstream,
                );
                link.await
                    .map(Link::Stdio)
                    .map_err(|e| UpstreamError::Unreachable(e.to_string()))
            }
        }
    }

    async fn open_url(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        url: &str,
        to_upstream: ToUpstream,
        way: Way,
    ) -> Result<Link, UpstreamError> {
        let (headers, used) = self.secrets.resolve(&spec.all_headers()).await?;
        self.mask(&used);
        let target = HttpTarget {
            url: url.to_owned(),
            headers,
            bearer: self.authorizer.bearer(id, spec),
        };
        if way == Way::LegacySse {
            let patience = Duration::from_millis(spec.timeouts.initialize_ms.into());
            let link = SseLink::connect(self.http.clone(), &target, patience, to_upstream).await;
            return link
                .map(Link::Sse)
                .map_err(|e| no_stream(&e).map_text(|text| self.logs.mask_text(text)));
        }
        HttpLink::new(self.http.clone(), &target, to_upstream)
            .map(Link::Http)
            .map_err(UpstreamError::Unreachable)
    }

    async fn launch(&self, spec: &ServerSpec) -> Result<Launch, UpstreamError> {
        let (env, used) = self.secrets.resolve(&spec.env).await?;
        self.mask(&used);
        Ok(Launch {
            command: spec.command.clone().unwrap_or_default(),
            args: spec.args.clone(),
            env,
            cwd: spec.cwd.as_ref().map(PathBuf::from),
            grace: Duration::from_millis(spec.timeouts.stop_ms.into()),
        })
    }

    fn mask(&self, secrets: &[Secret]) {
        secrets
            .iter()
            .for_each(|secret| self.logs.add_secret(secret));
    }
}

fn no_stream(error: &SseError) -> UpstreamError {
    match error {
        SseError::TimedOut { .. } => UpstreamError::TimedOut(error.to_string()),
        SseError::NeedsSignIn(why) => UpstreamError::NeedsSignIn(why.clone()),
        SseError::Refused(why) => UpstreamError::Unreachable(why.clone()),
    }
}

impl From<ServedError> for UpstreamError {
    fn from(error: ServedError) -> Self {
        match error {
            ServedError::Spawn(error) => Self::Unreachable(error.to_string()),
            ServedError::Ended(_) => Self::Lost(error.to_string()),
            ServedError::Silent { .. } => Self::TimedOut(error.to_string()),
        }
    }
}
