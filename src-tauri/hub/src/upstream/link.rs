//! From a spec to a live connection: secrets in their places, the transport, the handshake.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use tokio::{sync::mpsc, time::timeout};

use super::UpstreamError;
use crate::{
    events::Events,
    logs::Logs,
    model::{
        ids::ServerId,
        spec::{Registered, ServerSpec, TransportKind},
    },
    oauth::Authorizer,
    protocol::{self, ServerHello},
    secrets::{Secret, Secrets},
    transport::{
        FromServer, HttpLink, HttpTarget, Link, SseError, SseLink, StdioLink, ToUpstream,
        process::{Launch, guard::Guard},
    },
};

/// Messages of a server that may wait; a server that floods is slowed down.
const INBOX: usize = 256;
const CONNECT: Duration = Duration::from_secs(10);

/// Makes connections. Cheap to clone.
#[derive(Clone)]
pub struct Linker {
    events: Events,
    logs: Logs,
    secrets: Secrets,
    authorizer: Authorizer,
    guard: Guard,
    http: reqwest::Client,
}

/// A connection on which `initialize` is done.
pub struct Linked {
    pub link: Arc<Link>,
    pub hello: ServerHello,
    pub inbox: mpsc::Receiver<FromServer>,
}

impl Linker {
    pub fn new(events: Events, logs: Logs, secrets: Secrets, authorizer: Authorizer, guard: Guard) -> Self {
        crate::install_tls();
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .build()
            .unwrap_or_default();
        Self { events, logs, secrets, authorizer, guard, http }
    }

    pub fn events(&self) -> &Events {
        &self.events
    }

    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Connects and shakes hands, within the spec's time. `noise` counts stdout lines that are no JSON-RPC.
    ///
    /// # Errors
    /// Where a secret is missing, the server cannot be reached, or does not speak the protocol. Nothing
    /// of it is left running then.
    pub async fn link(&self, server: &Registered, noise: Arc<AtomicU32>) -> Result<Linked, UpstreamError> {
        let (to_upstream, inbox) = mpsc::channel(INBOX);
        let link = Arc::new(self.open(&server.id, &server.spec, noise, to_upstream).await?);
        let patience = Duration::from_millis(server.spec.timeouts.initialize_ms.into());
        match timeout(patience, shake_hands(&link, patience)).await.unwrap_or_else(|_| Err(too_slow(patience))) {
            Ok(hello) => Ok(Linked { link, hello, inbox }),
            Err(error) => {
                link.close().await;
                Err(error.map_text(|text| self.logs.masked(text)))
            }
        }
    }

    async fn open(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        noise: Arc<AtomicU32>,
        to_upstream: ToUpstream,
    ) -> Result<Link, UpstreamError> {
        let unreachable = |why: String| UpstreamError::Unreachable(why);
        if let Some(url) = &spec.url {
            let (headers, used) = self.secrets.resolve(&spec.headers).await?;
            self.mask(&used);
            let target = HttpTarget { url: url.clone(), headers, bearer: self.authorizer.bearer(id, spec) };
            if spec.transport == Some(TransportKind::Sse) {
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
        };
        let link = StdioLink::start(id.clone(), &launch, &self.guard, self.logs.clone(), noise, to_upstream).await;
        link.map(Link::Stdio).map_err(|e| unreachable(e.to_string()))
    }

    fn mask(&self, secrets: &[Secret]) {
        secrets.iter().for_each(|secret| self.logs.mask(secret));
    }
}

async fn shake_hands(link: &Link, patience: Duration) -> Result<ServerHello, UpstreamError> {
    let reply = link.request("initialize", Some(&protocol::initialize_params()), patience).await;
    let result = match reply {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => return Err(UpstreamError::Protocol(format!("it refused initialize: {}", error.message))),
        Err(crate::transport::LinkError::TimedOut(_)) => return Err(too_slow(patience)),
        Err(error) => return Err(error.into()),
    };
    let hello = protocol::server_hello(&result).map_err(UpstreamError::Protocol)?;
    link.set_protocol_version(&hello.protocol_version);
    link.notify("notifications/initialized", None).await?;
    Ok(hello)
}

fn no_stream(error: &SseError) -> UpstreamError {
    match error {
        SseError::TimedOut { .. } => UpstreamError::TimedOut(error.to_string()),
        SseError::NeedsSignIn(why) => UpstreamError::NeedsSignIn(why.clone()),
        SseError::Refused(why) => UpstreamError::Unreachable(why.clone()),
    }
}

fn too_slow(patience: Duration) -> UpstreamError {
    UpstreamError::TimedOut(format!("it did not answer initialize within {} s", patience.as_secs_f32()))
}
