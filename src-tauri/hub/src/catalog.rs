//! The catalog: everything that all servers offer and say about themselves. The catalog keeps
//! copies of the servers' lists, also in the store, and merges the copies into immutable snapshots.
//! Readers of a snapshot never wait.

mod acceptance;
mod coercion;
mod copies;
pub mod deferred;
mod definition;
mod instructions;
mod merge;
mod profiles;
pub(crate) mod schema;
mod search;
mod snapshots;
mod sync;
mod unavailable;
mod unlisted_resources;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use arc_swap::ArcSwap;
use drawbridge_model::{
    acceptance::{AcceptanceState, DefinitionId, DefinitionKind},
    audit::AuditKind,
    capability::{CapabilityKind, ExcludedEntries, ExcludedEntry},
    clock,
    content::ContentDefence,
    event::{Event, Events},
    ids::{ClientName, ServerId, Timestamp},
    log::Level,
    server::SyncStatus,
    spec::{DefinitionPolicy, RegisteredServer},
};
use drawbridge_sessions::{ClientHandle, ClientScope, ClientSession};
use drawbridge_store::{
    Store, StoreError,
    logs::Logs,
    settings::Settings,
    table::{
        capability::Definitions as StoredLists,
        client_copy::ClientCopyRow,
        definition::{AcceptedBy, OfferedDefinition},
        server::ServerRow,
    },
};
use drawbridge_upstream::{DirtySet, ListChanges, Pool, RequestTimeouts, package_name};
use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
    time::{Instant, timeout, timeout_at},
};

pub use definition::{Definition, DefinitionError};
pub use merge::{CatalogEntry, CatalogView, Exclusion, Offered, Snapshot};
pub use profiles::{AppliedProfiles, ProfileError, Profiles};
pub use schema::ArgumentsMismatch;
pub use snapshots::KindChange;
pub use sync::{MAX_CATALOG_BYTES, SyncError, read_list};
pub use unavailable::Unavailable;

use crate::{
    clients::tool_names::max_tool_name,
    metrics::{Cache, Metrics},
    registry::Registry,
};
use acceptance::{AcceptedDefinitions, Definitions, definition_id, list_definitions};
use copies::{Copies, CopyKey};
use snapshots::Snapshots;

/// The minimum time to live that a server can state, unless the user configured a shorter time.
const MIN_TTL: Duration = Duration::from_secs(10);
/// The minimum time between two attempts to refresh the copies of a sleeping server, because each
/// attempt starts the server.
const MIN_TTL_ASLEEP: Duration = Duration::from_secs(60 * 60);
/// The time after a failed sync in which no client's request starts another sync.
const RETRY_DELAY: Duration = Duration::from_secs(30);
/// The grace period: definitions that a server adds this soon after its first sync count as
/// accepted together with the server. Changed definitions do not.
const GRACE_PERIOD: Duration = Duration::from_secs(60);
/// The maximum number of servers that are read at once, not counting reads that have taken longer
/// than [`SLOT_TIMEOUT`]. Starting many programs at the same time takes longer than starting a few
/// at a time.
const MAX_CONCURRENT_READS: usize = 8;
/// How long the answer to a request for a list, or for an entry that no known list has, waits for
/// the first read of a server. If the read takes longer, its result is announced with
/// `list_changed`.
const FIRST_READ_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The time after which a read frees its slot for another server, and continues without a slot.
const SLOT_TIMEOUT: Duration = Duration::from_secs(3);

/// The maximum number of excluded entries that are logged for one new snapshot, and of definitions
/// in each report about one sync: unaccepted, flagged and accepted definitions.
const MAX_LOGGED: usize = 100;

/// The exposed lists that have changed.
pub type KindChanges = DirtySet<KindChange>;

/// The catalog. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    registry: Registry,
    pool: Pool,
    store: Store,
    settings: Settings,
    events: Events,
    profiles: Profiles,
    metrics: Metrics,
    snapshots: Arc<ArcSwap<Snapshots>>,
    kind_changes: KindChanges,
    copies: Arc<Mutex<Copies>>,
    /// Limits how many servers are read at once.
    read_slots: Arc<Semaphore>,
    /// Limits each server to one sync at a time.
    sync_locks: Arc<Mutex<BTreeMap<ServerId, Arc<tokio::sync::Mutex<()>>>>>,
}

/// A copy of a server's lists in the catalog. All clients share one copy; if the server declares a
/// list private, each client that asks for it gets a copy of its own.
#[derive(Clone)]
pub struct ServerCopy {
    pub row: ServerRow,
    pub offered: Offered,
    /// All definitions of the server that need acceptance.
    definitions: Definitions,
    accepted: AcceptedDefinitions,
    /// The newest accepted definitions, by kind and name.
    last_accepted: BTreeMap<DefinitionKind, BTreeMap<String, Arc<Definition>>>,
    /// The offered definitions, except the new and the changed definitions. A resource with new or
    /// changed texts is here without its texts.
    visible: Offered,
    /// Like `visible`, but with the last accepted definition or texts in place of each changed
    /// definition or changed texts.
    visible_retained: Offered,
    /// The end of the grace period, in which additions count as accepted together with the server.
    grace_period_end: Option<Instant>,
    /// The identity of the server from which the copy was read. The copy is worthless for any other
    /// identity.
    identity: String,
    /// The number of syncs that have begun.
    syncs_begun: u64,
    /// The number of syncs that have succeeded or failed.
    syncs_ended: u64,
    failed_at: Option<Instant>,
    /// The time at which the current sync began, if there is one. The sync may still wait for a
    /// slot.
    reading_since: Option<Instant>,
    /// The session in which the client of this copy last sent a request that refreshes the catalog.
    /// Drawbridge reads the lists for this session.
    client_session: Weak<ClientSession>,
    /// True if the server's lists may have changed since the last sync, while the client of this
    /// copy was not connected.
    is_outdated: bool,
}

impl ServerCopy {
    fn empty(id: ServerId) -> Self {
        Self {
            row: ServerRow::new(id),
            offered: Offered::new(),
            definitions: Definitions::new(),
            accepted: AcceptedDefinitions::default(),
            last_accepted: BTreeMap::new(),
            visible: Offered::new(),
            visible_retained: Offered::new(),
            grace_period_end: None,
            identity: String::new(),
            syncs_begun: 0,
            syncs_ended: 0,
            failed_at: None,
            reading_since: None,
            client_session: Weak::new(),
            is_outdated: false,
        }
    }

