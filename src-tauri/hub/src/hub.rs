//! The hub: one facade over the engine. What a face can do goes through the verbs of [`crate::api`];
//! the endpoint also uses what stands here.

mod retention;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use serde_json::{json, value::RawValue};
use tokio::{
    sync::{broadcast, mpsc},
    task::JoinSet,
    time::Instant,
};
use url::Url;

use crate::{
    access::Access,
    api::{ApiError, health::TransportHealth},
    catalog::{Catalog, KindChanges, Profiles},
    data_dir::DataDir,
    events::Events,
    logs::Logs,
    model::{
        audit::AuditKind,
        capability::Kind,
        event::Event,
        ids::{ClientName, ServerId},
        json::{self, Json},
        rpc::{Reply, RpcError, code},
        spec::Registered,
    },
    oauth::Authorizer,
    pipeline::Pipeline,
    policy::{Drawbridge, Gate, Queue, Rules},
    protocol::{self, ClientHello, headers::Mirrored},
    registry::{Registry, Watch},
    router::Router,
    secrets::{Keyring, Secrets},
    sessions::{Back, ClientSession, ClientSessions, Reach, Rounds, Subscription, Try},
    settings::Settings,
    store::{Journal, Store},
    transport::process::guard::Guard,
    upstream::{Announced, Linker, Mailbox, Pool},
};

/// Everything behind the door.
pub struct Hub {
    pub(crate) data_dir: DataDir,
    pub(crate) events: Events,
    pub(crate) logs: Logs,
    pub(crate) store: Store,
    pub(crate) secrets: Secrets,
    pub(crate) authorizer: Authorizer,
    pub(crate) settings: Settings,
    pub(crate) access: Access,
    pub(crate) sessions: ClientSessions,
    pub(crate) registry: Registry,
    pub(crate) pool: Pool,
    pub(crate) catalog: Catalog,
    pub(crate) rules: Rules,
    pub(crate) queue: Queue,
    pub(crate) drawbridge: Drawbridge,
    pipeline: Pipeline,
    router: Router,
    rounds: Rounds,
    guard: Guard,
    transports: Mutex<Vec<TransportHealth>>,
    watch: Mutex<Option<Watch>>,
    /// Clients whose tokens were refused lately.
    refused: Mutex<BTreeMap<ClientName, Instant>>,
    /// What runs beside the calls, ended with the hub.
    tasks: Mutex<JoinSet<()>>,
    pub(crate) journal: Journal,
}

/// How to open a hub.
#[derive(Clone)]
pub struct HubOptions {
    pub data_dir: PathBuf,
    /// A token that administers over HTTP; none for no such token.
    pub admin_token: Option<String>,
}

impl Hub {
    /// Opens the data folder (made where there is none, 0700), takes its lock, reads the registry and begins to
    /// watch it. Starts no server.
    ///
    /// # Errors
    /// `conflict` with the pid of the hub that has the folder open; `unavailable` where the folder or the
    /// database cannot be used.
    pub async fn open(options: HubOptions) -> Result<Arc<Self>, ApiError> {
        Self::open_with(options, Secrets::new(Keyring)).await
    }

    /// The same with another place for secrets.
    ///
    /// # Errors
    /// See [`Hub::open`].
    pub async fn open_with(options: HubOptions, secrets: Secrets) -> Result<Arc<Self>, ApiError> {
        let data_dir = DataDir::open(options.data_dir)?;
        let events = Events::new();
        let logs = Logs::open(&data_dir.logs(), events.clone()).map_err(|e| {
            ApiError::unavailable(format!(
                "the log in {} cannot be written: {e}",
                data_dir.logs().display()
            ))
        })?;
        logs.install();
        let (store, moved) = Store::open(&data_dir.database()).await?;
        if let Some(file) = moved {
            tracing::error!(
                "the database was corrupt: it is now {}; no remembered rule, client or decision holds",
                file.display()
            );
        }
        let hub = Self::assemble(
            data_dir,
            events,
            logs,
            store,
            secrets,
            options.admin_token.as_deref(),
        )
        .await?;
        tracing::info!(
            "hub {} opened {}",
            env!("CARGO_PKG_VERSION"),
            hub.data_dir().display()
        );
        Ok(hub)
    }

