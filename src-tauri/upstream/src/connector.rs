//! Connects to servers: resolves the secrets of a spec, opens the transport, and performs the
//! handshake.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use drawbridge_client_config::find_literals;
use drawbridge_model::{
    builtin::BuiltIn,
    event::Events,
    ids::{ClientName, ServerId},
    program::{Program, ProgramChange},
    reference::{Reference, list_references},
    spec::{RegisteredServer, ServerSpec},
};
use drawbridge_store::{
    data_dir::DataDir,
    logs::Logs,
    secrets::{Secret, SecretScope, Secrets},
};
use futures_util::future::BoxFuture;
use tokio::{
    io::DuplexStream,
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use super::{
    UnreachableReason, UpstreamError,
    client_extensions::ClientExtensions,
    connection::{Connection, DeclaredExtensions, RequestIds},
    handshake::{self, Negotiation, NegotiationCache},
};
use crate::{
    http::HttpClient,
    oauth::Authorizer,
    transport::{
        EventSender, HttpTarget, HttpTransport, InMemoryTransport, LocalHttpServer, SseTransport,
        StdioTransport, Transport, TransportEvent,
        process::{
            Launch, guard::Guard, program, recording::RecordingSink, sandbox::LaunchSandbox,
            secret_command, usage::UsageMeter,
        },
    },
};

/// The most messages of a server that may wait. A server that sends more is slowed down.
const INBOX_CAPACITY: usize = 256;
/// How long a start may take if the server's program may have to be downloaded first and keeps
/// using CPU time.
const MAX_START: Duration = Duration::from_secs(300);
/// How often the CPU time of the program is read during such a start. A difference of at least
/// [`MIN_CPU_MS`] counts as work.
const CPU_CHECK_INTERVAL: Duration = Duration::from_secs(1);
const MIN_CPU_MS: u64 = 20;

/// Knows, at each start of a server, which secrets and which program a person accepted for the
/// server.
pub trait Acceptances: Send + Sync {
    /// Returns the secrets that a server may use.
    fn secret_scope(&self, server: &ServerId) -> SecretScope;

    /// Checks that a program is the program that a person accepted for the server.
    fn check_program<'a>(
        &'a self,
        server: &'a RegisteredServer,
        program: Program,
    ) -> BoxFuture<'a, Result<(), ProgramChange>>;
}

/// Decides which starts of local servers are recorded, and stores the recorded accesses.
pub trait AccessRecorder: Send + Sync {
    /// Returns the receiver of the accesses of this start's processes, or `None` if the start is
    /// not recorded.
    fn begin(&self, server: &RegisteredServer) -> Option<RecordingSink>;

    /// Records that the latest start of a server has led to a connection.
    fn confirm(&self, server: &RegisteredServer);
}

/// The servers that are part of Drawbridge.
pub trait BuiltIns: Send + Sync {
    /// Serves a session on one end of a pipe, until the other end is closed. `client` is the client
    /// to which the session belongs, or `None` if clients share the session or Drawbridge itself
    /// only reads the lists.
    fn serve(
        &self,
        built_in: BuiltIn,
        client: Option<ClientName>,
        stream: DuplexStream,
    ) -> BoxFuture<'static, ()>;
}

/// Makes connections. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    acceptances: Arc<dyn Acceptances>,
    built_ins: Arc<dyn BuiltIns>,
    events: Events,
    logs: Logs,
    secrets: Secrets,
    authorizer: Authorizer,
    guard: Guard,
    http: HttpClient,
    ids: RequestIds,
    negotiations: NegotiationCache,
    client_extensions: ClientExtensions,
    meter: UsageMeter,
    /// Holds a folder for each server that runs in a sandbox.
    own_folders: PathBuf,
    /// Holds a folder for each server that was added from a bundle.
    bundles: PathBuf,
    /// `None` if no start is recorded.
    recorder: Option<Arc<dyn AccessRecorder>>,
}

/// Receives the progress of a server's start, as text for people.
pub(super) type Progress<'a> = &'a (dyn Fn(String) + Send + Sync);

/// A connection with a completed handshake, and the receiver of its server's messages.
pub struct Connected {
    pub connection: Arc<Connection>,
    pub inbox: mpsc::Receiver<TransportEvent>,
}