    /// Returns how many entries of a kind the server offers.
    pub fn count(&self, kind: CapabilityKind) -> usize {
        self.offered.get(&kind).map_or(0, Vec::len)
    }

    pub fn tools(&self) -> &[Arc<Definition>] {
        self.offered
            .get(&CapabilityKind::Tools)
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the acceptance state of a tool's definition.
    pub fn tool_acceptance(&self, tool: &Definition) -> AcceptanceState {
        self.accepted.acceptance_state(DefinitionKind::Tool, tool)
    }

    /// Returns the server's definitions that need acceptance, each with its kind.
    pub fn definitions(&self) -> impl Iterator<Item = (DefinitionKind, &Arc<Definition>)> {
        self.definitions.iter().flat_map(|(kind, definitions)| {
            definitions.iter().map(|definition| (*kind, definition))
        })
    }

    /// Returns the new and changed definitions, which wait for a person.
    pub fn unaccepted(&self) -> impl Iterator<Item = (AcceptanceState, DefinitionId)> {
        self.definitions().filter_map(|(kind, definition)| {
            let state = self.accepted.acceptance_state(kind, definition);
            (state != AcceptanceState::Accepted).then(|| (state, definition_id(kind, definition)))
        })
    }

    /// Updates the last accepted definitions, and the definitions that clients may see.
    fn recompute_visible(&mut self) {
        for (kind, definitions) in &self.definitions {
            let accepted = definitions
                .iter()
                .filter(|definition| self.accepted.contains(*kind, definition))
                .map(|definition| (definition.name.clone(), definition.clone()));
            self.last_accepted
                .entry(*kind)
                .or_default()
                .extend(accepted);
        }
        self.visible = self.visible_offered(false);
        self.visible_retained = self.visible_offered(true);
    }

    fn visible_offered(&self, retains_changed: bool) -> Offered {
        let texts_by_uri: HashMap<&str, &Arc<Definition>> = self
            .definitions
            .get(&DefinitionKind::Resource)
            .into_iter()
            .flatten()
            .map(|texts| (texts.name.as_str(), texts))
            .collect();
        let visible_resource = |resource: &Arc<Definition>| {
            let Some(offered) = texts_by_uri
                .get(resource.name.as_str())
                .filter(|texts| !self.accepted.contains(DefinitionKind::Resource, texts))
            else {
                return Some(resource.clone());
            };
            let texts = self.visible_version(DefinitionKind::Resource, offered, retains_changed);
            resource.with_resource_texts(texts.as_deref()).map(Arc::new)
        };
        let visible = |kind: CapabilityKind, definition: &Arc<Definition>| match kind {
            CapabilityKind::Resources => visible_resource(definition),
            CapabilityKind::Tools | CapabilityKind::Prompts | CapabilityKind::Templates => {
                self.visible_version(kind.into(), definition, retains_changed)
            }
        };
        self.offered
            .iter()
            .map(|(kind, offered)| {
                let definitions = offered
                    .iter()
                    .filter_map(|definition| visible(*kind, definition));
                (*kind, definitions.collect())
            })
            .collect()
    }

    /// Returns the definition that clients see while the server offers `offered`.
    fn visible_version(
        &self,
        kind: DefinitionKind,
        offered: &Arc<Definition>,
        retains_changed: bool,
    ) -> Option<Arc<Definition>> {
        match self.accepted.acceptance_state(kind, offered) {
            AcceptanceState::Accepted => Some(offered.clone()),
            AcceptanceState::Changed if retains_changed => {
                let accepted = self.last_accepted.get(&kind)?.get(&offered.name)?;
                Some(Arc::new(accepted.retained_for(offered)))
            }
            AcceptanceState::Changed | AcceptanceState::New => None,
        }
    }

    /// Returns the definitions of this server that clients may see.
    fn visible(&self, server: &RegisteredServer) -> &Offered {
        if retains_changed(server) {
            &self.visible_retained
        } else {
            &self.visible
        }
    }

    /// Returns the instructions of this server that clients may see.
    fn visible_instructions(&self, server: &RegisteredServer) -> Option<String> {
        let kind = DefinitionKind::Instructions;
        let offered = self.definitions.get(&kind)?.first()?;
        self.visible_version(kind, offered, retains_changed(server))
            .map(|instructions| instructions.description.clone())
    }

    /// Returns the state before a sync of a client's copy: the acceptances of this copy, which is
    /// Drawbridge's own, and the lists of `previous`, which is the client's copy. If `previous` was
    /// never read, returns the lists of this copy.
    fn before_sync_of(&self, previous: &Self) -> Self {
        let is_read = previous.row.last_synced_at.is_some();
        Self {
            offered: if is_read {
                &previous.offered
            } else {
                &self.offered
            }
            .clone(),
            // A definition that one client sees is not retained for another client.
            last_accepted: previous.last_accepted.clone(),
            ..self.clone()
        }
    }

    /// Returns a client's copy of this server, as the store holds it.
    fn of_client(&self, row: ClientCopyRow) -> Self {
        let mut offered = parse_lists(row.lists);
        for (kind, read) in &mut offered {
            definition::reuse_previous(self.offered.get(kind).map_or(&[], Vec::as_slice), read);
        }
        let mut copy = Self {
            definitions: list_definitions(&offered, self.row.instructions.as_deref()),
            offered,
            last_accepted: BTreeMap::new(),
            row: ServerRow {
                last_synced_at: Some(row.synced_at),
                ttl_ms: row.ttl_ms,
                excluded: ExcludedEntries::default(),
                ..self.row.clone()
            },
            identity: row.identity,
            ..self.clone()
        };
        copy.recompute_visible();
        copy
    }

    /// Returns the lists as the server sent them.
    fn lists(&self) -> StoredLists {
        let texts = |definitions: &Vec<Arc<Definition>>| {
            definitions
                .iter()
                .map(|definition| definition.raw.get().to_owned())
                .collect()
        };
        self.offered
            .iter()
            .map(|(kind, definitions)| (*kind, texts(definitions)))
            .collect()
    }

    /// Returns the copy after a sync.
    fn after_sync(&self, server: &RegisteredServer, row: ServerRow, mut offered: Offered) -> Self {
        for (kind, read) in &mut offered {
            definition::reuse_previous(self.offered.get(kind).map_or(&[], Vec::as_slice), read);
        }
        let mut copy = Self {
            definitions: list_definitions(&offered, row.instructions.as_deref()),
            row,
            offered,
            identity: server.identity.clone(),
            failed_at: None,
            ..self.clone()
        };
        let is_first_sync = self.identity != server.identity
            || (self.row.last_synced_at.is_none() && self.accepted.is_empty());
        if is_first_sync {
            copy.grace_period_end = Some(Instant::now() + GRACE_PERIOD);
        }
        let accepts_all = is_first_sync || server.spec.definitions == DefinitionPolicy::Trust;
        let accepts_additions = copy
            .grace_period_end
            .is_some_and(|end| Instant::now() < end);
        for (kind, definitions) in &copy.definitions {
            for definition in definitions {
                // If the content defence is `ask`, a person has to decide on a flagged definition.
                if server.spec.content_defence == ContentDefence::Ask
                    && !definition.flags().is_empty()
                {
                    continue;
                }
                let state = copy.accepted.acceptance_state(*kind, definition);
                if accepts_all || (accepts_additions && state == AcceptanceState::New) {
                    copy.accepted.insert(definition_id(*kind, definition));
                }
            }
        }
        copy.recompute_visible();
        copy
    }
}

impl Catalog {
    /// Loads the copies from the store, and makes the first snapshots.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read or written.
    pub async fn load(
        registry: Registry,
        pool: Pool,
        store: Store,
        settings: Settings,
        events: Events,
        profiles: Profiles,
        metrics: Metrics,
    ) -> Result<Self, StoreError> {
        let mut copies = Copies::default();
        for row in store.servers().await? {
            let copy = load_copy(&store, row).await?;
            log_excluded(
                pool.connector().logs(),
                &copy.row.id,
                &copy.row.excluded,
                &ExcludedEntries::default(),
            );
            if let Some(version) = &copy.row.protocol_version {
                let server = registry
                    .get(&copy.row.id)
                    .ok()
                    .filter(|server| server.identity == copy.identity);
                let package = server.and_then(|server| package_name(&server.spec));
                pool.connector()
                    .negotiations()
                    .record_revision(&copy.identity, package, version);
            }
            copies.insert(CopyKey::own(&copy.row.id), copy);
        }
        for row in store.client_copies().await? {
            let own = copies.own(&row.server);
            if let Some(own) = own.filter(|own| own.row.has_private_lists) {
                let key = CopyKey::of_client(&row.server, &row.client);
                let copy = own.of_client(row);
                copies.insert(key, copy);
            }
        }
        let catalog = Self {
            registry,
            pool,
            store,
            settings,
            events,
            profiles,
            metrics,
            snapshots: Arc::default(),
            kind_changes: KindChanges::default(),
            copies: Arc::new(Mutex::new(copies)),
            read_slots: Arc::new(Semaphore::new(MAX_CONCURRENT_READS)),
            sync_locks: Arc::default(),
        };
        catalog.rebuild();
        Ok(catalog)
    }

