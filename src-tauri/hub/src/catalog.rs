//! The catalog: what all servers offer as one immutable snapshot, and the copy of each server's part
//! in the store, from which the snapshot is made. Readers never wait.

mod definition;
mod merge;
mod sync;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::{task::JoinSet, time::Instant};

pub use definition::Definition;
pub use merge::{CatalogEntry, Lists, Offered, Snapshot};
pub use sync::{SyncError, all_of};

use crate::{
    clock,
    events::Events,
    model::{capability::Kind, event::Event, ids::ServerId, server::SyncStatus},
    registry::Registry,
    sessions::Reach,
    settings::Settings,
    store::{Store, StoreError, table::server::ServerRow},
    upstream::{ListChanges, Noted, Pool},
};

/// A server is not read more often than that, however short it says that what was read may be kept.
const LEAST_TTL: Duration = Duration::from_secs(10);
/// After a failed sync a server is left alone for that long.
const AFTER_FAILURE: Duration = Duration::from_secs(30);
/// How long a list waits for servers that were never read. What comes later is in the next list.
const FIRST_READ: Duration = Duration::from_secs(15);

/// Kinds whose lists at the door have changed.
pub type KindChanges = Noted<Kind>;

/// The catalog. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    registry: Registry,
    pool: Pool,
    store: Store,
    settings: Settings,
    events: Events,
    snapshot: Arc<ArcSwap<Snapshot>>,
    changed: KindChanges,
    copies: Arc<Mutex<BTreeMap<ServerId, ServerCopy>>>,
    /// One sync of a server at a time.
    syncing: Arc<Mutex<BTreeMap<ServerId, Arc<tokio::sync::Mutex<()>>>>>,
}

/// The catalog's copy of a server.
#[derive(Clone)]
pub struct ServerCopy {
    pub row: ServerRow,
    pub offered: Offered,
    /// The identity of the server that it was read from; for another one it is worth nothing.
    identity: String,
    /// Grows with each sync, failed or not.
    attempts: u64,
    failed_at: Option<Instant>,
}

impl ServerCopy {
    fn unknown(id: ServerId) -> Self {
        Self {
            row: ServerRow::unknown(id),
            offered: Offered::new(),
            identity: String::new(),
            attempts: 0,
            failed_at: None,
        }
    }

