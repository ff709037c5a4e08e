//! The catalog: the tools of all servers as one immutable snapshot, and the copy of each server's
//! tools in the store, from which the snapshot is made. Readers never wait.

mod definition;
mod merge;
mod sync;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::{sync::mpsc, time::Instant};

pub use definition::Definition;
pub use merge::{CatalogTool, Snapshot};
pub use sync::{SyncError, all_tools};

use crate::{
    clock,
    events::Events,
    model::{event::Event, ids::ServerId, server::SyncStatus, spec::Registered},
    registry::Registry,
    settings::Settings,
    store::{Store, StoreError, table::server::ServerRow},
    upstream::Pool,
};

/// After a failed sync a server is left alone for that long.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// The catalog. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    registry: Registry,
    pool: Pool,
    store: Store,
    settings: Settings,
    events: Events,
    snapshot: Arc<ArcSwap<Snapshot>>,
    copies: Arc<Mutex<BTreeMap<ServerId, ServerCopy>>>,
    /// One sync of a server at a time.
    syncing: Arc<Mutex<BTreeMap<ServerId, Arc<tokio::sync::Mutex<()>>>>>,
}

/// The catalog's copy of a server.
#[derive(Clone)]
pub struct ServerCopy {
    pub row: ServerRow,
    pub tools: Vec<Arc<Definition>>,
    /// Grows with each sync that succeeded.
    generation: u64,
    failed_at: Option<Instant>,
}

impl ServerCopy {
    fn unknown(id: ServerId) -> Self {
        Self { row: ServerRow::unknown(id), tools: Vec::new(), generation: 0, failed_at: None }
    }
}

impl Catalog {
    /// Reads the copies and makes the first snapshot.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn load(
        registry: Registry,
        pool: Pool,
        store: Store,
        settings: Settings,
        events: Events,
    ) -> Result<Self, StoreError> {
        let mut copies = BTreeMap::new();
        for row in store.servers().await? {
            let definitions = store.tools(&row.id).await?;
            let tools = definitions.into_iter().filter_map(|text| Definition::read(text).ok()).map(Arc::new).collect();
            copies.insert(row.id.clone(), ServerCopy { row, tools, generation: 0, failed_at: None });
        }
        let catalog = Self {
            registry,
            pool,
            store,
            settings,
            events,
            snapshot: Arc::default(),
            copies: Arc::new(Mutex::new(copies)),
            syncing: Arc::default(),
        };
        catalog.rebuild();
        Ok(catalog)
    }

    /// The tools as clients see them now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The copy of a server.
    pub fn copy(&self, id: &ServerId) -> ServerCopy {
        self.lock().get(id).cloned().unwrap_or_else(|| ServerCopy::unknown(id.clone()))
    }

    /// Whether a server's copy is older than its time to live.
    pub fn is_stale(&self, copy: &ServerCopy) -> bool {
        let ttl = i64::try_from(self.settings.get().cache_ttl.as_millis()).unwrap_or(i64::MAX);
        copy.row.last_synced_at.is_none_or(|at| {
            let age = clock::now().0.saturating_sub(at.0);
            // An age below zero is a clock that was set back: nothing is known of the copy's age.
            !(0..=ttl).contains(&age)
        })
    }

    /// Makes the snapshot anew, from the specs and the copies as they are.
    pub fn rebuild(&self) {
        let specs = self.registry.specs();
        let copies = self.lock();
        let servers = specs.servers.values().filter(|server| self.registry.may_run(server));
        let tools = servers.filter_map(|server| Some((server.clone(), copies.get(&server.id)?.tools.as_slice())));
        self.snapshot.store(Arc::new(Snapshot::merge(tools)));
    }

    /// Forgets the copy of a server: it was removed, or is another one now.
    pub fn forget(&self, id: &ServerId) {
        self.lock().remove(id);
        self.rebuild();
    }

    /// Before an answer from the catalog: a server never read before is waited for, a stale copy is refreshed behind.
    pub async fn freshen(&self) {
        let specs = self.registry.specs();
        let mut first_reads = Vec::new();
        for server in specs.servers.values().filter(|server| self.registry.may_run(server)) {
            let copy = self.copy(&server.id);
            let failed_lately = copy.failed_at.is_some_and(|at| at.elapsed() < AFTER_FAILURE);
            if failed_lately || !self.is_stale(&copy) {
                continue;
            }
            let (catalog, server) = (self.clone(), server.clone());
            let sync = tokio::spawn(async move { catalog.sync_if(&server, copy.generation).await });
            if copy.row.last_synced_at.is_none() {
                first_reads.push(sync);
            }
        }
        for sync in first_reads {
            let _ = sync.await;
        }
    }

    /// Reads a server's tools into its copy.
    ///
    /// # Errors
    /// Where the server cannot be read; then the copy stays as it was.
    pub async fn sync(&self, server: &Arc<Registered>) -> Result<(), SyncError> {
        let generation = self.copy(&server.id).generation;
        self.sync_if(server, generation).await
    }

    /// Syncs, unless somebody else did since `generation`.
    async fn sync_if(&self, server: &Arc<Registered>, generation: u64) -> Result<(), SyncError> {
        let one =
            self.syncing.lock().unwrap_or_else(PoisonError::into_inner).entry(server.id.clone()).or_default().clone();
        let _one_at_a_time = one.lock().await;
        if self.copy(&server.id).generation != generation {
            return Ok(());
        }
        self.change(&server.id, |copy| copy.row.sync_status = SyncStatus::Syncing);
        let read = sync::read(&self.pool.session(server)).await;
        match read {
            Ok((hello, tools)) => self.synced(server, hello, tools).await,
            Err(error) => {
                tracing::warn!("server {}: cannot read its tools: {error}", server.id);
                self.change(&server.id, |copy| {
                    copy.row.sync_status = SyncStatus::Failed;
                    copy.failed_at = Some(Instant::now());
                });
                self.store.put_sync_failed(&self.copy(&server.id).row).await?;
                Err(error)
            }
        }
    }

    async fn synced(
        &self,
        server: &Arc<Registered>,
        hello: crate::protocol::ServerHello,
        tools: Vec<Definition>,
    ) -> Result<(), SyncError> {
        let row = ServerRow {
            sync_status: SyncStatus::Synced,
            last_synced_at: Some(clock::now()),
            server_name: Some(hello.server_info.name),
            server_version: Some(hello.server_info.version),
            protocol_version: Some(hello.protocol_version),
            instructions: hello.instructions,
            ..self.copy(&server.id).row
        };
        let stored: Vec<_> = tools.iter().map(|tool| (tool.name.as_str(), tool.raw.get())).collect();
        self.store.put_synced(&row, &stored).await?;
        tracing::info!("server {}: {} tools read", server.id, tools.len());
        self.change(&server.id, |copy| {
            copy.row = row;
            copy.tools = tools.into_iter().map(Arc::new).collect();
            copy.generation += 1;
            copy.failed_at = None;
        });
        Ok(())
    }

    fn change(&self, id: &ServerId, change: impl FnOnce(&mut ServerCopy)) {
        change(self.lock().entry(id.clone()).or_insert_with(|| ServerCopy::unknown(id.clone())));
        self.rebuild();
        self.events.tell(Event::ServerChanged { id: id.clone() });
    }

    /// Follows what servers say of their lists, and refreshes what runs before it gets old. Ends with the pool.
    pub fn follow(&self, list_changed: mpsc::UnboundedReceiver<ServerId>) {
        tokio::spawn(sync::follow_changes(self.clone(), list_changed));
        tokio::spawn(sync::refresh_active(self.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerId, ServerCopy>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