    /// Returns the current snapshot of all lists as Drawbridge reads them for itself. Clients may
    /// see [`Self::client_snapshot`] only.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.load().own.clone()
    }

    /// Returns the current snapshot for a client.
    pub fn client_snapshot(&self, client: &ClientName) -> Arc<Snapshot> {
        self.snapshots.load().visible_to(client).clone()
    }

    /// Returns the catalog view of a client session.
    pub fn session_view(&self, session: &ClientSession) -> Arc<CatalogView> {
        self.client_view(&session.client, &session.scope)
    }

    /// Returns the catalog view of a client without a session.
    pub fn client_view(&self, client: &ClientName, scope: &ClientScope) -> Arc<CatalogView> {
        self.snapshots.load().visible_to(client).client_view(
            &scope.servers,
            max_tool_name(client),
            &self.profiles.in_scope(client, scope),
        )
    }

    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// Returns the exposed lists that have changed.
    pub fn kind_changes(&self) -> &KindChanges {
        &self.kind_changes
    }

    /// Returns Drawbridge's own copy of a server.
    pub fn copy(&self, id: &ServerId) -> ServerCopy {
        self.copy_of(&CopyKey::own(id))
    }

    fn copy_of(&self, key: &CopyKey) -> ServerCopy {
        self.lock()
            .get(key)
            .cloned()
            .unwrap_or_else(|| ServerCopy::empty(key.server.clone()))
    }

    /// Returns the definitions that need acceptance, from all current copies of a server, each
    /// version once.
    pub fn definitions(&self, id: &ServerId) -> Vec<(DefinitionKind, Arc<Definition>)> {
        let copies = self.lock();
        copies
            .definitions(id)
            .into_iter()
            .map(|(kind, definition)| (kind, definition.clone()))
            .collect()
    }

    /// Returns the versions of a server's tool, accepted or not, in the copy of `client`, or in the
    /// copies of all clients if `client` is `None`. If these copies do not contain the tool,
    /// returns Drawbridge's own version.
    pub fn tool_versions(
        &self,
        server: &ServerId,
        name: &str,
        client: Option<&ClientName>,
    ) -> Vec<Arc<Definition>> {
        self.lock().tool_versions(server, name, client)
    }

    /// Returns the new and changed definitions of a server, which wait for a person.
    pub fn unaccepted(&self, id: &ServerId) -> Vec<(AcceptanceState, DefinitionId)> {
        self.lock().unaccepted(id)
    }

    /// Returns true if a server's copy was never read, is outdated, or is older than its time to
    /// live. The spec sets the time to live, or else the settings do. While the server runs, it may
    /// state a shorter time. While it sleeps, the time to live is at least an hour.
    pub fn is_stale(&self, server: &RegisteredServer, copy: &ServerCopy) -> bool {
        let ttl_of_spec = server
            .spec
            .cache_ttl_ms
            .map(|ms| Duration::from_millis(ms.into()));
        let ttl = effective_ttl(
            ttl_of_spec.unwrap_or_else(|| self.settings.get().cache_ttl),
            copy.row.ttl_ms,
            self.is_asleep(server),
        );
        let is_old = |synced_at| is_old(synced_at, clock::now(), ttl);
        copy.is_outdated || copy.row.last_synced_at.is_none_or(is_old)
    }

    /// Returns true if the server is a program that does not run.
    fn is_asleep(&self, server: &RegisteredServer) -> bool {
        server.spec.command.is_some() && !self.pool.is_active(&server.id)
    }

