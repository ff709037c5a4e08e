//! The hub: one facade over the engine. Front ends use the verbs of [`crate::api`]; the endpoint
//! also uses the methods of this file.

mod client_files;
mod client_uses;
pub(crate) mod disk_space;
mod docling;
#[cfg(target_os = "linux")]
mod idle_memory;
pub mod methods;
mod pairing;
mod refusals;
mod retention;
mod spec_record;
mod token_usage;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use drawbridge_client_config::Connection;
use drawbridge_jsonrpc::{
    json,
    rpc::{RpcError, RpcResult},
};
use drawbridge_model::{
    allowed_host::AllowedHost,
    audit::AuditKind,
    builtin::BuiltIn,
    capability::CapabilityKind,
    clock,
    event::{Event, Events},
    ids::{ClientName, ServerId, Timestamp},
    listener::ListenerHealth,
    protocol::{self, ClientHello, Era, handshake::ServersIntroduction, headers::HeaderParam},
    spec::{RegisteredServer, ServerSpec},
};
use drawbridge_sessions::{
    ClientHandle, ClientRequest, ClientScope, ClientSession, ClientSessions, ParkedRequests,
    StatelessRequest, TooManyOpened,
};
use drawbridge_store::{
    Journal, Store, StoreError, crashes,
    data_dir::DataDir,
    logs::Logs,
    secrets::{Secret, Secrets},
    settings::Settings,
};
use drawbridge_upstream::{
    Connector, DirtySet, Pool, ServerNotification, SessionEvents,
    oauth::Authorizer,
    transport::process::{guard::Guard, secret_command::SecretCommandRunner},
};
use futures_util::future::BoxFuture;
use serde_json::{json, value::RawValue};
use tokio::{
    sync::{broadcast, mpsc, watch},
    task::JoinSet,
    time::Instant,
};
use url::Url;

use crate::{
    access::{Access, AccessError, BrowserToken, WebUiAddress},
    access_reports::AccessReports,
    builtin::BuiltInServers,
    catalog::{Catalog, KindChange, KindChanges, Profiles},
    clients::{self, configs::ClientConfigs},
    error::ApiError,
    hooks::Hooks,
    live_calls::LiveCalls,
    metrics::Metrics,
    pairing::Pairings,
    pipeline::{ClientRequests, Pipeline},
    policy::{Drawbridge, Gate, PolicyEditor, Queue, Rules},
    registry::{
        BrokenFile, Grant, Registry, RegistryError, Specs, Watch, bundle,
        official::OfficialRegistry,
    },
    roots::Roots,
    router::{Router, is_tool_error},
    sampling::Sampling,
    traces::Tracer,
};

use docling::Docling;
use refusals::Refusals;
use spec_record::{ChangedBy, SpecRecord};

/// The engine for one data folder, with its servers, clients, policy and records.
pub struct Hub {
    pub(crate) data_dir: DataDir,
    pub(crate) events: Events,
    pub(crate) logs: Logs,
    pub(crate) store: Store,
    pub(crate) secrets: Secrets,
    pub(crate) sampling: Sampling,
    pub(crate) authorizer: Authorizer,
    pub(crate) settings: Settings,
    pub(crate) access: Arc<Access>,
    pub(crate) access_reports: AccessReports,
    pub(crate) pairings: Pairings,
    pub(crate) sessions: ClientSessions,
    pub(crate) registry: Registry,
    pub(crate) official_registry: OfficialRegistry,
    pub(crate) pool: Pool,
    pub(crate) catalog: Catalog,
    pub(crate) rules: Rules,
    pub(crate) policy_editor: PolicyEditor,
    pub(crate) queue: Queue,
    pub(crate) drawbridge: Drawbridge,
    pub(crate) gate: Gate,
    pub(crate) client_configs: ClientConfigs,
    pub(crate) hooks: Hooks,
    pub(crate) live_calls: LiveCalls,
    pub(crate) metrics: Metrics,
    tracer: Tracer,
    /// When the hub was opened.
    pub(crate) started_at: Timestamp,
    pipeline: Pipeline,
    router: Router,
    parked_requests: ParkedRequests,
    guard: Guard,
    listeners: Mutex<Vec<ListenerHealth>>,
    /// The hosts with which the endpoint was started, besides the hosts in the settings.
    started_with_hosts: OnceLock<Vec<AllowedHost>>,
    spec_record: SpecRecord,
    pub(crate) docling: Arc<Docling>,
    /// The clients whose refusal was recorded within the last minute, with the time of the record.
    recently_refused: Mutex<BTreeMap<ClientName, Instant>>,
    unknown_tokens: Refusals,
    refused_codes: Refusals,
    background: Mutex<Background>,
    pub(crate) journal: Journal,
}

/// The background work that ends with the hub.
#[derive(Default)]
struct Background {
    /// The watch over the spec files.
    _watch: Option<Watch>,
    tasks: JoinSet<()>,
}

/// The options with which to open a hub.
#[derive(Clone)]
pub struct HubOptions {
    pub data_dir: PathBuf,
    /// The token for administration over HTTP, if there is one.
    pub admin_token: Option<String>,
    /// The built-in servers that are disabled until a person enables them.
    pub disabled_built_ins: BTreeSet<BuiltIn>,
}

impl HubOptions {
    /// The variable with the ids of built-in servers, separated by commas, that are disabled until
    /// a person enables them.
    const DISABLED: &str = "DRAWBRIDGE_DISABLED_BUILT_INS";