impl Connector {
    /// Creates a connector. A server that runs in a sandbox has a folder of its own in the data
    /// folder, and may read the files of its bundle there.
    pub fn new(
        acceptances: Arc<dyn Acceptances>,
        built_ins: Arc<dyn BuiltIns>,
        events: Events,
        logs: Logs,
        secrets: Secrets,
        authorizer: Authorizer,
        (guard, data_dir, recorder): (Guard, &DataDir, Arc<dyn AccessRecorder>),
    ) -> Self {
        Self {
            recorder: Some(recorder),
            own_folders: data_dir.own_folders_dir(),
            bundles: data_dir.bundles_dir(),
            acceptances,
            built_ins,
            events,
            logs,
            secrets,
            authorizer,
            guard,
            http: HttpClient::new(),
            ids: RequestIds::default(),
            negotiations: NegotiationCache::default(),
            client_extensions: ClientExtensions::default(),
            meter: UsageMeter::default(),
        }
    }

    /// Returns a connector that uses other acceptances, for a spec that a person verifies and has
    /// not accepted yet.
    #[must_use]
    pub fn with_acceptances(&self, acceptances: Arc<dyn Acceptances>) -> Self {
        Self {
            acceptances,
            ..self.clone()
        }
    }

    /// Returns a connector for short sessions, which are not recorded.
    #[must_use]
    pub fn without_recorder(&self) -> Self {
        Self {
            recorder: None,
            ..self.clone()
        }
    }

    pub fn events(&self) -> &Events {
        &self.events
    }

    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    pub(super) fn ids(&self) -> &RequestIds {
        &self.ids
    }

    /// Returns the negotiations that have worked before.
    pub fn negotiations(&self) -> &NegotiationCache {
        &self.negotiations
    }

    pub(super) fn client_extensions(&self) -> &ClientExtensions {
        &self.client_extensions
    }

    /// Returns the meter for the servers' usage of CPU and memory.
    pub fn meter(&self) -> &UsageMeter {
        &self.meter
    }

    /// Connects to a server and performs the handshake. Begins with the negotiation that worked
    /// last. Each handshake has the timeout of the spec, or more time if the server's program may
    /// have to be downloaded first.
    ///
    /// `client` is the client to which the session belongs, or `None` if the session is shared. The
    /// server is told of this client's extensions, or of those of all clients. `non_jsonrpc_lines`
    /// counts lines on stdout that are not JSON-RPC. `progress` is told if the start has to wait
    /// for a program that prints a secret, or takes long because the server's program may have to
    /// be downloaded first.
    ///
    /// # Errors
    /// Returns an error if a secret is missing, if the program is not the accepted program, or if
    /// the server cannot be started or reached or does not speak the protocol. The server's
    /// processes have ended by then, except after a timeout of the handshake, when they may end
    /// later.
    pub async fn connect(
        &self,
        server: &RegisteredServer,
        client: Option<&ClientName>,
        non_jsonrpc_lines: Arc<AtomicU32>,
        progress: Progress<'_>,
    ) -> Result<Connected, UpstreamError> {
        let mut negotiation = self.negotiations.negotiation_for(server);
        let mut tried = Vec::new();
        if let Some(program) = printing_program(&server.spec) {
            progress(format!(
                "Starting: waiting for '{program}', which prints a secret of the server. The program may ask you to unlock it"
            ));
        }
        // A program that prints a secret may ask a person to unlock it. The program therefore runs
        // once for each start, however many negotiations the start takes.
        let connector = Self {
            secrets: self.secrets.with_command_cache(),
            ..self.clone()
        };
        loop {
            tried.push(negotiation);
            let (connected, next) = connector
                .try_negotiation(
                    server,
                    client,
                    non_jsonrpc_lines.clone(),
                    negotiation,
                    progress,
                )
                .await;
            let may_try = |next: &Negotiation| {
                !tried.contains(next) && server.spec.protocol_version.is_none()
            };
            match (connected, next.filter(may_try)) {
                (Ok(connected), _) => {
                    self.negotiations
                        .record(server, negotiation, &connected.connection.hello);
                    if let Some(recorder) = &self.recorder {
                        recorder.confirm(server);
                    }
                    return Ok(connected);
                }
                (Err(error), None) => return Err(error.map_text(&|text| self.logs.mask_text(text))),
                (Err(_), Some(next)) => negotiation = next,
            }
        }
    }