    async fn assemble(
        data_dir: DataDir,
        events: Events,
        logs: Logs,
        store: Store,
        secrets: Secrets,
        admin_token: Option<&str>,
    ) -> Result<Arc<Self>, ApiError> {
        let guard = Guard::new();
        let settings = Settings::load(store.clone()).await?;
        let (changes, spec_changes) = mpsc::unbounded_channel();
        let registry =
            Registry::open(data_dir.servers(), store.clone(), events.clone(), changes).await?;
        let (mailbox, announcements) = Mailbox::new();
        let (authorizer, signed_in) = Authorizer::load(
            secrets.clone(),
            store.clone(),
            settings.clone(),
            events.clone(),
            logs.clone(),
        )
        .await?;
        let linker = Linker::new(
            events.clone(),
            logs.clone(),
            secrets.clone(),
            authorizer.clone(),
            guard.clone(),
        );
        let pool = Pool::new(linker, mailbox.clone());
        let profiles = Profiles::load(store.clone(), events.clone()).await?;
        let (specs, kept) = (registry.clone(), store.clone());
        let catalog = Catalog::load(
            specs,
            pool.clone(),
            kept,
            settings.clone(),
            events.clone(),
            profiles,
        )
        .await?;
        let mut tasks = catalog.follow(mailbox.list_changes);
        let rules = Rules::load(store.clone(), settings.clone(), events.clone()).await?;
        let queue = Queue::new(events.clone());
        let journal = store.journal();
        journal.begin().await?;
        let drawbridge = Drawbridge::new(settings.clone(), events.clone());
        let gate = Gate {
            rules: rules.clone(),
            queue: queue.clone(),
            drawbridge: drawbridge.clone(),
            store: store.clone(),
            journal: journal.clone(),
            settings: settings.clone(),
            events: events.clone(),
            logs: logs.clone(),
        };
        let router = Router::new(registry.clone(), catalog.clone(), pool.clone());
        let hub = Arc::new(Self {
            access: Access::load(store.clone(), events.clone(), admin_token).await?,
            sessions: ClientSessions::new(events.clone()),
            pipeline: Pipeline::new(router.clone(), gate),
            router,
            rounds: Rounds::default(),
            transports: Mutex::default(),
            watch: Mutex::default(),
            refused: Mutex::default(),
            tasks: Mutex::default(),
            journal,
            data_dir,
            events,
            logs,
            store,
            secrets,
            authorizer,
            settings,
            registry,
            pool,
            catalog,
            rules,
            queue,
            drawbridge,
            guard,
        });
        tasks.spawn(follow_specs(Arc::downgrade(&hub), spec_changes));
        tasks.spawn(tell_changes(
            Arc::downgrade(&hub),
            hub.catalog.changed().clone(),
        ));
        tasks.spawn(follow_sign_ins(Arc::downgrade(&hub), signed_in));
        tasks.spawn(retention::keep(hub.journal.clone(), hub.settings.clone()));
        tasks.spawn(pass_on(hub.router.clone(), announcements));
        *hub.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
        hub.watch_specs();
        Ok(hub)
    }