    /// Returns the options for a data folder, completed from the environment.
    ///
    /// # Errors
    /// Returns an error if the environment names an unknown built-in server (`invalid`).
    pub fn from_env(data_dir: PathBuf, admin_token: Option<String>) -> Result<Self, ApiError> {
        let ids = std::env::var(Self::DISABLED).unwrap_or_default();
        let ids = ids.split(',').map(str::trim).filter(|id| !id.is_empty());
        let find = |id: &str| {
            BuiltIn::from_id(&ServerId::new(id)).ok_or_else(|| {
                let known = BuiltIn::ALL
                    .map(|built_in| built_in.id().to_string())
                    .join(", ");
                ApiError::invalid(format!(
                    "{}: there is no built-in server '{id}'; the built-in servers are {known}",
                    Self::DISABLED
                ))
            })
        };
        Ok(Self {
            data_dir,
            admin_token,
            disabled_built_ins: ids.map(find).collect::<Result<_, _>>()?,
        })
    }
}

/// The setting with the times of the crash reports that existed when a new report was last logged.
const KNOWN_CRASHES: &str = "known_crashes";

/// Logs an internal error of an earlier run if there is a report that is not in [`KNOWN_CRASHES`].
async fn report_new_crashes(data_dir: &DataDir, store: &Store) -> Result<(), ApiError> {
    let reports = crashes::list_reports(data_dir.path()).files;
    let known: Vec<Timestamp> = store.json_setting(KNOWN_CRASHES).await?.unwrap_or_default();
    // The clock may have been ahead, so a report with an earlier time may be new too.
    let Some((_, new)) = reports.iter().find(|(at, _)| !known.contains(at)) else {
        return Ok(());
    };
    tracing::error!(
        "Drawbridge had an internal error; the report is {}. `drawbridge doctor` says what to do.",
        new.display()
    );
    let times: Vec<Timestamp> = reports.iter().map(|(at, _)| *at).collect();
    let times = serde_json::to_string(&times).expect("times are plain data");
    store.set_setting(KNOWN_CRASHES, &times).await?;
    Ok(())
}