    /// Rebuilds the snapshots from the current specs and copies. Logs the entries that the new
    /// snapshots exclude and the old snapshots did not, and reports which lists changed.
    pub fn rebuild(&self) {
        // Lock the copies before reading the specs. Otherwise, of two concurrent rebuilds, the
        // rebuild with older specs could store its snapshots last.
        let copies = self.lock();
        let specs = self.registry.specs();
        let mut servers: Vec<_> = specs
            .servers
            .values()
            .filter(|server| self.registry.may_run(server))
            .collect();
        // The server that was accepted first keeps a contested name or URI.
        servers.sort_by_cached_key(|server| self.registry.accepted_since(&server.id));
        let old = self.snapshots.load_full();
        let new = Snapshots::build(&old, &servers, &copies);
        if new.is_same(&old) {
            return;
        }
        self.snapshots.store(Arc::new(new));
        let new = self.snapshots.load();
        let is_new = |exclusion: &&Exclusion| {
            !exclusion.is_intended && !old.own.all().excluded().contains(exclusion)
        };
        let excluded = new.own.all().excluded().iter();
        for exclusion in excluded.filter(is_new).take(MAX_LOGGED) {
            log_excluded_entry(
                self.pool.connector().logs(),
                &exclusion.server,
                &exclusion.entry,
            );
        }
        new.list_changes(&old)
            .into_iter()
            .for_each(|change| self.kind_changes.insert(change));
    }

