//! The registry: one JSON file per server in the data folder's `servers/`, watched. Who writes the file, and how,
//! does not matter: what it would start is started only once the user has accepted it.

mod import;
mod spec_file;
mod watch;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;

pub use import::{Read, read_specs};
pub use spec_file::BrokenFile;
pub use watch::Watch;

use crate::{
    events::Events,
    model::{
        event::Event,
        ids::ServerId,
        names,
        server::Acceptance,
        spec::{Registered, ServerSpec, SpecError},
    },
    store::{Store, StoreError},
};

/// The specs as they stand on the disk.
#[derive(Debug, Default, PartialEq)]
pub struct Specs {
    pub servers: BTreeMap<ServerId, Arc<Registered>>,
    pub broken: Vec<BrokenFile>,
}

/// Why the registry refused a change.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("a server needs a name of at least one letter or digit")]
    BadName,
    #[error("a server with the id '{0}' is there already; choose another name")]
    Taken(ServerId),
    #[error("there is no server with the id '{0}'")]
    Unknown(ServerId),
    #[error("the spec cannot be used: {0}")]
    Spec(#[from] SpecError),
    #[error("the spec file {file}: {source}")]
    Io { file: String, source: std::io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The registry. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    folder: Arc<PathBuf>,
    store: Store,
    events: Events,
    specs: Arc<ArcSwap<Specs>>,
    /// The identity of each server that the user accepted.
    accepted: Arc<Mutex<BTreeMap<ServerId, String>>>,
    reloading: Arc<Mutex<()>>,
}

impl Registry {
    /// Reads the folder, made where there is none.
    ///
    /// # Errors
    /// Where the folder or the store cannot be used.
    pub async fn open(folder: PathBuf, store: Store, events: Events) -> Result<Self, RegistryError> {
        spec_file::make_folder(&folder)?;
        let accepted = store.servers().await?;
        let accepted = accepted.into_iter().filter_map(|row| Some((row.id, row.accepted_identity?))).collect();
        let registry = Self {
            folder: Arc::new(folder),
            store,
            events,
            specs: Arc::default(),
            accepted: Arc::new(Mutex::new(accepted)),
            reloading: Arc::default(),
        };
        registry.reload();
        Ok(registry)
    }

    /// Follows changes of the folder as long as the returned value lives.
    ///
    /// # Errors
    /// Where the system does not let it be watched.
    pub fn watch(&self, changed: impl Fn(Vec<ServerId>) + Send + 'static) -> notify::Result<Watch> {
        watch::start(self.clone(), changed)
    }

    pub fn specs(&self) -> Arc<Specs> {
        self.specs.load_full()
    }

    /// # Errors
    /// Where there is none of that id.
    pub fn get(&self, id: &ServerId) -> Result<Arc<Registered>, RegistryError> {
        self.specs.load().servers.get(id).cloned().ok_or_else(|| RegistryError::Unknown(id.clone()))
    }

    pub fn acceptance(&self, server: &Registered) -> Acceptance {
        match self.accepted.lock().unwrap_or_else(PoisonError::into_inner).get(&server.id) {
            None => Acceptance::Pending,
            Some(identity) if *identity == server.identity => Acceptance::Accepted,
            Some(_) => Acceptance::Changed,
        }
    }

    /// Whether it may be started: enabled, and accepted as it stands.
    pub fn may_run(&self, server: &Registered) -> bool {
        server.spec.enabled && self.acceptance(server) == Acceptance::Accepted
    }

    /// The id that a new server of that name gets.
    ///
    /// # Errors
    /// Where no id can be made of it, or it is taken, also by a broken file.
    pub fn new_id(&self, name: &str) -> Result<ServerId, RegistryError> {
        let id = names::server_id(name).ok_or(RegistryError::BadName)?;
        if self.file(&id).exists() {
            return Err(RegistryError::Taken(id));
        }
        Ok(id)
    }

    /// Writes a spec file, whole or not at all.
    ///
    /// # Errors
    /// Where the spec contradicts itself, or the file cannot be written.
    pub fn write(&self, id: &ServerId, spec: &ServerSpec) -> Result<Arc<Registered>, RegistryError> {
        spec.check()?;
        spec_file::write(&self.file(id), spec)?;
        self.reload();
        self.get(id)
    }

    /// Records that the user accepts what the server would start.
    ///
    /// # Errors
    /// Where it cannot be recorded.
    pub async fn accept(&self, server: &Registered) -> Result<(), RegistryError> {
        self.store.accept_server(&server.id, &server.identity).await?;
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted.insert(server.id.clone(), server.identity.clone());
        drop(accepted);
        self.tell(&server.id);
        Ok(())
    }

    /// Removes the spec file and what is stored of the server.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub async fn remove(&self, id: &ServerId) -> Result<(), RegistryError> {
        spec_file::remove(&self.file(id))?;
        self.store.remove_server(id).await?;
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.reload();
        Ok(())
    }

    /// Reads the folder anew; the servers that differ from before.
    pub fn reload(&self) -> Vec<ServerId> {
        let _one_at_a_time = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let new = spec_file::read_folder(&self.folder);
        let old = self.specs.load_full();
        if *old == new {
            return Vec::new();
        }
        for broken in new.broken.iter().filter(|broken| !old.broken.contains(broken)) {
            tracing::warn!("spec file {}:{}:{}: {}", broken.file.display(), broken.line, broken.column, broken.message);
        }
        let ids = old.servers.keys().chain(new.servers.keys()).collect::<std::collections::BTreeSet<_>>();
        let mut changed: Vec<_> =
            ids.into_iter().filter(|id| old.servers.get(*id) != new.servers.get(*id)).cloned().collect();
        if old.broken != new.broken {
            changed.extend(new.broken.iter().chain(&old.broken).filter_map(BrokenFile::id));
        }
        changed.dedup();
        self.specs.store(Arc::new(new));
        changed.iter().for_each(|id| self.tell(id));
        changed
    }

    fn file(&self, id: &ServerId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn tell(&self, id: &ServerId) {
        self.events.tell(Event::ServerChanged { id: id.clone() });
    }
}

#[cfg(test)]
mod tests;