    /// Follows the spec files: what is changed by hand holds at once.
    fn watch_specs(&self) {
        match self.registry.watch() {
            Ok(watch) => *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch),
            Err(error) => {
                tracing::error!(
                    "the spec files are not watched: {error}; restart after changing one by hand"
                )
            }
        }
    }

    /// The specs of these servers have changed: sessions that may not go on end, the catalog follows.
    pub(crate) async fn specs_changed(&self, ids: &[ServerId]) {
        for id in ids {
            match self.registry.get(id) {
                Ok(server) if self.registry.may_run(&server) => {}
                Ok(_) => self.pool.remove(id, "it may not run as it is now").await,
                Err(_) => self.pool.remove(id, "it was removed").await,
            }
        }
        self.catalog.rebuild();
        for id in ids {
            self.events.tell(Event::ServerChanged { id: id.clone() });
        }
    }

    /// Ends a server's session, and reads its tools in a new one where a hub that can run it is there to stay.
    pub(crate) async fn connect_anew(&self, server: &Registered, why: &str) {
        self.pool.remove(&server.id, why).await;
        if self.registry.may_run(server) && self.serves() {
            let (catalog, id) = (self.catalog.clone(), server.id.clone());
            tokio::spawn(async move { catalog.sync(&id).await });
        }
        self.events.tell(Event::ServerChanged {
            id: server.id.clone(),
        });
    }

    pub fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    /// What happens from now on. A receiver that falls behind gets `RecvError::Lagged`.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    pub fn access(&self) -> &Access {
        &self.access
    }

    pub fn sessions(&self) -> &ClientSessions {
        &self.sessions
    }

    /// Whether something is under way that may have no connection: a call, a decision that a person was asked for, or
    /// signing in to a server.
    pub fn has_work(&self) -> bool {
        !self.queue.list().is_empty()
            || self.authorizer.is_signing_in()
            || self
                .sessions
                .all()
                .iter()
                .any(|session| session.has_in_flight())
    }

    /// A client that came over the local socket, where no token is needed: it is made known by its name.
    ///
    /// # Errors
    /// `forbidden` where a client of that name was revoked.
    pub async fn admit_local(&self, name: &ClientName) -> Result<(), ApiError> {
        Ok(self.access.admit_local(name).await?)
    }

    /// A client brought its token where only an administrator may go: noted, at most once a minute for each.
    pub fn refused(&self, client: &ClientName) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.retain(|_, at| at.elapsed() < Duration::from_secs(60));
        if !refused.contains_key(client) {
            refused.insert(client.clone(), Instant::now());
            self.store
                .note(AuditKind::TokenRefused, &json!({ "client": client }));
        }
    }

    /// Opens a client session after `initialize`.
    pub async fn open_session(
        &self,
        client: ClientName,
        hello: ClientHello,
        reach: Reach,
    ) -> Arc<ClientSession> {
        self.note_session(&client, &hello).await;
        self.sessions.open(client, hello, reach)
    }

    /// The session of a client without sessions, as which its requests count.
    pub async fn stateless_session(
        &self,
        client: &ClientName,
        hello: &ClientHello,
        reach: &Reach,
    ) -> Arc<ClientSession> {
        let (session, is_new) = self.sessions.stateless(client, hello, reach);
        if is_new {
            self.note_session(client, hello).await;
        }
        session
    }

    async fn note_session(&self, client: &ClientName, hello: &ClientHello) {
        let software = hello.software();
        if let Err(error) = self.access.seen(client, software.clone()).await {
            tracing::warn!("client {client}: {error}");
        }
        let software = software.as_deref().unwrap_or("unnamed software");
        tracing::info!(
            "client {client}: a session of {software} began, revision {}",
            hello.protocol_version
        );
    }

    /// What a client with that reach is told about the servers, at its beginning.
    pub fn instructions(&self, reach: &Reach) -> Option<String> {
        self.catalog.instructions(reach)
    }

    /// Whether there is such a server, and it may run.
    pub fn has_server(&self, id: &ServerId) -> bool {
        self.registry.runnable(id).is_ok()
    }

    /// The arguments of a tool that a client must repeat in headers.
    pub fn mirrored(&self, client: &ClientName, reach: &Reach, tool: &str) -> Vec<Mirrored> {
        let lists = self.catalog.of_client(client, reach);
        lists
            .find(Kind::Tools, tool)
            .and_then(|tool| tool.definition.mirrored.clone().ok())
            .unwrap_or_default()
    }

    /// Answers a client's request. What belongs to it goes over `back` before its answer. Dropping the future
    /// cancels it.
    ///
    /// # Errors
    /// What the protocol answers with an error: unknown methods and names, bad params, and the server's own errors.
    /// A denial of a call, or a server that failed it, is a result with `isError`.
    pub async fn request(&self, back: &Back, method: &str, params: Option<&RawValue>) -> Reply {
        match method {
            "ping" => Ok(Json::new("{}")),
            // Boxed, each way for itself: otherwise every future around this one is as large as the largest of them.
            "tools/call" => Box::pin(self.pipeline.call(back, params)).await,
            _ => match Kind::ALL
                .into_iter()
                .find(|kind| kind.list_method() == method)
            {
                Some(kind) => {
                    protocol::refuse_cursor(method, params)?;
                    Box::pin(self.catalog.freshen()).await;
                    Ok(self.catalog.of(back.session()).listed(kind).clone())
                }
                None if self.drawbridge.is_raised() => {
                    Err(RpcError::new(code::INTERNAL_ERROR, RAISED))
                }
                None => Box::pin(self.router.pass(back, method, params)).await,
            },
        }
    }

    /// Answers a request of a client without sessions, which may be another try at one that waits for its answers.
    ///
    /// # Errors
    /// As for [`Hub::request`].
    pub async fn request_stateless(self: &Arc<Self>, attempt: Try) -> Reply {
        let method = attempt.method.clone();
        let reply = if method == "server/discover" {
            Ok(protocol::handshake::discover_result(
                self.instructions(&attempt.session.reach).as_deref(),
            )
            .into())
        } else {
            let hub = self.clone();
            let begin = |back: Back, method: String, params: Box<RawValue>| async move {
                hub.request(&back, &method, Some(&params)).await
            };
            self.rounds.play(attempt, begin).await
        };
        protocol::translate::for_modern_client(&method, reply)
    }

    /// Opens what a client without sessions listens to. It is to be closed by whoever opened it.
    ///
    /// # Errors
    /// Where no server has a resource that is asked for.
    pub async fn listen(
        &self,
        client: ClientName,
        hello: ClientHello,
        reach: Reach,
        subscription: Subscription,
    ) -> Result<Arc<ClientSession>, RpcError> {
        let session = self.sessions.listen(client, hello, reach, subscription);
        let back = Back::at_any_time(session.clone());
        let acknowledged = session
            .subscription
            .as_ref()
            .map(|wanted| json::to_raw(&wanted.acknowledged()));
        let resources = session
            .subscription
            .iter()
            .flat_map(|wanted| &wanted.resources);
        for uri in resources {
            if let Err(error) = self.router.subscribe(&back, uri).await {
                self.sessions.close(&session.id);
                return Err(error);
            }
        }
        back.notify(
            "notifications/subscriptions/acknowledged",
            acknowledged.as_deref(),
        );
        Ok(session)
    }

    /// A client's roots have changed: servers with sessions hear of it.
    pub async fn roots_changed(&self) {
        for session in self.pool.active() {
            session
                .notify("notifications/roots/list_changed", None)
                .await;
        }
    }

    /// A call that a person makes by hand: by the same way, with the same policy, as any client's.
    pub(crate) async fn call_by_hand(
        &self,
        name: &str,
        arguments: &serde_json::Value,
    ) -> Result<serde_json::Value, ApiError> {
        let client = ClientName::new(BY_HAND);
        self.admit_local(&client).await?;
        let session = self
            .open_session(client, ClientHello::by_hand(), Reach::All)
            .await;
        let params = json::to_raw(&serde_json::json!({ "name": name, "arguments": arguments }));
        let reply = self
            .request(
                &Back::at_any_time(session.clone()),
                "tools/call",
                Some(&params),
            )
            .await;
        self.sessions.close(&session.id);
        let result = reply.map_err(|error| ApiError::invalid(error.message))?;
        serde_json::from_str(result.get())
            .map_err(|e| ApiError::unavailable(format!("the result cannot be read: {e}")))
    }

    /// What a client sees has changed by its profile: its sessions hear of it.
    pub(crate) fn lists_changed_for(&self, client: &ClientName) {
        for session in self
            .sessions
            .all()
            .into_iter()
            .filter(|session| session.client == *client)
        {
            tell_session(&session, &Kind::ALL.into());
        }
    }

    /// The endpoint says how a listener stands; shown in health, settings and clients' configs.
    pub fn set_transport(&self, transport: TransportHealth) {
        let mut transports = self.transports();
        transports.retain(|known| known.name != transport.name);
        transports.push(transport);
        drop(transports);
        self.events.tell(Event::SettingsChanged);
    }

    pub(crate) fn transports(&self) -> MutexGuard<'_, Vec<TransportHealth>> {
        self.transports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The URL of the endpoint, or nothing where it does not listen.
    pub(crate) fn url(&self) -> Option<String> {
        let transports = self.transports();
        let http = transports
            .iter()
            .find(|transport| transport.name == "http" && transport.listening)?;
        Some(http.address.clone())
    }

    /// Whether an endpoint serves this hub: one that was opened to provision a folder starts nothing by itself.
    pub(crate) fn serves(&self) -> bool {
        !self.transports().is_empty()
    }

    /// Ends every server session and its process tree, and closes the store. What still waits to be written is written.
    pub async fn close(&self) {
        self.watch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .abort_all();
        self.pool.close().await;
        let guard = self.guard.clone();
        let _ = tokio::task::spawn_blocking(move || guard.dismiss()).await;
        tracing::info!("hub ended");
        self.journal.flush().await;
        self.store.close().await;
    }
}