    /// Connects with one negotiation. If that fails, also returns the next negotiation that may
    /// work.
    async fn try_negotiation(
        &self,
        server: &RegisteredServer,
        client: Option<&ClientName>,
        non_jsonrpc_lines: Arc<AtomicU32>,
        negotiation: Negotiation,
        progress: Progress<'_>,
    ) -> (Result<Connected, UpstreamError>, Option<Negotiation>) {
        let (events, inbox) = mpsc::channel(INBOX_CAPACITY);
        let events = EventSender::new(events);
        let transport = match self
            .open_transport(server, client, non_jsonrpc_lines, events, negotiation)
            .await
        {
            Ok(transport) => transport,
            Err(error) => return (Err(error), None),
        };
        let time_limit = Duration::from_millis(server.spec.timeouts.initialize_ms.into());
        let extensions = DeclaredExtensions::new(self.client_extensions.clone(), client.cloned());
        let handshake = handshake::perform(
            &transport,
            &self.ids,
            negotiation,
            server.spec.protocol_version.as_deref(),
            extensions.declared(),
        );
        let outcome = self
            .await_start(server, &transport, time_limit, progress, handshake)
            .await;
        match outcome.unwrap_or(Err(handshake::HandshakeError::TimedOut(time_limit))) {
            Ok(hello) => {
                let connection = Arc::new(Connection::new(
                    transport,
                    hello,
                    self.ids.clone(),
                    extensions,
                ));
                (Ok(Connected { connection, inbox }), None)
            }
            Err(failure) => {
                let next = failure.next_negotiation(negotiation, &transport, server.spec.transport);
                // A server that timed out may also be slow to end. Wait for its end only if the
                // next negotiation starts the server again.
                if next.is_some() || !matches!(failure, handshake::HandshakeError::TimedOut(_)) {
                    transport.close().await;
                } else {
                    tokio::spawn(async move { transport.close().await });
                }
                (Err(failure.into()), next)
            }
        }
    }

    /// Returns the output of `awaited`, or `None` if it takes longer than `time_limit`. If the
    /// server's program may have to be downloaded first (`npx` and the like), the time limit
    /// restarts whenever the program has used CPU time. In total, the wait takes at most
    /// [`MAX_START`], or `time_limit` if that is longer.
    async fn await_start<T>(
        &self,
        server: &RegisteredServer,
        transport: &Transport,
        time_limit: Duration,
        progress: Progress<'_>,
        awaited: impl Future<Output = T>,
    ) -> Option<T> {
        let runtime = server
            .spec
            .runtime()
            .filter(|runtime| runtime.may_download());
        let (Some(runtime), Some(pid)) = (runtime, transport.pid()) else {
            return timeout(time_limit, awaited).await.ok();
        };
        let mut awaited = std::pin::pin!(awaited);
        let (began, mut worked_at, mut last_cpu_ms) = (Instant::now(), Instant::now(), 0_u64);
        while worked_at.elapsed() < time_limit && began.elapsed() < MAX_START.max(time_limit) {
            tokio::select! {
                done = &mut awaited => return Some(done),
                () = sleep(CPU_CHECK_INTERVAL.min(time_limit)) => {}
            }
            let cpu_ms = self
                .meter
                .read_usage(vec![pid])
                .await
                .get(&pid)
                .map_or(0, |usage| usage.cpu_ms);
            if cpu_ms.abs_diff(last_cpu_ms) >= MIN_CPU_MS {
                (last_cpu_ms, worked_at) = (cpu_ms, Instant::now());
            }
            if began.elapsed() > 2 * CPU_CHECK_INTERVAL {
                let seconds = began.elapsed().as_secs();
                progress(format!(
                    "Starting: {} is installing the package ({seconds} s). The first start can take a few \
                     minutes",
                    runtime.command()
                ));
            }
        }
        None
    }

    async fn open_transport(
        &self,
        server: &RegisteredServer,
        client: Option<&ClientName>,
        non_jsonrpc_lines: Arc<AtomicU32>,
        events: EventSender,
        negotiation: Negotiation,
    ) -> Result<Transport, UpstreamError> {
        let (id, spec) = (&server.id, &server.spec);
        for literal in find_literals(id.as_str(), spec) {
            for form in [literal.value(), literal.raw()] {
                self.logs.add_secret(&Secret::new(form.to_owned()));
            }
        }
        if let Some(built_in) = spec.builtin {
            let (built_ins, client) = (self.built_ins.clone(), client.cloned());
            return Ok(Transport::InMemory(InMemoryTransport::start(
                id.clone(),
                move |stream| built_ins.serve(built_in, client, stream),
                self.logs.clone(),
                non_jsonrpc_lines,
                events,
            )));
        }
        let url = self.resolve_url(id, spec).await?;
        match (&spec.command, &url) {
            (Some(command), Some(url)) => {
                let launch = self.prepare_recorded_launch(server, command).await?;
                let time_limit = Duration::from_millis(spec.timeouts.initialize_ms.into());
                let local_server =
                    LocalHttpServer::start(id, &launch, url, time_limit, &self.guard, &self.logs)
                        .await?;
                match self
                    .open_url_transport(id, spec, url, events.clone(), negotiation)
                    .await
                {
                    Ok(transport) => Ok(local_server.into_transport(transport, events)),
                    Err(error) => {
                        local_server.stop().await;
                        Err(error)
                    }
                }
            }
            (None, Some(url)) => {
                self.open_url_transport(id, spec, url, events, negotiation)
                    .await
            }
            (command, None) => {
                let command = command
                    .as_deref()
                    .expect("a checked spec has a command or a URL");
                let launch = self.prepare_recorded_launch(server, command).await?;
                let transport = StdioTransport::start(
                    id.clone(),
                    &launch,
                    &self.guard,
                    self.logs.clone(),
                    non_jsonrpc_lines,
                    events,
                );
                Ok(Transport::Stdio(transport.await?))
            }
        }
    }