impl Hub {
    /// Opens the data folder (creates it with mode 0700 if it is missing), takes its lock, reads
    /// the registry and begins to watch it. Starts no server.
    ///
    /// # Errors
    /// Returns an error if another hub has the folder open (`conflict`, with its pid), or if the
    /// folder or the database cannot be used (`unavailable`).
    pub fn open(options: HubOptions) -> BoxFuture<'static, Result<Arc<Self>, ApiError>> {
        Box::pin(async {
            let secrets = Secrets::open(&options.data_dir);
            Self::open_folder(options, secrets).await
        })
    }

    /// Opens a hub as [`Hub::open`] does, but with the given secret store.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Hub::open`].
    pub fn open_with(
        options: HubOptions,
        secrets: Secrets,
    ) -> BoxFuture<'static, Result<Arc<Self>, ApiError>> {
        // Without the box, the compiler would compile most of the hub again for each crate that
        // awaits the future. The same holds for `close` and `begin_subscription`.
        Box::pin(Self::open_folder(options, secrets))
    }

    async fn open_folder(options: HubOptions, secrets: Secrets) -> Result<Arc<Self>, ApiError> {
        let data_dir = DataDir::open(options.data_dir.clone())?;
        let events = Events::new();
        let logs = Logs::open(&data_dir.logs_dir(), events.clone())
            .map_err(|e| ApiError::unavailable(e.to_string()))?;
        if let Some(token) = &options.admin_token {
            logs.add_secret(&Secret::new(token.clone()));
        }
        logs.install_subscriber();
        crashes::set_destination(data_dir.path(), &logs);
        let (store, moved) = Store::open(&data_dir.database_file()).await?;
        if let Some(file) = moved {
            tracing::error!(
                "the database was corrupt and was moved to {}. Drawbridge begins with an empty database, without your rules, \
                 clients, profiles, hooks, settings, memory and records: quit Drawbridge, and restore a backup with \
                 `drawbridge backup restore FILE.zip` if you have one",
                file.display()
            );
        }
        if let Err(error) = report_new_crashes(&data_dir, &store).await {
            tracing::warn!("cannot tell whether there are new reports of internal errors: {error}");
        }
        let hub = Self::assemble(data_dir, events, logs, store, secrets, options).await?;
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
        options: HubOptions,
    ) -> Result<Arc<Self>, ApiError> {
        let guard = Guard::new();
        let secrets = secrets.with_commands(Arc::new(SecretCommandRunner::new(guard.clone())));
        let settings = Settings::load(store.clone()).await?;
        let spec_changes = DirtySet::default();
        let registry = Registry::open(
            data_dir.servers_dir(),
            store.clone(),
            settings.clone(),
            options.disabled_built_ins,
            events.clone(),
            spec_changes.clone(),
        )
        .await?;
        let journal = store.journal();
        journal.recover().await?;
        let admin_token = options.admin_token.as_deref();
        let access = Access::load(store.clone(), events.clone(), admin_token).await?;
        let access = Arc::new(access);
        let rules = Rules::load(
            store.clone(),
            settings.clone(),
            events.clone(),
            access.clone(),
        )
        .await?;
        let metrics = Metrics::new();
        let tracer = Tracer::new(
            settings.clone(),
            secrets.clone(),
            logs.clone(),
            metrics.clone(),
        );
        let live_calls = LiveCalls::new(events.clone(), logs.clone());
        let queue = Queue::new(events.clone());
        let drawbridge = Drawbridge::new(settings.clone(), events.clone());
        let client_configs = ClientConfigs::load(
            store.clone(),
            secrets.clone(),
            events.clone(),
            data_dir.client_backups_dir(),
        )
        .await?;
        let gate = Gate::new(
            rules.clone(),
            queue.clone(),
            drawbridge.clone(),
            store.clone(),
            settings.clone(),
            client_configs.clone(),
            (
                events.clone(),
                logs.clone(),
                metrics.clone(),
                tracer.clone(),
            ),
        );
        let (session_events, received) = SessionEvents::channel();
        let hooks = Hooks::load(
            store.clone(),
            events.clone(),
            logs.clone(),
            secrets.clone(),
            guard.clone(),
            received.connection_changes,
        )
        .await?;
        let signed_in = DirtySet::default();
        let authorizer = Authorizer::load(
            secrets.clone(),
            store.clone(),
            settings.clone(),
            events.clone(),
            logs.clone(),
            signed_in.clone(),
        )
        .await?;
        let docling = Arc::new(Docling::new(data_dir.docling_dir()));
        let built_ins = BuiltInServers {
            store: store.clone(),
            events: events.clone(),
            access: access.clone(),
            settings: settings.clone(),
            // This path is compared with the canonical paths of shared files.
            data_dir: data_dir
                .path()
                .canonicalize()
                .unwrap_or_else(|_| data_dir.path().to_owned()),
            converter: docling.clone(),
        };
        let access_reports = AccessReports::load(
            store.clone(),
            events.clone(),
            logs.clone(),
            data_dir.path().to_owned(),
        )
        .await?;
        let connector = Connector::new(
            Arc::new(registry.clone()),
            Arc::new(built_ins),
            events.clone(),
            logs.clone(),
            secrets.clone(),
            authorizer.clone(),
            (guard.clone(), &data_dir, Arc::new(access_reports.clone())),
        );
        let sampling = Sampling::new(
            settings.clone(),
            secrets.clone(),
            logs.clone(),
            store.clone(),
        );
        let client_requests = ClientRequests::new(
            gate.clone(),
            events.clone(),
            settings.clone(),
            sampling.clone(),
            Roots::new(settings.clone()),
        );
        let pool = Pool::new(
            connector,
            session_events.clone(),
            Arc::new(client_requests.clone()),
        );
        let profiles = Profiles::load(store.clone(), events.clone()).await?;
        let catalog = Catalog::load(
            registry.clone(),
            pool.clone(),
            store.clone(),
            settings.clone(),
            events.clone(),
            profiles,
            metrics.clone(),
        )
        .await?;
        let mut tasks = catalog.spawn_refresh(session_events.list_changes);
        let router = Router::new(
            registry.clone(),
            catalog.clone(),
            pool.clone(),
            metrics.clone(),
            tracer.clone(),
        );
        let policy_editor = PolicyEditor::new(
            rules.clone(),
            registry.clone(),
            catalog.clone(),
            store.clone(),
        );
        let hub = Arc::new(Self {
            official_registry: OfficialRegistry::new(
                store.clone(),
                settings.clone(),
                events.clone(),
            ),
            access_reports,
            pairings: Pairings::new(store.clone(), events.clone()),
            sessions: ClientSessions::new(events.clone()),
            pipeline: Pipeline::new(
                router.clone(),
                gate.clone(),
                client_requests,
                hooks.clone(),
                live_calls.clone(),
                access.clone(),
            ),
            access,
            router,
            parked_requests: ParkedRequests::default(),
            listeners: Mutex::default(),
            started_with_hosts: OnceLock::new(),
            spec_record: SpecRecord::load(store.clone()).await?,
            docling: docling.clone(),
            recently_refused: Mutex::default(),
            unknown_tokens: Refusals::new(store.clone(), AuditKind::TokenRefused),
            refused_codes: Refusals::new(store.clone(), AuditKind::BrowserRefused),
            background: Mutex::default(),
            journal,
            data_dir,
            events,
            logs,
            store,
            secrets,
            sampling,
            authorizer,
            settings,
            registry,
            pool,
            catalog,
            rules,
            policy_editor,
            queue,
            drawbridge,
            gate,
            client_configs,
            hooks,
            live_calls,
            metrics,
            tracer,
            started_at: clock::now(),
            guard,
        });
        docling.attach(&hub);
        docling.keep_up_to_date().await;
        let specs = hub.registry.specs();
        hub.logs.delete_stale_server_files(|id| {
            let is_broken = specs
                .broken
                .iter()
                .filter_map(BrokenFile::id)
                .any(|broken_id| broken_id == *id);
            specs.servers.contains_key(id) || is_broken
        });
        clean_up_bundles(&hub, &specs).await;
        // Files may have been changed while Drawbridge did not run.
        let writer = hub.spec_record.writer().await;
        writer.record_files(&hub.registry.specs()).await;
        tasks.spawn(apply_changed_specs(Arc::downgrade(&hub), spec_changes));
        tasks.spawn(notify_list_changes(
            Arc::downgrade(&hub),
            hub.catalog.kind_changes().clone(),
        ));
        tasks.spawn(reconnect_signed_in_servers(Arc::downgrade(&hub), signed_in));
        tasks.spawn(retention::prune_old_records(
            hub.store.clone(),
            hub.settings.clone(),
        ));
        tasks.spawn(retention::limit_records(
            hub.store.clone(),
            hub.settings.clone(),
        ));
        tasks.spawn(retention::limit_logs(
            hub.logs.clone(),
            hub.settings.clone(),
        ));
        tasks.spawn(hub.logs.clone().report_drops());
        tasks.spawn(disk_space::watch(Arc::downgrade(&hub)));
        #[cfg(target_os = "linux")]
        tasks.spawn(idle_memory::release_while_idle());
        tasks.spawn(hub.drawbridge.clone().resume_on_time(hub.store.clone()));
        tasks.spawn(hub.tracer.clone().follow_settings());
        tasks.spawn(token_usage::store_regularly(
            hub.store.clone(),
            hub.metrics.clone(),
        ));
        tasks.spawn(forward_notifications(
            hub.pipeline.clone(),
            received.notifications,
        ));
        tasks.spawn(client_uses::store_regularly(Arc::downgrade(&hub)));
        tasks.spawn(hub.access_reports.clone().store_changes());
        tasks.spawn(hub.hooks.clone().follow_connections(hub.catalog.clone()));
        let watch = hub.watch_specs();
        *hub.background() = Background {
            _watch: watch,
            tasks,
        };
        Ok(hub)
    }

    /// Watches the spec files, so that changes by hand take effect at once.
    fn watch_specs(&self) -> Option<Watch> {
        let report = |error: &_| {
            tracing::error!(
                "cannot watch the spec files: {error}; restart Drawbridge after changing a spec file by hand"
            )
        };
        self.registry.watch().inspect_err(report).ok()
    }

    fn background(&self) -> MutexGuard<'_, Background> {
        self.background
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies changed specs: ends the sessions of servers that may no longer run, and the sessions
    /// that no request would use under the new spec, and rebuilds the catalog.
    pub(crate) async fn apply_spec_changes(&self, ids: &BTreeSet<ServerId>) {
        for id in ids {
            match self.registry.get(id) {
                Ok(server) if self.registry.may_run(&server) => {
                    self.pool
                        .end_unused_sessions(&server, "its spec has changed")
                        .await;
                }
                Ok(_) => {
                    self.pool
                        .remove(id, "the server was disabled or changed")
                        .await
                }
                Err(_) => self.pool.remove(id, "the server was removed").await,
            }
        }
        self.catalog.rebuild();
        for id in ids {
            self.events.publish(Event::ServerChanged { id: id.clone() });
        }
    }

    /// Writes a server's spec for a person, and records the change in the audit log. If there is a
    /// `grant`, also accepts the spec, with the secrets of the grant.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Registry::write_accepted`].
    pub(crate) async fn write_spec(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        grant: Option<Grant>,
    ) -> Result<Arc<RegisteredServer>, RegistryError> {
        self.write_spec_for(ChangedBy::Person, id, spec, grant)
            .await
    }

    async fn write_spec_for(
        &self,
        by: ChangedBy,
        id: &ServerId,
        spec: &ServerSpec,
        grant: Option<Grant>,
    ) -> Result<Arc<RegisteredServer>, RegistryError> {
        let writer = self.spec_record.writer().await;
        let server = match grant {
            Some(grant) => self.registry.write_accepted(id, spec, grant).await?,
            None => self.registry.write(id, spec)?,
        };
        writer.record_change(id, &self.registry.specs(), by).await;
        Ok(server)
    }

    /// Enables or disables a built-in server for a person, and records the change in the audit log.
    ///
    /// # Errors
    /// Returns an error if the settings or the spec of the server `docling` cannot be written.
    pub(crate) async fn enable_built_in(
        &self,
        built_in: BuiltIn,
        enabled: bool,
    ) -> Result<Arc<RegisteredServer>, RegistryError> {
        match built_in {
            BuiltIn::Docling => self.docling.switch_server(enabled).await?,
            BuiltIn::Memory | BuiltIn::Folders => {}
        }
        let (has_changed, server) = self.registry.enable_built_in(built_in, enabled).await?;
        if has_changed {
            let note = json!({
                "server": server.id,
                "by": ChangedBy::Person,
                "fields": ["enabled"],
                "identity": server.identity,
            });
            self.store.append_audit(AuditKind::ServerChanged, &note);
        }
        Ok(server)
    }

    /// Removes a server's spec for a person, and records the change in the audit log.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Registry::remove`].
    pub(crate) async fn remove_spec(&self, id: &ServerId) -> Result<(), RegistryError> {
        let writer = self.spec_record.writer().await;
        self.registry.remove(id)?;
        writer
            .record_change(id, &self.registry.specs(), ChangedBy::Person)
            .await;
        Ok(())
    }

    /// Ends a server's sessions. If the server may run and an endpoint serves this hub, a new
    /// session reads its lists.
    pub(crate) async fn reconnect_server(&self, server: &RegisteredServer, reason: &str) {
        self.pool.remove(&server.id, reason).await;
        if self.registry.may_run(server) && self.has_endpoint() {
            self.catalog.start_sync(server.id.clone());
        }
        self.events.publish(Event::ServerChanged {
            id: server.id.clone(),
        });
    }

    pub fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    /// Returns a receiver of all events from now on. A receiver that falls behind gets
    /// `RecvError::Lagged`.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    pub fn access(&self) -> &Access {
        &self.access
    }

    pub fn sessions(&self) -> &ClientSessions {
        &self.sessions
    }

    /// Returns whether there is work that can go on without a connection to the endpoint: a request
    /// in flight, a pending approval, a client that waits to be paired, or a sign-in to a server.
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty()
            || !self.pairings.is_empty()
            || self.authorizer.is_signing_in()
            || self
                .sessions
                .all()
                .iter()
                .any(|session| session.has_in_flight())
    }

    /// Admits a client that needs no token, because it uses the local socket or is the command
    /// line. Adds the client to the known clients if its name is new.
    ///
    /// # Errors
    /// Returns an error if the client of this name was revoked (`forbidden`), if the name is
    /// invalid (`invalid`), or if the store cannot be written (`unavailable`).
    pub async fn admit_local_client(&self, name: &ClientName) -> Result<(), ApiError> {
        let admitted = self.access.admit_local(name).await;
        if let Err(AccessError::Revoked(_)) = &admitted {
            self.record_refusal(name, "the client was revoked");
        }
        Ok(admitted?)
    }

    /// Exchanges a one-time code for a browser's token, or returns `None` if the code is not valid.
    /// Records the sign-in or the refusal in the audit log.
    pub fn sign_in_browser(
        &self,
        code: &str,
        address: WebUiAddress,
        user_agent: Option<&str>,
    ) -> Option<BrowserToken> {
        let token = self.access.redeem_browser_code(code, address, user_agent);
        if token.is_none() {
            self.record_refused_code();
        }
        token
    }

    /// Records that a browser's sign-in was refused.
    pub fn record_refused_code(&self) {
        self.refused_codes.add();
    }

    /// Records that a token was refused because it belongs to no client and no administrator. If
    /// the token belonged to a client that was revoked, the entry names the client.
    pub fn record_unknown_token(&self, token: &str) {
        self.metrics.count_refused_client();
        match self.access.find_revoked_client(token) {
            Some(client) => self.record_refusal(&client, "the client was revoked"),
            None => self.unknown_tokens.add(),
        }
    }

    /// Records that a client's token was refused because it has expired.
    pub fn record_expired_token(&self, client: &ClientName) {
        self.metrics.count_refused_client();
        self.record_refusal(client, "the token has expired");
    }

    /// Records that a client's token was refused at an address for administrators.
    pub fn record_refused_token(&self, client: &ClientName) {
        self.metrics.count_refused_client();
        self.record_refusal(client, "the address is for administrators");
    }

    /// Records that a client or its token was refused, at most once a minute per client.
    fn record_refusal(&self, client: &ClientName, reason: &str) {
        let mut refused = self
            .recently_refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        refused.retain(|_, at| at.elapsed() < Duration::from_secs(60));
        if !refused.contains_key(client) {
            refused.insert(client.clone(), Instant::now());
            let note = json!({ "client": client, "reason": reason });
            self.store.append_audit(AuditKind::TokenRefused, &note);
        }
    }

    /// Opens a client session after `initialize`, or for a request by hand.
    ///
    /// # Errors
    /// Returns an error if the client opens sessions too fast.
    pub fn open_session(
        &self,
        client: ClientName,
        client_info: ClientHello,
        scope: ClientScope,
    ) -> Result<Arc<ClientSession>, TooManyOpened> {
        let session = self.sessions.open(client, client_info, scope)?;
        self.record_session(&session.client, &session.hello);
        Ok(session)
    }

    /// Returns the session to which the requests of a stateless client belong.
    ///
    /// # Errors
    /// Returns an error if the client opens sessions too fast.
    pub fn stateless_session(
        &self,
        client: &ClientName,
        client_info: &ClientHello,
        scope: &ClientScope,
    ) -> Result<Arc<ClientSession>, TooManyOpened> {
        let (session, is_new) = self
            .sessions
            .get_or_open_stateless(client, client_info, scope)?;
        if is_new {
            self.record_session(client, client_info);
        }
        Ok(session)
    }

    fn record_session(&self, client: &ClientName, client_info: &ClientHello) {
        self.pool
            .add_client_extensions(client, client_info.capabilities.extensions());
        let software = client_info.software();
        self.access.record_connection(client, software.clone());
        let software = software.as_deref().unwrap_or("an unnamed app");
        tracing::info!(
            "client {client}: {software} opened a session, revision {}",
            client_info.protocol_version
        );
    }

    /// Deletes the lists and results that are kept for a client, and ends the client's own sessions
    /// with servers, because the client was revoked or now belongs to another user.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub(crate) async fn delete_client_data(&self, client: &ClientName) -> Result<(), StoreError> {
        self.router.drop_client_results(client);
        let reason = "its client was revoked or belongs to another user";
        self.pool.remove_client(client, reason).await;
        self.catalog.delete_client(client).await
    }

    /// Returns the servers' instructions and extensions for a client with this scope.
    pub fn introduce_servers(
        &self,
        client: &ClientName,
        scope: &ClientScope,
    ) -> ServersIntroduction {
        let may_introduce = |id: &ServerId| {
            let server = self.registry.get(id);
            server.is_ok_and(|server| !self.rules.denies_everything(client, &server))
        };
        self.catalog.introduce_servers(client, scope, may_introduce)
    }

    /// Returns the project folder for `folder`, which a client names: the longest folder of a
    /// profile that contains `folder`. Returns `None` if no profile's folder contains `folder`, or
    /// if `folder` is not an absolute path without `..`.
    pub fn find_project(&self, folder: &Path) -> Option<PathBuf> {
        let is_plain = !folder
            .components()
            .any(|component| component == Component::ParentDir);
        (folder.is_absolute() && is_plain)
            .then(|| self.catalog.profiles().project_folder(folder))
            .flatten()
    }

    /// Returns whether a server has the endpoint `/mcp/{server}`, that is, whether it may run and
    /// is not built in.
    pub fn has_own_endpoint(&self, id: &ServerId) -> bool {
        let server = self.registry.get_runnable(id);
        server.is_ok_and(|server| server.spec.builtin.is_none())
    }

    /// Returns the arguments of a tool that a client must repeat in headers. The list is empty if
    /// the client does not see the tool, or if the tool's schema marks these arguments wrongly.
    pub fn header_params(
        &self,
        client: &ClientName,
        scope: &ClientScope,
        tool: &str,
    ) -> Vec<HeaderParam> {
        let view = self.catalog.client_view(client, scope);
        view.find(CapabilityKind::Tools, tool)
            .and_then(|tool| tool.definition.header_params.clone().ok())
            .unwrap_or_default()
    }

    /// Answers a client's request. Messages that belong to the request are sent over `handle`
    /// before the answer. If the future is dropped, the request is cancelled.
    ///
    /// # Errors
    /// Returns an error if the protocol demands it: for unknown methods and names, for invalid
    /// params, and for the server's own errors. A call that was denied, or that the server did not
    /// answer, has a result with `isError` instead.
    pub async fn handle_request(
        &self,
        handle: &ClientHandle,
        method: &str,
        params: Option<&RawValue>,
    ) -> RpcResult {
        let method = methods::find_request(method, handle.era())?;
        let span = self
            .tracer
            .begin_request(handle.session(), method.name, params);
        let request = ClientRequest {
            handle,
            method: method.name,
            params,
            trace: span.as_ref().map(|span| span.context()),
        };
        let response = method.answer(self, request).await;
        if let Some(span) = span {
            let is_tool_error =
                method.name == "tools/call" && response.as_ref().is_ok_and(is_tool_error);
            span.end_with_response(method.name, &response, is_tool_error);
        }
        response
    }

    /// Handles a notification of a client. A notification with an unknown method has no effect.
    pub fn handle_notification(
        self: &Arc<Self>,
        session: &ClientSession,
        method: &str,
        params: Option<&RawValue>,
    ) {
        methods::handle_notification(self, session, method, params);
    }

    /// Answers a request of a stateless client, which may be a retry with the answers to
    /// `input_required`.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Hub::handle_request`], and if the retry matches no
    /// parked request.
    pub async fn handle_stateless_request(
        self: &Arc<Self>,
        request: StatelessRequest,
    ) -> RpcResult {
        let method = request.method.clone();
        let hub = self.clone();
        let start = |handle: ClientHandle, method: String, params: Box<RawValue>| async move {
            hub.handle_request(&handle, &method, Some(&params)).await
        };
        let response = self.parked_requests.start_or_resume(request, start).await;
        protocol::translate::response_for_modern_client(&method, response)
    }

    /// Begins the subscription of a session that [`ClientSessions::open_subscription`] opened.
    ///
    /// # Errors
    /// Returns an error if the subscription to one of the resources fails. In this case, the
    /// session is closed.
    pub fn begin_subscription<'a>(
        &'a self,
        session: &'a Arc<ClientSession>,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        Box::pin(self.subscribe_session(session))
    }

    async fn subscribe_session(&self, session: &Arc<ClientSession>) -> Result<(), RpcError> {
        let handle = ClientHandle::for_session(session.clone());
        let acknowledged = session
            .subscription
            .as_ref()
            .map(|subscription| json::to_raw(&subscription.acknowledgement_params()));
        let resources = session
            .subscription
            .iter()
            .flat_map(|subscription| &subscription.resources);
        for uri in resources {
            if let Err(error) = self.pipeline.subscribe(&handle, uri.clone(), None).await {
                self.sessions.close(&session.id);
                return Err(error);
            }
        }
        handle.notify(
            "notifications/subscriptions/acknowledged",
            acknowledged.as_deref(),
        );
        Ok(())
    }

    /// Sends a request for a person, as the client `command-line`, with the same checks and the
    /// same policy as for any client.
    pub(crate) async fn request_by_hand(
        &self,
        method: &str,
        params: &serde_json::Value,
    ) -> Result<serde_json::Value, ApiError> {
        let client = ClientName::new(CLI_CLIENT);
        self.admit_local_client(&client).await?;
        let session = self
            .open_session(client, ClientHello::for_manual_calls(), ClientScope::ALL)
            .map_err(|error| ApiError::unavailable(error.to_string()))?;
        let response = self
            .handle_request(
                &ClientHandle::for_session(session.clone()),
                method,
                Some(&json::to_raw(params)),
            )
            .await;
        self.sessions.close(&session.id);
        let result = response.map_err(|error| ApiError::invalid(error.message))?;
        serde_json::from_str(result.get())
            .map_err(|e| ApiError::unavailable(format!("cannot read the result: {e}")))
    }

    /// Notifies all sessions of a client that its lists have changed, because its profile has
    /// changed.
    pub(crate) fn notify_lists_changed(&self, client: &ClientName) {
        for session in self
            .sessions
            .all()
            .into_iter()
            .filter(|session| session.client == *client)
        {
            notify_session(&session, &CapabilityKind::ALL.into());
        }
    }

    /// Stores the state of a listener of the endpoint, in place of the earlier state of this
    /// listener. The first listener of a hub also starts the sync of the built-in servers.
    pub fn set_listener(&self, listener: ListenerHealth) {
        let mut listeners = self.listeners();
        if listeners.contains(&listener) {
            return;
        }
        let is_first = listeners.is_empty();
        listeners.retain(|existing| existing.name != listener.name);
        listeners.push(listener);
        drop(listeners);
        if is_first {
            self.sync_built_ins();
        }
        self.events.publish(Event::SettingsChanged);
    }

    /// Reads the lists of the enabled built-in servers in the background, so that their tools are
    /// known before the first client asks. Starts no program.
    fn sync_built_ins(&self) {
        let runnable = |built_in: &BuiltIn| self.registry.get_runnable(&built_in.id()).is_ok();
        for built_in in BuiltIn::ALL.iter().filter(|built_in| runnable(built_in)) {
            self.catalog.start_sync(built_in.id());
        }
    }

    /// Returns the state of each listener of the endpoint.
    pub fn listener_health(&self) -> Vec<ListenerHealth> {
        self.listeners().clone()
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<ListenerHealth>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the port that the settings name.
    pub fn port(&self) -> u16 {
        self.settings.get().port
    }

    /// Stores the model tokens that were counted since they were last stored.
    pub(crate) async fn store_token_usage(&self) {
        token_usage::store_now(&self.store, &self.metrics).await;
    }

    /// Returns a receiver that is notified of each change of the settings from now on.
    pub fn settings_changes(&self) -> watch::Receiver<()> {
        self.settings.changes()
    }

    /// Checks that clients can connect over HTTP. If the endpoint does not listen, another program
    /// may have the port and receive the tokens of clients. Clients that start the stdio bridge do
    /// not need this check: the bridge uses the local socket. A hub without an endpoint, which only
    /// provisions a folder, passes.
    ///
    /// # Errors
    /// Returns an error that says why the endpoint does not listen (`unavailable`).
    pub(crate) fn check_http_clients_can_connect(&self) -> Result<(), ApiError> {
        let listeners = self.listeners();
        let Some(http) = listeners
            .iter()
            .find(|listener| listener.name == "http" && !listener.listening)
        else {
            return Ok(());
        };
        Err(ApiError::unavailable(format!(
            "clients cannot connect over HTTP to {}: {}. To use another port, change it on the Settings screen or run `drawbridge settings set port PORT`",
            http.address, http.error
        )))
    }

    /// Stores the hosts with which the endpoint is started. Only the first call has an effect.
    pub fn set_started_with_hosts(&self, hosts: Vec<AllowedHost>) {
        let _ = self.started_with_hosts.set(hosts);
    }

    pub(crate) fn started_with_hosts(&self) -> &[AllowedHost] {
        self.started_with_hosts.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the hosts, besides this computer's own, under which the endpoint answers: first the
    /// hosts with which it was started, then the hosts in the settings.
    pub fn allowed_hosts(&self) -> Vec<AllowedHost> {
        let mut hosts = self.started_with_hosts().to_vec();
        hosts.extend(self.settings.get().allowed_hosts.iter().cloned());
        hosts
    }

    /// Returns the URL of the endpoint with the address to which it is bound, or `None` if the
    /// endpoint does not listen.
    pub fn endpoint_url(&self) -> Option<String> {
        let listeners = self.listeners();
        let http = listeners
            .iter()
            .find(|listener| listener.name == "http" && listener.listening)?;
        Some(http.address.clone())
    }

    /// Returns the URL of the endpoint for programs on this computer, or `None` if the endpoint
    /// does not listen.
    pub(crate) fn local_url(&self) -> Option<String> {
        self.endpoint_url().map(|url| with_local_address(&url))
    }

    /// Returns the URL of the endpoint for clients that a person sets up by hand: under the first
    /// allowed host, because the client may run elsewhere, or else under this computer's own
    /// address. Returns `None` if the endpoint does not listen.
    pub(crate) fn client_url(&self) -> Option<String> {
        self.local_url().map(|url| self.with_first_host(url))
    }

    /// Returns how a client on this computer reaches this hub: by the bridge, or over HTTP if there
    /// is a token.
    pub(crate) fn client_connection(&self, client: &ClientName, token: Option<&str>) -> Connection {
        clients::connection(self.expected_url(), self.data_dir(), client, token)
    }

    /// Returns how a client that a person sets up by hand reaches this hub.
    pub(crate) fn manual_connection(&self, client: &ClientName, token: Option<&str>) -> Connection {
        let url = self.with_first_host(self.expected_url());
        clients::connection(url, self.data_dir(), client, token)
    }

    /// Returns the local URL of the endpoint. If nothing listens, for example while a data folder
    /// is being provisioned, returns the URL with the port in the settings.
    fn expected_url(&self) -> String {
        self.local_url()
            .unwrap_or_else(|| format!("http://127.0.0.1:{}/mcp", self.port()))
    }

    fn with_first_host(&self, url: String) -> String {
        let hosts = self.allowed_hosts();
        let port = Url::parse(&url)
            .ok()
            .and_then(|url| url.port_or_known_default());
        match (hosts.first(), port) {
            (Some(host), Some(port)) => host.endpoint_url(port),
            (Some(_), None) | (None, _) => url,
        }
    }

    /// Returns whether an endpoint serves this hub. A hub without an endpoint was opened to
    /// provision a folder and starts nothing by itself.
    pub(crate) fn has_endpoint(&self) -> bool {
        !self.listeners().is_empty()
    }

    /// Ends every server session with its process tree, writes the pending records, and closes the
    /// store.
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.close_parts())
    }

    async fn close_parts(&self) {
        drop(std::mem::take(&mut *self.background()));
        self.pool.close().await;
        self.hooks.close().await;
        let guard = self.guard.clone();
        let _ = tokio::task::spawn_blocking(move || guard.dismiss()).await;
        self.tracer.close().await;
        self.store_token_usage().await;
        self.access_reports.store_now().await;
        client_uses::store_now(&self.access).await;
        tracing::info!("hub ended");
        self.unknown_tokens.flush();
        self.refused_codes.flush();
        self.journal.close().await;
        self.store.close().await;
        self.logs.close().await;
    }
}

