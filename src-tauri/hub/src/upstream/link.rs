//! From a spec to a live connection: secrets in their places, the transport, the handshake.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use tokio::{sync::mpsc, time::timeout};

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
        spec::{Registered, ServerSpec},
    },
    oauth::Authorizer,
    secrets::{Secret, Secrets},
    transport::{
        FromServer, HttpLink, HttpTarget, Link, SseError, SseLink, StdioLink, ToUpstream,
        process::{Launch, guard::Guard},
    },
};

/// Messages of a server that may wait; a server that floods is slowed down.
const INBOX: usize = 256;

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
}

/// A connection on which the handshake is done.
pub struct Linked {
    pub connection: Arc<Connection>,
    pub inbox: mpsc::Receiver<FromServer>,
}

impl Linker {
    pub fn new(events: Events, logs: Logs, secrets: Secrets, authorizer: Authorizer, guard: Guard) -> Self {
        Self {
            events,
            logs,
            secrets,
            authorizer,
            guard,
            http: HttpClient::new(),
            ids: Ids::default(),
            known: Known::default(),
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

    /// Which servers speak which revision, as it was seen.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Connects and shakes hands, within the spec's time, in the way that the server knows. `noise` counts stdout
    /// lines that are no JSON-RPC.
    ///
    /// # Errors
    /// Where a secret is missing, the server cannot be reached, or does not speak the protocol. Nothing
    /// of it is left running then.
    pub async fn link(&self, server: &Registered, noise: Arc<AtomicU32>) -> Result<Linked, UpstreamError> {
        let mut way = self.known.way(server);
        let mut tried = Vec::new();
        loop {
            tried.push(way);
            let (linked, next) = self.try_way(server, noise.clone(), way).await;
            match (linked, next.filter(|next| !tried.contains(next))) {
                (Ok(linked), _) => {
                    self.known.note(server, way, &linked.connection.hello);
                    return Ok(linked);
                }
                (Err(error), None) => return Err(error.map_text(|text| self.logs.masked(text))),
                (Err(_), Some(next)) => way = next,
            }
        }
    }

    /// Connects in one way; where that fails, the next one worth trying.
    async fn try_way(
        &self,
        server: &Registered,
        noise: Arc<AtomicU32>,
        way: Way,
    ) -> (Result<Linked, UpstreamError>, Option<Way>) {
        let (to_upstream, inbox) = mpsc::channel(INBOX);
        let link = match self.open(&server.id, &server.spec, noise, to_upstream, way).await {
            Ok(link) => link,
            Err(error) => return (Err(error), None),
        };
        let patience = Duration::from_millis(server.spec.timeouts.initialize_ms.into());
        let shaken = timeout(patience, handshake::shake(&link, &self.ids, way)).await;
        match shaken.unwrap_or(Err(handshake::Failure::TooSlow(patience))) {
            Ok(hello) => {
                let connection = Arc::new(Connection::new(link, hello, self.ids.clone()));
                (Ok(Linked { connection, inbox }), None)
            }
            Err(failure) => {
                let next = failure.next_way(way, &link, server.spec.transport);
                link.close().await;
                (Err(failure.into()), next)
            }
        }
    }

    async fn open(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        noise: Arc<AtomicU32>,
        to_upstream: ToUpstream,
        way: Way,
    ) -> Result<Link, UpstreamError> {
        let unreachable = |why: String| UpstreamError::Unreachable(why);
        if let Some(url) = &spec.url {
            let (headers, used) = self.secrets.resolve(&spec.all_headers()).await?;
            self.mask(&used);
            let target = HttpTarget { url: url.clone(), headers, bearer: self.authorizer.bearer(id, spec) };
            if way == Way::LegacySse {
                let patience = Duration::from_millis(spec.timeouts.initialize_ms.into());
                let link = SseLink::connect(self.http.clone(), &target, patience, to_upstream).await;
                return link.map(Link::Sse).map_err(|e| no_stream(&e).map_text(|text| self.logs.masked(text)));
            }
            return HttpLink::new(self.http.clone(), &target, to_upstream).map(Link::Http).map_err(unreachable);
        }
        let (env, used) = self.secrets.resolve(&spec.env).await?;
        self.mask(&used);
        let launch = Launch {
            command: spec.command.clone().unwrap_or_default(),
            args: spec.args.clone(),
            env,
            cwd: spec.cwd.as_ref().map(PathBuf::from),
            grace: Duration::from_millis(spec.timeouts.stop_ms.into()),
        };
        let link = StdioLink::start(id.clone(), &launch, &self.guard, self.logs.clone(), noise, to_upstream).await;
        link.map(Link::Stdio).map_err(|e| unreachable(e.to_string()))
    }

    fn mask(&self, secrets: &[Secret]) {
        secrets.iter().for_each(|secret| self.logs.mask(secret));
    }
}

fn no_stream(error: &SseError) -> UpstreamError {
    match error {
        SseError::TimedOut { .. } => UpstreamError::TimedOut(error.to_string()),
        SseError::NeedsSignIn(why) => UpstreamError::NeedsSignIn(why.clone()),
        SseError::Refused(why) => UpstreamError::Unreachable(why.clone()),
    }
}