    pub fn tools(&self) -> &[Arc<Definition>] {
        self.offered.get(&Kind::Tools).map_or(&[], Vec::as_slice)
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
            let stored = store.capabilities(&row.id).await?;
            let read = |kind, texts: Vec<String>| {
                texts.into_iter().filter_map(|text| Definition::read(kind, text).ok()).map(Arc::new).collect()
            };
            let offered = stored.into_iter().map(|(kind, texts)| (kind, read(kind, texts))).collect();
            let identity = row.synced_identity.clone().unwrap_or_default();
            if let Some(version) = &row.protocol_version {
                pool.linker().known().remember(&identity, version);
            }
            copies.insert(row.id.clone(), ServerCopy { row, offered, identity, attempts: 0, failed_at: None });
        }
        let catalog = Self {
            registry,
            pool,
            store,
            settings,
            events,
            snapshot: Arc::default(),
            changed: KindChanges::default(),
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

    /// The kinds whose lists have changed at the door.
    pub fn changed(&self) -> &KindChanges {
        &self.changed
    }

    /// The copy of a server.
    pub fn copy(&self, id: &ServerId) -> ServerCopy {
        self.lock().get(id).cloned().unwrap_or_else(|| ServerCopy::unknown(id.clone()))
    }

    /// Whether a server's copy is older than its time to live: that of the settings, or less where the server says so.
    pub fn is_stale(&self, copy: &ServerCopy) -> bool {
        let ttl = time_to_live(self.settings.get().cache_ttl, copy.row.ttl_ms);
        let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        copy.row.last_synced_at.is_none_or(|at| {
            let age = clock::now().0.saturating_sub(at.0);
            // An age below zero is a clock that was set back: nothing is known of the copy's age.
            !(0..=ttl).contains(&age)
        })
    }

    /// Makes the snapshot anew, from the specs and the copies as they are.
    pub fn rebuild(&self) {
        // The lock first: of two that make a snapshot at once, the later one has read the newer specs.
        let copies = self.lock();
        let specs = self.registry.specs();
        let servers = specs.servers.values().filter(|server| self.registry.may_run(server));
        let offered = servers.filter_map(|server| {
            let copy = copies.get(&server.id).filter(|copy| copy.identity == server.identity)?;
            Some((server.clone(), &copy.offered))
        });
        let new = Snapshot::merge(&offered.collect::<Vec<_>>());
        let old = self.snapshot.swap(Arc::new(new));
        let new = self.snapshot.load();
        for kind in Kind::ALL.into_iter().filter(|kind| old.all().listed(*kind).get() != new.all().listed(*kind).get())
        {
            self.changed.tell(kind);
        }
    }

    /// Forgets a server that was removed, also in the store. A sync that still runs is waited for.
    ///
    /// # Errors
    /// Where the store cannot be written.
    pub async fn forget(&self, id: &ServerId) -> Result<(), StoreError> {
        let one = self.one_sync(id);
        let _one_at_a_time = one.lock().await;
        self.store.remove_server(id).await?;
        self.lock().remove(id);
        self.rebuild();
        Ok(())
    }

    /// What the servers that a client reaches tell a model about themselves, ahead of everything.
    pub fn instructions(&self, reach: &Reach) -> Option<String> {
        let copies = self.lock();
        let specs = self.registry.specs();
        let told = specs.servers.values().filter(|server| self.registry.may_run(server)).filter_map(|server| {
            let copy = copies.get(&server.id).filter(|copy| copy.identity == server.identity)?;
            Some((server, copy.row.instructions.as_deref().filter(|text| !text.trim().is_empty())?))
        });
        match reach {
            Reach::One(id) => told.into_iter().find(|(server, _)| server.id == *id).map(|(_, text)| text.to_owned()),
            Reach::All => {
                let all: Vec<_> = told.map(|(server, text)| format!("# {}\n{text}", server.id)).collect();
                (!all.is_empty()).then(|| all.join("\n\n"))
            }
        }
    }

    /// Before an answer from the catalog: a server never read before is waited for, a stale copy is refreshed behind.
    pub async fn freshen(&self) {
        let specs = self.registry.specs();
        let mut first_reads = Vec::new();
        for server in specs.servers.values().filter(|server| self.registry.may_run(server)) {
            let copy = self.copy(&server.id);
            let unread = copy.row.last_synced_at.is_none() || copy.identity != server.identity;
            let failed_lately = copy.failed_at.is_some_and(|at| at.elapsed() < AFTER_FAILURE);
            if failed_lately || !(unread || self.is_stale(&copy)) {
                continue;
            }
            let (catalog, id) = (self.clone(), server.id.clone());
            let sync = tokio::spawn(async move { catalog.sync_since(&id, copy.attempts).await });
            if unread {
                first_reads.push(sync);
            }
        }
        let _ = tokio::time::timeout(FIRST_READ, futures_util::future::join_all(first_reads)).await;
    }

    /// Reads a server's tools into its copy.
    ///
    /// # Errors
    /// Where the server may not run, or cannot be read; then the copy stays as it was.
    pub async fn sync(&self, id: &ServerId) -> Result<(), SyncError> {
        let attempts = self.copy(id).attempts;
        self.sync_since(id, attempts).await
    }

    /// Syncs, unless somebody else did, or tried to, since then.
    async fn sync_since(&self, id: &ServerId, attempts: u64) -> Result<(), SyncError> {
        let one = self.one_sync(id);
        let _one_at_a_time = one.lock().await;
        let copy = self.copy(id);
        if copy.attempts != attempts {
            return if copy.failed_at.is_none() { Ok(()) } else { Err(SyncError::FailedJustNow) };
        }
        self.change(id, |copy| copy.row.sync_status = SyncStatus::Syncing);
        let synced = self.read(id).await;
        self.change(id, |copy| {
            copy.attempts += 1;
            match &synced {
                Ok(read) => {
                    copy.row = read.row.clone();
                    copy.offered.clone_from(&read.offered);
                    copy.identity.clone_from(&read.identity);
                    copy.failed_at = None;
                }
                Err(_) => {
                    copy.row.sync_status = SyncStatus::Failed;
                    copy.failed_at = Some(Instant::now());
                }
            }
        });
        synced.map(drop).inspect_err(|error| tracing::warn!("server {id}: cannot read its tools: {error}"))
    }

    /// Reads a server, and writes what was read to the store.
    async fn read(&self, id: &ServerId) -> Result<ServerCopy, SyncError> {
        let server = self.registry.get(id).map_err(|e| SyncError::MayNotRun(e.to_string()))?;
        // The session first, then the question whether it may run: a spec that changes after this ends the session.
        let session = self.pool.session(&server, None);
        let server = self.registry.runnable(id).map_err(|e| SyncError::MayNotRun(e.to_string()))?;
        if session.server().identity != server.identity {
            return Err(SyncError::MayNotRun("its spec is being changed".into()));
        }
        let sync::Read { hello, offered, ttl_ms } = sync::read(&session).await?;
        let row = ServerRow {
            sync_status: SyncStatus::Synced,
            last_synced_at: Some(clock::now()),
            synced_identity: Some(server.identity.clone()),
            server_name: Some(hello.server_info.name),
            server_version: Some(hello.server_info.version),
            protocol_version: Some(hello.protocol_version),
            instructions: hello.instructions,
            ttl_ms,
            ..self.copy(id).row
        };
        let texts =
            |definitions: &'_ Vec<Arc<Definition>>| definitions.iter().map(|one| one.raw.get().to_owned()).collect();
        let stored = offered.iter().map(|(kind, definitions)| (*kind, texts(definitions))).collect();
        self.store.put_synced(&row, &stored).await?;
        let read = ServerCopy { row, offered, identity: server.identity.clone(), attempts: 0, failed_at: None };
        tracing::info!("server {id}: {} tools read", read.tools().len());
        Ok(read)
    }

    fn one_sync(&self, id: &ServerId) -> Arc<tokio::sync::Mutex<()>> {
        self.syncing.lock().unwrap_or_else(PoisonError::into_inner).entry(id.clone()).or_default().clone()
    }

    fn change(&self, id: &ServerId, change: impl FnOnce(&mut ServerCopy)) {
        change(self.lock().entry(id.clone()).or_insert_with(|| ServerCopy::unknown(id.clone())));
        self.rebuild();
        self.events.tell(Event::ServerChanged { id: id.clone() });
    }

    /// Follows what servers say of their lists, and refreshes what runs before it gets old, as long as the
    /// returned tasks live.
    pub fn follow(&self, list_changes: ListChanges) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(sync::follow_changes(self.clone(), list_changes));
        tasks.spawn(sync::refresh_active(self.clone()));
        tasks
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerId, ServerCopy>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a copy counts as fresh: as long as the user wants, or less where the server says so.
fn time_to_live(wanted: Duration, ttl_ms: Option<u32>) -> Duration {
    ttl_ms.map_or(wanted, |ttl| Duration::from_millis(ttl.into()).clamp(LEAST_TTL.min(wanted), wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_shortens_the_time_to_live_but_not_to_nothing_and_never_lengthens_it() {
        let (wanted, ms) = (Duration::from_secs(300), |ms| Duration::from_millis(ms));
        for (said, expected) in
            [(None, wanted), (Some(60_000), ms(60_000)), (Some(0), LEAST_TTL), (Some(u32::MAX), wanted)]
        {
            assert_eq!(time_to_live(wanted, said), expected, "{said:?}");
        }
        let short = Duration::from_secs(5);
        assert_eq!(time_to_live(short, Some(0)), short, "the user's own is the least");
    }
}