/// Returns the URL with the loopback address in place of `0.0.0.0` or `[::]`, which stand for all
/// addresses of this computer, and which a browser may refuse to open.
fn with_local_address(url: &str) -> String {
    url.replacen("//0.0.0.0:", "//127.0.0.1:", 1)
        .replacen("//[::]:", "//[::1]:", 1)
}

/// The client name for requests that a person sends by hand.
const CLI_CLIENT: &str = "command-line";

/// Completes interrupted replacements of unpacked bundles, and deletes the bundles that no spec
/// uses. Deletes none if a spec file is broken, because that file may refer to any bundle. Has to
/// run before a bundle can be added.
async fn clean_up_bundles(hub: &Hub, specs: &Arc<Specs>) {
    let (data_dir, specs) = (hub.data_dir().to_owned(), Arc::clone(specs));
    let removed = tokio::task::spawn_blocking(move || {
        bundle::complete_replacements(&data_dir)?;
        if !specs.broken.is_empty() {
            return Ok(Vec::new());
        }
        bundle::delete_unused_bundles(&data_dir, specs.servers.values().map(|server| &server.spec))
    });
    match removed.await {
        Ok(Ok(removed)) => {
            for folder in removed {
                tracing::info!(folder = %folder.display(), "deleted the files of a bundle that no server uses");
            }
        }
        Ok(Err(error)) => tracing::warn!(%error, "the unpacked bundles were not cleaned up"),
        Err(error) => tracing::error!(%error, "the unpacked bundles were not cleaned up"),
    }
}