    /// Deletes the data of a removed server, also in the store. Waits for a sync that is still
    /// running.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn delete_server(&self, id: &ServerId) -> Result<(), StoreError> {
        let lock = self.sync_lock(id);
        let _one_at_a_time = lock.lock().await;
        self.store.remove_server(id).await?;
        self.lock().remove_server(id);
        self.rebuild();
        Ok(())
    }

    /// Deletes the copies of a revoked client, also in the store.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn delete_client(&self, client: &ClientName) -> Result<(), StoreError> {
        self.lock().remove_client(client);
        self.rebuild();
        self.store.delete_client_copies_by_client(client).await
    }

    /// Starts to read the servers whose copies are missing or stale: Drawbridge's own copies, and
    /// those of the client of a session. Called before the hub answers from the catalog. Waits only
    /// for servers that are read for the first time, at most until [`FIRST_READ_TIMEOUT`] after the
    /// last of these reads began.
    pub async fn refresh_stale(&self, session: Option<&Arc<ClientSession>>) {
        let now = Instant::now();
        let (mut first_reads, mut deadline) = (Vec::new(), now);
        let stale = self.stale_servers(session);
        self.metrics
            .count_cache_request(Cache::Catalog, stale.is_empty());
        for StaleServer {
            id,
            reading_since,
            is_first_read,
        } in stale
        {
            let wait_deadline = reading_since.unwrap_or(now) + FIRST_READ_TIMEOUT;
            let may_wait = is_first_read && wait_deadline > now;
            if reading_since.is_some() && !may_wait {
                continue;
            }
            let (catalog, session) = (self.clone(), session.cloned());
            let sync = tokio::spawn(async move { catalog.refresh(&id, session.as_ref()).await });
            if may_wait {
                first_reads.push(sync);
                deadline = deadline.max(wait_deadline);
            }
        }
        let _ = timeout_at(deadline, join_all(first_reads)).await;
    }

    /// Waits for the first read of the servers to which this exposed name may belong, at most as
    /// long as each server may be silent during a call. Returns whether there was a server to read.
    pub async fn read_server_of(&self, session: &Arc<ClientSession>, exposed_name: &str) -> bool {
        let is_candidate = |server: &RegisteredServer| {
            session.scope.includes(&server.id)
                && merge::has_prefix_of(&session.scope, server, exposed_name)
        };
        let stale = self.stale_servers(Some(session)).into_iter();
        let servers = stale
            .filter(|stale| stale.is_first_read)
            .filter_map(|stale| {
                let server = self.registry.get_runnable(&stale.id).ok()?;
                is_candidate(&server).then_some(server)
            });
        let read = |server: Arc<RegisteredServer>| {
            let (catalog, session) = (self.clone(), session.clone());
            let limit = RequestTimeouts::from_spec(&server.spec.timeouts, None).inactivity;
            let id = server.id.clone();
            timeout(
                limit,
                tokio::spawn(async move { catalog.refresh(&id, Some(&session)).await }),
            )
        };
        !join_all(servers.map(read)).await.is_empty()
    }

    /// Reads the stale copies of a server: Drawbridge's own, and then that of a client, if the
    /// server has private lists.
    async fn refresh(&self, id: &ServerId, session: Option<&Arc<ClientSession>>) {
        let client_key = |session: &Arc<ClientSession>| CopyKey::of_client(id, &session.client);
        for key in [CopyKey::own(id)]
            .into_iter()
            .chain(session.map(client_key))
        {
            let Some(stale) = self.find_stale(&key) else {
                continue;
            };
            let is_done = |copy: &ServerCopy| copy.syncs_ended != stale.syncs_ended;
            if self.sync_unless(&key, session, is_done).await.is_err() {
                return;
            }
        }
    }

    /// Returns the servers of which Drawbridge's own copy, or the copy of the session's client, is
    /// missing or stale. Notes the session in the client's copies.
    fn stale_servers(&self, session: Option<&Arc<ClientSession>>) -> Vec<StaleServer> {
        let mut copies = self.lock();
        if let Some(session) = session {
            copies.note_session(session);
        }
        let specs = self.registry.specs();
        let stale_server = |server: &Arc<RegisteredServer>| {
            let own = CopyKey::own(&server.id);
            let client_key = session.map(|session| CopyKey::of_client(&server.id, &session.client));
            let stale: Vec<_> = [own]
                .into_iter()
                .chain(client_key)
                .filter_map(|key| self.stale_copy(&copies, server, &key))
                .collect();
            let first_read = stale.iter().find(|copy| copy.is_first_read);
            let reading_since = match first_read {
                Some(copy) => copy.reading_since,
                None => stale.iter().map(|copy| copy.reading_since).min()?,
            };
            Some(StaleServer {
                id: server.id.clone(),
                reading_since,
                is_first_read: first_read.is_some(),
            })
        };
        specs
            .servers
            .values()
            .filter(|server| self.registry.may_run(server))
            .filter_map(stale_server)
            .collect()
    }

    fn find_stale(&self, key: &CopyKey) -> Option<StaleCopy> {
        let server = self.registry.get_runnable(&key.server).ok()?;
        self.stale_copy(&self.lock(), &server, key)
    }

    /// Returns a copy that has to be read now, because it is missing or stale.
    fn stale_copy(
        &self,
        copies: &Copies,
        server: &RegisteredServer,
        key: &CopyKey,
    ) -> Option<StaleCopy> {
        if key.client.is_some() && !copies.current(server)?.row.has_private_lists {
            return None;
        }
        let failed_within = |copy: &ServerCopy, delay| {
            copy.failed_at
                .is_some_and(|failed_at| failed_at.elapsed() < delay)
        };
        let copy = copies.get(key);
        let is_unread = copy.is_none_or(|copy| {
            copy.row.last_synced_at.is_none() || copy.identity != server.identity
        });
        let is_asleep = self.is_asleep(server);
        // A client's first copy alone is no reason to start a sleeping server: until it is read,
        // the client sees Drawbridge's copy.
        let is_due = if is_unread && !(is_asleep && key.client.is_some()) {
            copy.is_none_or(|copy| !failed_within(copy, RETRY_DELAY))
        } else if is_asleep {
            // Each read would start the server, so it is read only if all its copies are stale.
            copies.of_server(&server.id).all(|(_, copy)| {
                self.is_stale(server, copy) && !failed_within(copy, MIN_TTL_ASLEEP)
            })
        } else {
            copy.is_some_and(|copy| {
                self.is_stale(server, copy) && !failed_within(copy, RETRY_DELAY)
            })
        };
        is_due.then(|| StaleCopy {
            syncs_ended: copy.map_or(0, |copy| copy.syncs_ended),
            reading_since: copy.and_then(|copy| copy.reading_since),
            is_first_read: is_unread && copy.is_none_or(|copy| copy.failed_at.is_none()),
        })
    }

    /// Reads a server's lists into its copies. The sync continues if the caller is dropped.
    ///
    /// # Errors
    /// Returns an error if the server may not run, if it cannot be read, or if its lists cannot be
    /// stored. In this case, the copies keep their lists.
    pub async fn sync(&self, id: &ServerId) -> Result<(), SyncError> {
        let sync = self.start_sync(id.clone());
        sync.await.unwrap_or(Err(SyncError::FailedRecently))
    }

    /// Starts a [`Self::sync`] in the background, which reads the server for Drawbridge and, if the
    /// server has private lists, for each connected client that has a copy of its own.
    pub fn start_sync(&self, id: ServerId) -> JoinHandle<Result<(), SyncError>> {
        // Any sync that begins from now on sees all changes of which the caller knows. If another
        // task begins a sync first, this call does not read the server again.
        let mut syncs_begun: Vec<_> = {
            let copies = self.lock();
            let begun = |(key, copy): (&CopyKey, &ServerCopy)| (key.clone(), copy.syncs_begun);
            copies.of_server(&id).map(begun).collect()
        };
        let own = CopyKey::own(&id);
        if syncs_begun.first().is_none_or(|(key, _)| *key != own) {
            syncs_begun.insert(0, (own, 0));
        }
        let catalog = self.clone();
        tokio::spawn(async move {
            for (key, syncs_begun) in syncs_begun {
                let synced = catalog
                    .sync_unless(&key, None, |copy| copy.syncs_begun != syncs_begun)
                    .await;
                if key.client.is_none() {
                    synced?;
                }
            }
            Ok(())
        })
    }

    /// Syncs a copy when no other sync of the server runs. If `is_done` returns true by then,
    /// returns the outcome of the last sync instead. A client's copy is added and read for
    /// `session`, or else for the session in which the client last sent a request that refreshes
    /// the catalog. If that session has ended, the copy is only marked as outdated.
    async fn sync_unless(
        &self,
        key: &CopyKey,
        session: Option<&Arc<ClientSession>>,
        is_done: impl Fn(&ServerCopy) -> bool,
    ) -> Result<(), SyncError> {
        let lock = self.sync_lock(&key.server);
        let _one_at_a_time = lock.lock().await;
        if let (Some(_), Some(session)) = (&key.client, session) {
            // The copy is added only now: a sync that still ran for a revoked client of the same
            // name would have used the new copy as its own.
            self.lock().add_client_copy(&key.server, session);
        }
        let copy = self.copy_of(key);
        if is_done(&copy) {
            return if copy.failed_at.is_none() {
                Ok(())
            } else {
                Err(SyncError::FailedRecently)
            };
        }
        let session = copy.client_session.upgrade();
        let handle = session
            .filter(|session| !session.ended.is_cancelled())
            .map(ClientHandle::for_session);
        if key.client.is_some() && handle.is_none() {
            self.lock().mark_outdated(key);
            return Ok(());
        }
        self.update_copy(key, |copy| {
            copy.syncs_begun += 1;
            copy.reading_since = Some(Instant::now());
            copy.row.sync_status = SyncStatus::Syncing;
        });
        self.metrics.count_cache_refresh(Cache::Catalog);
        let result = self.read_with_slot(key, handle.as_ref()).await;
        if let Some(client) = &key.client
            && self.lock().get(key).is_none()
        {
            // The client was revoked meanwhile.
            return Ok(self.store.delete_client_copies_by_client(client).await?);
        }
        self.update_copy(key, |copy| {
            copy.syncs_ended += 1;
            copy.reading_since = None;
            match &result {
                Ok(new) => {
                    *copy = ServerCopy {
                        syncs_begun: copy.syncs_begun,
                        syncs_ended: copy.syncs_ended,
                        reading_since: None,
                        client_session: copy.client_session.clone(),
                        ..new.clone()
                    };
                }
                Err(_) => {
                    copy.row.sync_status = SyncStatus::Failed;
                    copy.failed_at = Some(Instant::now());
                }
            }
        });
        if let Ok(new) = &result {
            let mut copies = self.lock();
            copies.share_accepted(&key.server, &new.accepted);
            if !new.row.has_private_lists {
                copies.remove_client_copies(&key.server);
            }
        }
        self.rebuild();
        result.map(drop).inspect_err(|error| {
            tracing::warn!(
                "Drawbridge cannot read the lists of the server {}: {error}",
                key.server
            )
        })
    }

    /// Reads a server as soon as a slot is free. A slow server gives up its slot after
    /// [`SLOT_TIMEOUT`], so that other servers need not wait.
    async fn read_with_slot(
        &self,
        key: &CopyKey,
        client: Option<&ClientHandle>,
    ) -> Result<ServerCopy, SyncError> {
        let slot = self.read_slots.acquire().await;
        let mut reading = std::pin::pin!(self.read_server(key, client));
        tokio::select! {
            read = &mut reading => read,
            () = tokio::time::sleep(SLOT_TIMEOUT) => {
                drop(slot);
                reading.await
            }
        }
    }

    /// Reads a server for Drawbridge or for a client, and writes the result to the store.
    async fn read_server(
        &self,
        key: &CopyKey,
        client: Option<&ClientHandle>,
    ) -> Result<ServerCopy, SyncError> {
        let id = &key.server;
        let server = self.registry.get(id)?;
        // Get the session first, then check whether the server may run: a spec that changes after
        // the check ends the session.
        let session = self.pool.session(&server, key.client.as_ref());
        let server = self.registry.get_runnable(id)?;
        if session.server().identity != server.identity {
            return Err(SyncError::SpecChanging);
        }
        let sync::SyncedServer {
            hello,
            offered,
            ttl_ms,
            is_private,
            excluded,
        } = sync::read_server(&session, client).await?;
        let own = self.copy(id);
        let previous = self.copy_of(key);
        let read = ServerRow {
            sync_status: SyncStatus::Synced,
            last_synced_at: Some(clock::now()),
            ttl_ms,
            excluded: self.mask_secrets(excluded),
            ..own.row.clone()
        };
        let (row, before) = match &key.client {
            None => {
                let row = ServerRow {
                    synced_identity: Some(server.identity.clone()),
                    server_name: Some(hello.server_info.name),
                    server_version: Some(hello.server_info.version),
                    protocol_version: Some(hello.protocol_version),
                    instructions: hello.instructions.map(instructions::limit_length),
                    extensions: hello.capabilities.extensions().clone(),
                    offers_resources: Some(hello.capabilities.may_offer(CapabilityKind::Resources)),
                    has_private_lists: is_private,
                    ..read
                };
                (row, own)
            }
            Some(_) if own.identity != server.identity => return Err(SyncError::SpecChanging),
            Some(_) => (read, own.before_sync_of(&previous)),
        };
        if server.spec.content_defence != ContentDefence::Off {
            fill_in_flags(&offered).await;
        }
        let after = before.after_sync(&server, row, offered);
        let offered_before: HashSet<_> = self
            .definitions(id)
            .iter()
            .map(|(kind, definition)| definition_id(*kind, definition))
            .collect();
        self.store_sync(&server, key, &after).await?;
        report_unaccepted(&server, &offered_before, &after, &self.store);
        report_flagged(
            &server,
            &offered_before,
            &after,
            self.pool.connector().logs(),
        );
        record_accepted(&server, &before, &after, &self.store);
        log_excluded(
            self.pool.connector().logs(),
            id,
            &after.row.excluded,
            &previous.row.excluded,
        );
        Ok(after)
    }

    /// Returns the entries with the secrets masked in their names and reasons, which may contain
    /// text of the server.
    pub fn mask_secrets(&self, mut excluded: ExcludedEntries) -> ExcludedEntries {
        let logs = self.pool.connector().logs();
        for entry in &mut excluded.entries {
            (entry.name, entry.reason) =
                (logs.mask_text(&entry.name), logs.mask_text(&entry.reason));
        }
        excluded
    }

    /// Returns the excluded entries of a server: those that its last sync excluded, such as
    /// malformed definitions, and those that the merge excluded, such as entries with a taken name.
    pub fn excluded(&self, id: &ServerId) -> ExcludedEntries {
        let mut excluded = self.copy(id).row.excluded;
        let snapshot = self.snapshot();
        let taken = snapshot
            .all()
            .excluded()
            .iter()
            .filter(|exclusion| exclusion.server == *id && !exclusion.is_intended);
        taken.for_each(|exclusion| {
            excluded.push(ExcludedEntry::new(
                exclusion.entry.kind,
                &exclusion.entry.name,
                &exclusion.entry.reason,
            ))
        });
        excluded
    }

    /// Writes the result of a sync to the store.
    async fn store_sync(
        &self,
        server: &RegisteredServer,
        key: &CopyKey,
        copy: &ServerCopy,
    ) -> Result<(), StoreError> {
        let accepted_by = match server.spec.definitions {
            DefinitionPolicy::Trust => AcceptedBy::Trust,
            DefinitionPolicy::Ask | DefinitionPolicy::Keep => AcceptedBy::Person,
        };
        let version = |(kind, definition): (DefinitionKind, &Arc<Definition>)| {
            let is_accepted = copy.accepted.contains(kind, definition);
            OfferedDefinition {
                id: definition_id(kind, definition),
                definition: definition.raw.get().to_owned(),
                accepted_by: is_accepted.then_some(accepted_by),
            }
        };
        // The store deletes old versions that are not offered, so it needs the versions in all
        // copies.
        let versions: Vec<_> = {
            let copies = self.lock();
            let others = copies
                .of_server(&server.id)
                .filter(|(other, _)| *other != key);
            let mut distinct = HashSet::new();
            copy.definitions()
                .chain(others.flat_map(|(_, other)| other.definitions()))
                .filter(|(kind, definition)| {
                    distinct.insert((*kind, &definition.name, &definition.digest))
                })
                .map(version)
                .collect()
        };
        let Some(client) = &key.client else {
            self.store
                .record_sync(&copy.row, &copy.lists(), &versions)
                .await?;
            if !copy.row.has_private_lists {
                self.store
                    .delete_client_copies_by_server(&server.id)
                    .await?;
            }
            return Ok(());
        };
        let row = ClientCopyRow {
            server: server.id.clone(),
            client: client.clone(),
            identity: copy.identity.clone(),
            synced_at: copy.row.last_synced_at.unwrap_or_else(clock::now),
            ttl_ms: copy.row.ttl_ms,
            lists: copy.lists(),
        };
        self.store.record_client_copy(&row, &versions).await
    }

    /// Accepts these definitions, as a person decided. If there is an error, accepts none.
    ///
    /// # Errors
    /// Returns an error if the server no longer offers one of the definitions, if one of several
    /// definitions has to be accepted on its own, or if the store cannot be written.
    pub async fn accept_definitions(
        &self,
        id: &ServerId,
        definitions: &[DefinitionId],
    ) -> Result<(), AcceptError> {
        let lock = self.sync_lock(id);
        let _one_at_a_time = lock.lock().await;
        let offered: HashSet<_> = self
            .definitions(id)
            .iter()
            .map(|(kind, definition)| definition_id(*kind, definition))
            .collect();
        if let Some(gone) = definitions.iter().find(|id| !offered.contains(id)) {
            return Err(AcceptError::NoLongerOffered(gone.name.clone()));
        }
        if definitions.len() > 1
            && let Some((kind, flagged)) = self.find_flagged(id, definitions)
        {
            return Err(AcceptError::Flagged(kind, flagged.name.clone()));
        }
        self.store.accept_definitions(id, definitions).await?;
        let mut accepted = self.copy(id).accepted;
        definitions
            .iter()
            .for_each(|definition| accepted.insert(definition.clone()));
        self.lock().share_accepted(id, &accepted);
        self.events.publish(Event::ServerChanged { id: id.clone() });
        self.rebuild();
        Ok(())
    }

    /// Returns the first of these definitions that a person has to accept on its own.
    fn find_flagged(
        &self,
        id: &ServerId,
        definitions: &[DefinitionId],
    ) -> Option<(DefinitionKind, Arc<Definition>)> {
        let server = self.registry.get(id).ok()?;
        let asks = server.spec.content_defence == ContentDefence::Ask;
        self.definitions(id).into_iter().find(|(kind, definition)| {
            asks && definitions.contains(&definition_id(*kind, definition))
                && !definition.flags().is_empty()
        })
    }

    /// Returns Drawbridge's copy of a server's lists, after the sync that runs now has ended.
    pub async fn synced_copy(&self, id: &ServerId) -> ServerCopy {
        let lock = self.sync_lock(id);
        let _not_during_a_sync = lock.lock().await;
        self.copy(id)
    }

    fn sync_lock(&self, id: &ServerId) -> Arc<tokio::sync::Mutex<()>> {
        self.sync_locks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(id.clone())
            .or_default()
            .clone()
    }

    /// Changes a copy, but not the snapshots. If the change affects the lists that clients see, the
    /// caller has to rebuild the snapshots. Does nothing to the copy of a client that was revoked.
    fn update_copy(&self, key: &CopyKey, change: impl FnOnce(&mut ServerCopy)) {
        self.lock().get_mut(key).map(change);
        self.events.publish(Event::ServerChanged {
            id: key.server.clone(),
        });
    }

    /// Spawns tasks that read servers again when their lists have changed, and running servers when
    /// Drawbridge's own copy is stale. The tasks end when the returned set is dropped.
    pub fn spawn_refresh(&self, list_changes: ListChanges) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(sync::sync_changed(self.clone(), list_changes));
        tasks.spawn(sync::refresh_active(self.clone()));
        tasks
    }

    fn lock(&self) -> MutexGuard<'_, Copies> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server with copies that are missing or stale.