/// What a client is told whose request is no call, where nothing crosses.
const RAISED: &str = "the user has raised the drawbridge, so that nothing crosses";

/// The client that a person is on the command line.
const BY_HAND: &str = "command-line";

/// Applies changed specs as they come, until the hub is gone.
async fn follow_specs(hub: Weak<Hub>, mut changes: mpsc::UnboundedReceiver<Vec<ServerId>>) {
    while let Some(ids) = changes.recv().await {
        let Some(hub) = hub.upgrade() else { return };
        hub.specs_changed(&ids).await;
    }
}

/// Connects servers anew that a person has signed in to.
async fn follow_sign_ins(hub: Weak<Hub>, mut signed_in: mpsc::UnboundedReceiver<Url>) {
    while let Some(url) = signed_in.recv().await {
        let Some(hub) = hub.upgrade() else { return };
        for server in hub.registry.specs().servers.values() {
            let is_there = |text: &String| Url::parse(text).is_ok_and(|theirs| theirs == url);
            if server.spec.url.as_ref().is_some_and(is_there) {
                hub.connect_anew(server, "a person signed in").await;
            }
        }
    }
}

/// Tells every client which lists have changed, at most once a second.
async fn tell_changes(hub: Weak<Hub>, changed: KindChanges) {
    loop {
        changed.wait().await;
        let Some(hub) = hub.upgrade() else { return };
        let kinds = changed.take();
        for session in hub.sessions.all() {
            tell_session(&session, &kinds);
        }
        drop(hub);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Tells a client which of the lists that it listens to have changed.
fn tell_session(session: &Arc<ClientSession>, kinds: &BTreeSet<Kind>) {
    let wanted = |kind: &&Kind| {
        session
            .subscription
            .as_ref()
            .is_none_or(|wanted| wanted.lists.contains(*kind))
    };
    let methods: BTreeSet<_> = kinds
        .iter()
        .filter(wanted)
        .map(|kind| kind.list_changed())
        .collect();
    let back = Back::at_any_time(session.clone());
    methods.iter().for_each(|method| back.notify(method, None));
}

/// Passes on what servers say by themselves.
async fn pass_on(router: Router, mut announcements: mpsc::Receiver<Announced>) {
    while let Some(announced) = announcements.recv().await {
        router.announce(&announced);
    }
}

#[cfg(test)]
mod tests;