/// Records and applies changes of specs, until the hub is dropped.
async fn apply_changed_specs(hub: Weak<Hub>, changes: DirtySet<ServerId>) {
    loop {
        changes.wait().await;
        let Some(hub) = hub.upgrade() else { return };
        let ids = changes.take();
        let writer = hub.spec_record.writer().await;
        writer.record_files(&hub.registry.specs()).await;
        hub.apply_spec_changes(&ids).await;
    }
}

/// Reconnects the servers to which a person has signed in, until the hub is dropped.
async fn reconnect_signed_in_servers(hub: Weak<Hub>, signed_in: DirtySet<Url>) {
    loop {
        signed_in.wait().await;
        let Some(hub) = hub.upgrade() else { return };
        let urls = signed_in.take();
        for server in hub.registry.specs().servers.values() {
            let is_signed_in =
                |text: &String| Url::parse(text).is_ok_and(|server_url| urls.contains(&server_url));
            if server.spec.url.as_ref().is_some_and(is_signed_in) {
                hub.reconnect_server(server, "you signed in").await;
            }
        }
    }
}

/// The pause after the clients were notified of changed lists. The pause is short, because some
/// clients wait only a second or two for a notification.
const NOTIFICATION_PAUSE: Duration = Duration::from_millis(250);

/// Notifies every client of changed lists, at most four times a second, until the hub is dropped.
async fn notify_list_changes(hub: Weak<Hub>, kind_changes: KindChanges) {
    loop {
        kind_changes.wait().await;
        let Some(hub) = hub.upgrade() else { return };
        let changes = kind_changes.take();
        for session in hub.sessions.all() {
            notify_session(&session, &changed_kinds(&changes, &session.client));
        }
        drop(hub);
        tokio::time::sleep(NOTIFICATION_PAUSE).await;
    }
}