struct StaleServer {
    id: ServerId,
    /// When the running sync began, or `None` if a stale copy is not being read yet. If a copy is
    /// read for the first time, only the first such copy counts.
    reading_since: Option<Instant>,
    /// True if [`StaleCopy::is_first_read`] is true for one of the copies.
    is_first_read: bool,
}

/// A copy that is missing or stale.
struct StaleCopy {
    syncs_ended: u64,
    reading_since: Option<Instant>,
    /// True if the copy has never been read from the server with this identity, and its last read
    /// did not fail.
    is_first_read: bool,
}

/// The reason why a definition was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error("the server no longer offers '{0}' as it was shown; check it again")]
    NoLongerOffered(String),
    #[error(
        "the {noun} '{1}' is flagged by the content defence, so it has to be accepted on its own; check it, and accept \
         the others without it",
        noun = .0.noun()
    )]
    Flagged(DefinitionKind, String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Loads the copy of a server from the store.
async fn load_copy(store: &Store, mut row: ServerRow) -> Result<ServerCopy, StoreError> {
    row.instructions = row.instructions.map(instructions::limit_length);
    let offered = parse_lists(store.capabilities(&row.id).await?);
    let definitions = list_definitions(&offered, row.instructions.as_deref());
    let versions = store.definitions(&row.id).await?;
    let mut accepted = AcceptedDefinitions::default();
    let mut last_accepted = BTreeMap::<_, BTreeMap<_, _>>::new();
    // Oldest first, so that the newest version replaces the older versions.
    for version in versions
        .iter()
        .rev()
        .filter(|version| version.accepted_at.is_some())
    {
        accepted.insert(DefinitionId {
            kind: version.kind,
            name: version.name.clone(),
            digest: version.digest.clone(),
        });
        if let Ok(definition) = Definition::parse_stored(version.kind, version.definition.clone()) {
            last_accepted
                .entry(version.kind)
                .or_default()
                .insert(definition.name.clone(), Arc::new(definition));
        }
    }
    // A sync records the versions of all offered definitions. If a kind has definitions and no
    // recorded version, an earlier version of Drawbridge, which did not ask about this kind, wrote
    // the copy. The definitions then count as accepted with their server.
    let recorded_kinds: HashSet<_> = versions.iter().map(|version| version.kind).collect();
    let unrecorded: Vec<_> = definitions
        .iter()
        .filter(|(kind, _)| !recorded_kinds.contains(kind))
        .flat_map(|(kind, definitions)| definitions.iter().map(|definition| (*kind, definition)))
        .map(|(kind, definition)| OfferedDefinition {
            id: definition_id(kind, definition),
            definition: definition.raw.get().to_owned(),
            accepted_by: Some(AcceptedBy::Person),
        })
        .collect();
    if !unrecorded.is_empty() {
        store.record_definitions(&row.id, &unrecorded).await?;
        unrecorded
            .into_iter()
            .for_each(|version| accepted.insert(version.id));
    }
    let identity = row.synced_identity.clone().unwrap_or_default();
    let id = row.id.clone();
    let mut copy = ServerCopy {
        row,
        offered,
        definitions,
        accepted,
        last_accepted,
        identity,
        ..ServerCopy::empty(id)
    };
    copy.recompute_visible();
    Ok(copy)
}

/// Reads stored lists. Definitions that can no longer be read are missing from the result.
fn parse_lists(stored: StoredLists) -> Offered {
    let parse_all = |kind, texts: Vec<String>| {
        texts
            .into_iter()
            .filter_map(|text| Definition::parse(kind, text).ok())
            .map(Arc::new)
            .collect()
    };
    stored
        .into_iter()
        .map(|(kind, texts)| (kind, parse_all(kind, texts)))
        .collect()
}

/// Returns true if clients keep seeing the accepted version of a definition that has changed.
fn retains_changed(server: &RegisteredServer) -> bool {
    server.spec.definitions == DefinitionPolicy::Keep
}

/// Reports the definitions that a sync has added or changed and that nobody has accepted yet.
fn report_unaccepted(
    server: &RegisteredServer,
    offered_before: &HashSet<DefinitionId>,
    after: &ServerCopy,
    store: &Store,
) {
    let id = &server.id;
    tracing::info!("server {id}: {} tools read", after.tools().len());
    let unaccepted: Vec<_> = after
        .unaccepted()
        .filter(|(_, definition)| !offered_before.contains(definition))
        .collect();
    for (state, DefinitionId { kind, name, digest }) in unaccepted.iter().take(MAX_LOGGED) {
        let change = if *state == AcceptanceState::New {
            "new"
        } else {
            "changed"
        };
        let consequence = if *state == AcceptanceState::Changed && retains_changed(server) {
            "clients see the accepted definition until you accept this one"
        } else {
            "clients do not see it until you accept it"
        };
        let noun = kind.noun();
        tracing::warn!("server {id}: {change} {noun} '{name}'; {consequence}");
        let note =
            json!({ "server": id, "kind": kind, "name": name, "digest": digest, "change": change });
        store.append_audit(AuditKind::DefinitionChanged, &note);
    }
    if let Some(more) = unaccepted
        .len()
        .checked_sub(MAX_LOGGED)
        .filter(|more| *more > 0)
    {
        tracing::warn!("server {id}: {more} more new or changed definitions");
        let note = json!({ "server": id, "more": more });
        store.append_audit(AuditKind::DefinitionChanged, &note);
    }
}

/// Finds the flags of all definitions in advance: each definition keeps its flags. Runs on a
/// blocking thread, because the definitions may have 32 MiB.
async fn fill_in_flags(offered: &Offered) {
    let definitions: Vec<_> = offered.values().flatten().cloned().collect();
    let scanning = tokio::task::spawn_blocking(move || {
        for definition in definitions {
            definition.flags();
        }
    });
    if scanning.await.is_err() {
        tracing::error!("the scan of definitions failed; they are scanned when they are used");
    }
}

/// Logs the flags of the definitions that a sync has added or changed.
fn report_flagged(
    server: &RegisteredServer,
    offered_before: &HashSet<DefinitionId>,
    after: &ServerCopy,
    logs: &Logs,
) {
    if server.spec.content_defence == ContentDefence::Off {
        return;
    }
    let flagged = after.definitions().filter(|(kind, definition)| {
        !offered_before.contains(&definition_id(*kind, definition))
            && !definition.flags().is_empty()
    });
    for (kind, definition) in flagged.take(MAX_LOGGED) {
        for flag in definition.flags() {
            let text = format!(
                "the {} '{}' contains {} at {}: {}",
                kind.noun(),
                definition.name,
                flag.kind.label(),
                flag.place,
                flag.excerpt
            );
            logs.add_server_line(&server.id, Level::Warn, "content", &text);
        }
    }
}

/// Records, in the audit log, the definitions that a sync has accepted without a person's decision
/// on each of them.
fn record_accepted(
    server: &RegisteredServer,
    before: &ServerCopy,
    after: &ServerCopy,
    store: &Store,
) {
    let mut accepted: Vec<_> = after
        .definitions()
        .filter(|(kind, definition)| {
            after.accepted.contains(*kind, definition)
                && !before.accepted.contains(*kind, definition)
        })
        .map(|(kind, definition)| definition_id(kind, definition))
        .collect();
    if accepted.is_empty() {
        return;
    }
    let more = accepted.len().saturating_sub(MAX_LOGGED);
    accepted.truncate(MAX_LOGGED);
    let by = match server.spec.definitions {
        DefinitionPolicy::Trust => "trust",
        DefinitionPolicy::Ask | DefinitionPolicy::Keep => "first_sync",
    };
    let note = json!({ "server": server.id, "by": by, "definitions": accepted, "more": more });
    store.append_audit(AuditKind::DefinitionAccepted, &note);
}

/// Logs the entries of a server's lists that are excluded and were not excluded before.
fn log_excluded(logs: &Logs, id: &ServerId, excluded: &ExcludedEntries, before: &ExcludedEntries) {
    if excluded == before {
        return;
    }
    excluded
        .entries
        .iter()
        .filter(|entry| !before.entries.contains(entry))
        .for_each(|entry| log_excluded_entry(logs, id, entry));
    if excluded.more > 0 {
        logs.add_server_line(
            id,
            Level::Warn,
            "catalog",
            &format!("excluded {} more entries", excluded.more),
        );
    }
}

fn log_excluded_entry(logs: &Logs, id: &ServerId, entry: &ExcludedEntry) {
    logs.add_server_line(id, Level::Warn, "catalog", &format!("excluded {entry}"));
}

/// Returns true if a copy is older than its time to live. A copy from the future is old too: the
/// clock was set back, so the copy's age is unknown.
fn is_old(read_at: Timestamp, now: Timestamp, ttl: Duration) -> bool {
    let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
    !(0..=ttl).contains(&now.0.saturating_sub(read_at.0))
}

/// Returns how long a copy counts as fresh: `configured`, the time that the user configured, or
/// `stated_ms`, the time that the server states, if that is shorter. The result is at least
/// [`MIN_TTL`], unless the user configured less. If the server sleeps, its own time does not count,
/// and the result is at least [`MIN_TTL_ASLEEP`].
fn effective_ttl(configured: Duration, stated_ms: Option<u32>, is_asleep: bool) -> Duration {
    if is_asleep {
        return configured.max(MIN_TTL_ASLEEP);
    }
    stated_ms.map_or(configured, |ttl| {
        Duration::from_millis(ttl.into()).clamp(MIN_TTL.min(configured), configured)
    })
}

#[cfg(test)]
mod tests;