    /// Returns the URL of a server with its secrets resolved.
    async fn resolve_url(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
    ) -> Result<Option<String>, UpstreamError> {
        let Some(url) = &spec.url else {
            return Ok(None);
        };
        let scope = self.acceptances.secret_scope(id);
        let (url, used) = self.secrets.resolve_url(url, &scope).await?;
        self.mask_secrets(&used);
        Ok(Some(url))
    }

    async fn open_url_transport(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        url: &str,
        events: EventSender,
        negotiation: Negotiation,
    ) -> Result<Transport, UpstreamError> {
        let scope = self.acceptances.secret_scope(id);
        let (headers, used) = self.secrets.resolve(&spec.all_headers(), &scope).await?;
        self.mask_secrets(&used);
        let target = HttpTarget {
            url: url.to_owned(),
            headers,
            bearer: self.authorizer.bearer(id, spec, scope),
        };
        if negotiation == Negotiation::LegacySse {
            let time_limit = Duration::from_millis(spec.timeouts.initialize_ms.into());
            let transport =
                SseTransport::connect(self.http.clone(), &target, time_limit, events).await?;
            return Ok(Transport::Sse(transport));
        }
        let transport = HttpTransport::new(self.http.clone(), &target, events)?;
        Ok(Transport::Http(transport))
    }

    async fn prepare_recorded_launch(
        &self,
        server: &RegisteredServer,
        command: &str,
    ) -> Result<Launch, UpstreamError> {
        let mut launch = self.prepare_launch(server, command).await?;
        let recorder = self.recorder.as_ref();
        launch.recording = recorder.and_then(|recorder| recorder.begin(server));
        Ok(launch)
    }

    /// Checks that the program of a local server is the accepted program, and returns the launch,
    /// with all secrets resolved.
    ///
    /// # Errors
    /// Returns an error if the program is not the accepted program, or if a secret or a variable is
    /// missing.
    pub async fn prepare_launch(
        &self,
        server: &RegisteredServer,
        command: &str,
    ) -> Result<Launch, UpstreamError> {
        let spec = &server.spec;
        if let Some(program) = program::identify_program(spec).await {
            self.acceptances
                .check_program(server, program)
                .await
                .map_err(UnreachableReason::Program)
                .map_err(UpstreamError::Unreachable)?;
        }
        let scope = self.acceptances.secret_scope(&server.id);
        let (env, used) = self.secrets.resolve(&spec.env, &scope).await?;
        self.mask_secrets(&used);
        let (args, used) = self.secrets.resolve_arguments(&spec.args, &scope).await?;
        self.mask_secrets(&used);
        let has_value = |name: &String| env.get(name).is_some_and(|value| !value.trim().is_empty());
        let mut missing = spec.required_env.iter().filter(|name| !has_value(name));
        if let Some(first) = missing.next() {
            let names = [first].into_iter().chain(missing).cloned().collect();
            return Err(UpstreamError::Unreachable(
                UnreachableReason::MissingVariables { names },
            ));
        }
        Ok(Launch {
            command: command.to_owned(),
            args,
            env,
            cwd: spec.cwd.as_ref().map(PathBuf::from),
            sandbox: spec.sandbox.clone().map(|sandbox| LaunchSandbox {
                sandbox,
                own_folder: self.own_folders.join(server.id.as_str()),
                bundle_folder: self.bundles.join(server.id.as_str()),
            }),
            recording: None,
            stop_timeout: Duration::from_millis(spec.timeouts.stop_ms.into()),
        })
    }

    fn mask_secrets(&self, secrets: &[Secret]) {
        secrets
            .iter()
            .for_each(|secret| self.logs.add_secret(secret));
    }
}

/// Returns the name of the first program that has to print a secret for this spec.
fn printing_program(spec: &ServerSpec) -> Option<String> {
    let mut values = spec.values_with_references();
    values.find_map(|text| {
        list_references(text).find_map(|(reference, _)| match reference {
            Reference::Command(command) => Some(secret_command::program_name(command)),
            Reference::Keyring(_) | Reference::Env(_) => None,
        })
    })
}