/// Returns the kinds whose lists may have changed for a client.
fn changed_kinds(changes: &BTreeSet<KindChange>, client: &ClientName) -> BTreeSet<CapabilityKind> {
    let concerns = |change: &&KindChange| change.client.as_ref().is_none_or(|name| name == client);
    changes
        .iter()
        .filter(concerns)
        .map(|change| change.kind)
        .collect()
}

/// Notifies a session of the changed lists to which it is subscribed. A session without a
/// subscription gets all notifications.
fn notify_session(session: &Arc<ClientSession>, kinds: &BTreeSet<CapabilityKind>) {
    let is_subscribed = |kind: &&CapabilityKind| {
        session
            .subscription
            .as_ref()
            .is_none_or(|subscription| subscription.lists.contains(*kind))
    };
    let methods: BTreeSet<_> = kinds
        .iter()
        .filter(is_subscribed)
        .map(|kind| kind.list_changed_method())
        .collect();
    // Shows later whether the client reads its tools again (`ClientSession::ignores_tool_changes`).
    if session.hello.era == Era::Legacy && kinds.contains(&CapabilityKind::Tools) {
        session.record_tool_change();
    }
    let handle = ClientHandle::for_session(session.clone());
    methods
        .iter()
        .for_each(|method| handle.notify(method, None));
}

/// Forwards the notifications that servers send outside of requests.
async fn forward_notifications(
    pipeline: Pipeline,
    mut notifications: mpsc::Receiver<ServerNotification>,
) {
    while let Some(notification) = notifications.recv().await {
        pipeline.forward_notification(&notification);
    }
}

#[cfg(test)]
pub(crate) mod tests;
