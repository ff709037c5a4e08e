//! The registry: one JSON file per server in the data folder's `servers/`, watched for changes. Any
//! program may write these files, because Drawbridge starts a server only after the user has
//! accepted its spec.

mod import;
pub mod manifest;
pub mod presets;
mod spec_file;
mod watch;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use drawbridge_model::{
    acceptance::AcceptanceState,
    clock,
    event::{Event, Events},
    ids::{ServerId, Timestamp},
    names, protocol,
    spec::{RegisteredServer, ServerSpec, SpecError},
};
use drawbridge_store::{Store, StoreError};
use drawbridge_upstream::DirtySet;

pub use import::{EntryError, ImportError, ImportedServer, read_specs};
pub use spec_file::BrokenFile;
pub use watch::Watch;

/// The specs as they are on the disk.
#[derive(Debug, Default, PartialEq)]
pub struct Specs {
    pub servers: BTreeMap<ServerId, Arc<RegisteredServer>>,
    pub broken: Vec<BrokenFile>,
}

/// The reason why the registry refused a change.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("a server's name must contain at least one letter or digit")]
    BadName,
    #[error("a server with the id '{0}' already exists; choose another name")]
    Taken(ServerId),
    #[error("there is no server with the id '{0}'")]
    Unknown(ServerId),
    #[error("the server '{0}' is disabled or not accepted")]
    MayNotRun(ServerId),
    #[error(
        "another program changed the spec file of '{0}' at the same moment; check it, then try again"
    )]
    Overwritten(ServerId),
    #[error("the spec is invalid: {0}")]
    Spec(#[from] SpecError),
    #[error("the spec file {file}: {source}")]
    Io {
        file: String,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The identity of a server that the user accepted.
struct AcceptedIdentity {
    identity: String,
    /// When the server was first accepted, whatever its identity was then.
    since: Timestamp,
}

/// The registry. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    folder: Arc<PathBuf>,
    store: Store,
    events: Events,
    specs: Arc<ArcSwap<Specs>>,
    accepted: Arc<Mutex<BTreeMap<ServerId, AcceptedIdentity>>>,
    /// Held while an acceptance is written, so that memory and store get them in the same order.
    write_lock: Arc<tokio::sync::Mutex<()>>,
    reloading: Arc<Mutex<()>>,
    /// Receives the ids of the servers that differ, whether a user or a program changed them.
    changes: DirtySet<ServerId>,
}

impl Registry {
    /// Reads the folder, and creates it if it is missing. From then on, `changes` receives the ids
    /// of the servers that differ.
    ///
    /// # Errors
    /// Returns an error if the folder or the store cannot be used.
    pub async fn open(
        folder: PathBuf,
        store: Store,
        events: Events,
        changes: DirtySet<ServerId>,
    ) -> Result<Self, RegistryError> {
        spec_file::create_folder(&folder)?;
        let accepted = store.servers().await?;
        let accepted = accepted.into_iter().filter_map(|row| {
            let since = row.accepted_at.unwrap_or(Timestamp(0));
            Some((
                row.id,
                AcceptedIdentity {
                    identity: row.accepted_identity?,
                    since,
                },
            ))
        });
        let accepted = accepted.collect();
        let registry = Self {
            folder: Arc::new(folder),
            store,
            events,
            specs: Arc::default(),
            accepted: Arc::new(Mutex::new(accepted)),
            write_lock: Arc::default(),
            reloading: Arc::default(),
            changes,
        };
        registry.reload();
        Ok(registry)
    }

    /// Watches the folder until the returned value is dropped.
    ///
    /// # Errors
    /// Returns an error if the system cannot watch the folder.
    pub fn watch(&self) -> notify::Result<Watch> {
        let watch = watch::start(self.clone())?;
        // Catches the changes from before the watch began.
        self.reload();
        Ok(watch)
    }

    pub fn specs(&self) -> Arc<Specs> {
        self.specs.load_full()
    }

    /// Returns the server with this id.
    ///
    /// # Errors
    /// Returns an error if there is no such server.
    pub fn get(&self, id: &ServerId) -> Result<Arc<RegisteredServer>, RegistryError> {
        self.specs
            .load()
            .servers
            .get(id)
            .cloned()
            .ok_or_else(|| RegistryError::Unknown(id.clone()))
    }

    pub fn acceptance(&self, server: &RegisteredServer) -> AcceptanceState {
        match self
            .accepted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&server.id)
        {
            None => AcceptanceState::New,
            Some(accepted) if accepted.identity == server.identity => AcceptanceState::Accepted,
            Some(_) => AcceptanceState::Changed,
        }
    }

    /// Returns when a server was first accepted, or the latest possible time if it never was.
    pub fn accepted_since(&self, id: &ServerId) -> Timestamp {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted
            .get(id)
            .map_or(Timestamp(i64::MAX), |accepted| accepted.since)
    }

    /// Returns true if the server may be started: its spec is enabled, and its current identity is
    /// accepted.
    pub fn may_run(&self, server: &RegisteredServer) -> bool {
        server.spec.enabled && self.acceptance(server) == AcceptanceState::Accepted
    }

    /// Returns the server if it may run with its current spec.
    ///
    /// # Errors
    /// Returns an error if there is no such server, or if it may not run.
    pub fn get_runnable(&self, id: &ServerId) -> Result<Arc<RegisteredServer>, RegistryError> {
        let server = self.get(id)?;
        if self.may_run(&server) {
            Ok(server)
        } else {
            Err(RegistryError::MayNotRun(id.clone()))
        }
    }

    /// Returns the id for a new server with this name.
    ///
    /// # Errors
    /// Returns an error if the name yields no id, or if a file with this id exists, even a broken
    /// one.
    pub fn new_id(&self, name: &str) -> Result<ServerId, RegistryError> {
        let id = names::server_id_from_name(name).ok_or(RegistryError::BadName)?;
        if self.spec_path(&id).exists() {
            return Err(RegistryError::Taken(id));
        }
        Ok(id)
    }

    /// Writes a spec file atomically.
    ///
    /// # Errors
    /// Returns an error if the spec contradicts itself, if the file cannot be written, or if
    /// another program overwrote it at the same time.
    pub fn write(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
    ) -> Result<Arc<RegisteredServer>, RegistryError> {
        protocol::check_spec(spec)?;
        spec_file::create_folder(&self.folder)?;
        spec_file::write(&self.spec_path(id), spec)?;
        self.reload();
        let written = self.get(id)?;
        if written.identity == spec.identity() {
            Ok(written)
        } else {
            Err(RegistryError::Overwritten(id.clone()))
        }
    }

    /// Records that the user accepts the current identity of the server.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn accept(&self, server: &RegisteredServer) -> Result<(), RegistryError> {
        let _one_at_a_time = self.write_lock.lock().await;
        self.store
            .accept_server(&server.id, &server.identity)
            .await?;
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let since = accepted
            .get(&server.id)
            .map_or_else(clock::now, |before| before.since);
        accepted.insert(
            server.id.clone(),
            AcceptedIdentity {
                identity: server.identity.clone(),
                since,
            },
        );
        drop(accepted);
        self.notify_changed(&server.id);
        Ok(())
    }

    /// Removes the spec file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be removed.
    pub fn remove(&self, id: &ServerId) -> Result<(), RegistryError> {
        spec_file::remove(&self.spec_path(id))?;
        self.accepted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id);
        self.reload();
        Ok(())
    }

    /// Reads the folder again, and returns the ids of the servers that differ from before.
    pub fn reload(&self) -> Vec<ServerId> {
        let _one_at_a_time = self
            .reloading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let old = self.specs.load_full();
        let new = spec_file::read_folder(&self.folder, &old);
        if *old == new {
            return Vec::new();
        }
        for broken in new
            .broken
            .iter()
            .filter(|broken| !old.broken.contains(broken))
        {
            tracing::warn!(
                "spec file {}:{}:{}: {}",
                broken.file.display(),
                broken.line,
                broken.column,
                broken.message
            );
        }
        let ids = old
            .servers
            .keys()
            .chain(new.servers.keys())
            .collect::<std::collections::BTreeSet<_>>();
        let mut changed: Vec<_> = ids
            .into_iter()
            .filter(|id| old.servers.get(*id) != new.servers.get(*id))
            .cloned()
            .collect();
        if old.broken != new.broken {
            changed.extend(
                new.broken
                    .iter()
                    .chain(&old.broken)
                    .filter_map(BrokenFile::id),
            );
        }
        changed.sort_unstable();
        changed.dedup();
        self.specs.store(Arc::new(new));
        changed.iter().for_each(|id| self.notify_changed(id));
        changed
            .iter()
            .for_each(|id| self.changes.insert(id.clone()));
        changed
    }

    fn spec_path(&self, id: &ServerId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn notify_changed(&self, id: &ServerId) {
        self.events.publish(Event::ServerChanged { id: id.clone() });
    }
}

#[cfg(test)]
mod tests;
