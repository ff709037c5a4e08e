//! The registry: the specs of all servers. The specs of most servers are JSON files in `servers/`
//! in the data folder, which the registry watches for changes. The built-in servers have no files,
//! and nobody can edit or remove them. Any program may write the spec files, because Drawbridge
//! starts a server only after the user has accepted its spec.

mod accepted;
pub mod bundle;
pub mod docling_spec;
mod import;
mod look_alike;
pub mod manifest;
pub mod official;
pub mod presets;
mod spec_file;
mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use accepted::Accepted;
use arc_swap::ArcSwap;
use drawbridge_model::{
    acceptance::AcceptanceState,
    builtin::BuiltIn,
    clock, digest,
    event::{Event, Events},
    ids::{ServerId, Timestamp},
    names,
    program::{Program, ProgramChange},
    protocol,
    spec::{
        RegisteredServer, ServerSpec, SpecError,
        changes::{self, SpecChange},
    },
};
use drawbridge_store::{
    Store, StoreError,
    secrets::{SecretScope, external_references, is_own_secret, referenced_names},
    settings::{Settings, SettingsChange},
    table::server::AcceptedColumns,
};
use drawbridge_upstream::{Acceptances, DirtySet, transport::process::program};
use futures_util::future::BoxFuture;

use crate::builtin;
pub use accepted::{Grant, foreign_secrets};
pub use import::{
    EntryError, ImportError, ImportedServer, ImportedServers, literal_places, read_specs,
};
pub use spec_file::BrokenFile;
pub use watch::Watch;

/// The specs as they are on the disk, and the specs of the built-in servers. A server whose file is
/// broken keeps its previous spec.
#[derive(Debug, Default, PartialEq)]
pub struct Specs {
    pub servers: BTreeMap<ServerId, Arc<RegisteredServer>>,
    pub broken: Vec<BrokenFile>,
}

/// The reason why the registry refused a change.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("a server's name must contain at least one letter from A to Z or one digit")]
    BadName,
    #[error("a server with the id '{0}' already exists; choose another name")]
    Taken(ServerId),
    #[error(
        "the name '{name}' looks like the name of the server '{other}', and you could confuse them in approvals; choose \
         another name"
    )]
    LookAlike { name: String, other: ServerId },
    #[error("'{0}' is the id of a server that is built into Drawbridge; choose another name")]
    BuiltInId(ServerId),
    #[error(
        "'{0}' is built into Drawbridge: it can be enabled and disabled, but not edited or removed"
    )]
    BuiltIn(ServerId),
    #[error("there is no server with the id '{0}'")]
    Unknown(ServerId),
    #[error("the server '{0}' is disabled or not accepted")]
    MayNotRun(ServerId),
    #[error(
        "another program changed the spec file of '{0}' at the same moment; check the file, then try again"
    )]
    Overwritten(ServerId),
    #[error(
        "the server '{id}' would use secrets that are not its own: {names}. If the server should have these secrets, grant \
         each of them: check its box, or add `--grant-secret NAME`"
    )]
    NotGranted { id: ServerId, names: String },
    #[error("the spec of '{id}' does not refer to a secret of another server named '{name}'")]
    NothingToGrant { id: ServerId, name: String },
    #[error("the spec is invalid: {0}")]
    Spec(#[from] SpecError),
    #[error("cannot read or write {file}: {source}")]
    Io {
        file: String,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The registry. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    folder: Arc<PathBuf>,
    store: Store,
    settings: Settings,
    /// The built-in servers that are disabled unless a person enables them.
    disabled_built_ins: Arc<BTreeSet<BuiltIn>>,
    events: Events,
    specs: Arc<ArcSwap<Specs>>,
    accepted: Arc<Mutex<BTreeMap<ServerId, Accepted>>>,
    /// The programs of the servers that are not accepted, as they were found last.
    offered_programs: Arc<Mutex<BTreeMap<ServerId, Option<Program>>>>,
    /// Held while an acceptance is written, so that memory and store get all acceptances in the
    /// same order.
    write_lock: Arc<tokio::sync::Mutex<()>>,
    /// Held while the spec files are read, so that the newest specs are stored last.
    reloading: Arc<Mutex<()>>,
    /// Receives the ids of changed servers, whether a person or a program changed their specs, or
    /// their programs were replaced.
    changes: DirtySet<ServerId>,
}

impl Registry {
    /// Reads the folder, and creates it if it is missing. The built-in servers in
    /// `disabled_built_ins` are disabled unless a person enables them. From now on, `changes`
    /// receives the ids of changed servers, beginning with all servers that were just read.
    ///
    /// # Errors
    /// Returns an error if the folder or the store cannot be used.
    pub async fn open(
        folder: PathBuf,
        store: Store,
        settings: Settings,
        disabled_built_ins: BTreeSet<BuiltIn>,
        events: Events,
        changes: DirtySet<ServerId>,
    ) -> Result<Self, RegistryError> {
        spec_file::create_folder(&folder)?;
        let mut without_spec = Vec::new();
        let mut accepted = BTreeMap::new();
        for row in store.servers().await? {
            let (id, has_no_spec) = (row.id.clone(), row.accepted_spec.is_none());
            if let Some(of_server) = Accepted::from_row(row) {
                if has_no_spec {
                    without_spec.push(id.clone());
                }
                accepted.insert(id, of_server);
            }
        }
        let registry = Self {
            folder: Arc::new(folder),
            store,
            settings,
            disabled_built_ins: Arc::new(disabled_built_ins),
            events,
            specs: Arc::default(),
            accepted: Arc::new(Mutex::new(accepted)),
            offered_programs: Arc::default(),
            write_lock: Arc::default(),
            reloading: Arc::default(),
            changes,
        };
        registry.reload();
        registry.complete_acceptances(&without_spec).await?;
        Ok(registry)
    }

    /// Records the specs of servers that were accepted when only the identity was stored, if the
    /// identity is still the same.
    async fn complete_acceptances(&self, ids: &[ServerId]) -> Result<(), RegistryError> {
        for id in ids {
            let Ok(server) = self.get(id) else { continue };
            let is_same = self
                .accepted()
                .get(id)
                .is_some_and(|accepted| accepted.identity == server.identity);
            if is_same {
                let granted = foreign_secrets(id, &server.spec);
                let accepted = Accepted::new(&server, None, granted, self.first_accepted(id));
                self.store_accepted(id, &accepted).await?;
                self.accepted().insert(id.clone(), accepted);
            }
        }
        Ok(())
    }

    /// Watches the folder until the returned value is dropped.
    ///
    /// # Errors
    /// Returns an error if the system cannot watch the folder.
    pub fn watch(&self) -> notify::Result<Watch> {
        let watch = watch::start(self.clone())?;
        // Read the changes that were made before the watch began.
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

    /// Returns the acceptance state of a server. A built-in server is accepted with Drawbridge.
    pub fn acceptance(&self, server: &RegisteredServer) -> AcceptanceState {
        if server.spec.builtin.is_some() {
            return AcceptanceState::Accepted;
        }
        self.accepted()
            .get(&server.id)
            .map_or(AcceptanceState::New, |accepted| accepted.state(server))
    }

    /// Returns how a server's spec differs from the accepted spec. If no accepted spec is known,
    /// the list is empty.
    pub fn list_changes(&self, server: &RegisteredServer) -> Vec<SpecChange> {
        let accepted = self.accepted();
        let accepted = accepted.get(&server.id).and_then(|a| a.spec.as_ref());
        let offered = accepted::without_literal_secrets(&server.spec);
        accepted.map_or_else(Vec::new, |spec| changes::list_changes(spec, &offered))
    }

    /// Returns the digest of all that a person accepts of a server. In contrast to the server's
    /// identity, the digest covers the whole spec and the program.
    pub fn offered_identity(server: &RegisteredServer, program: Option<&Program>) -> String {
        let spec = serde_json::to_string(&server.spec).expect("a spec can be written as JSON");
        let program = serde_json::to_string(&program).expect("a program can be written as JSON");
        let parts = [&server.identity, &spec, &program].map(String::as_bytes);
        digest::sha256_parts(&parts)
    }

    /// Identifies the programs of the servers that are not accepted, for [`Registry::program`].
    pub async fn identify_programs(&self) {
        let specs = self.specs();
        let mut programs = BTreeMap::new();
        for server in specs.servers.values() {
            if self.acceptance(server) != AcceptanceState::Accepted {
                programs.insert(
                    server.id.clone(),
                    program::identify_program(&server.spec).await,
                );
            }
        }
        *self
            .offered_programs
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = programs;
    }

    /// Returns the program of a local server: the accepted program or, if the server is not
    /// accepted, the program that [`Registry::identify_programs`] found last.
    pub fn program(&self, server: &RegisteredServer) -> Option<Program> {
        let accepted = self.accepted();
        match accepted.get(&server.id) {
            Some(accepted) if accepted.state(server) == AcceptanceState::Accepted => {
                accepted.program.clone()
            }
            _ => self
                .offered_programs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&server.id)
                .cloned()
                .flatten(),
        }
    }

    /// Returns why the server's program does not count as the accepted program, if Drawbridge has
    /// found a reason.
    pub fn program_change(&self, id: &ServerId) -> Option<ProgramChange> {
        self.accepted().get(id)?.program_change.clone()
    }

    /// Compares a program with the accepted program of a server, as a start of the server does, but
    /// records nothing. Returns the first difference.
    pub fn find_program_change(&self, id: &ServerId, program: &Program) -> Option<ProgramChange> {
        let accepted = self.accepted();
        let accepted_program = accepted.get(id)?.program.as_ref()?;
        ProgramChange::find(accepted_program, program)
    }

    /// Returns the foreign secrets that a person granted to a server.
    pub fn granted_secrets(&self, id: &ServerId) -> BTreeSet<String> {
        let accepted = self.accepted();
        accepted
            .get(id)
            .map(|accepted| accepted.granted_secrets.clone())
            .unwrap_or_default()
    }

    /// Returns when a server was first accepted, or the latest possible time if it was never
    /// accepted. The built-in servers come before all other servers.
    pub fn accepted_since(&self, id: &ServerId) -> Timestamp {
        if BuiltIn::from_id(id).is_some() {
            return Timestamp(i64::MIN);
        }
        self.accepted()
            .get(id)
            .map_or(Timestamp(i64::MAX), |accepted| accepted.since)
    }

    /// Returns whether the server may be started: its spec is enabled and accepted.
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
    /// Returns an error if the name yields no id, if the id belongs to a built-in server, or if a
    /// file with this id exists, even a broken file.
    pub fn new_id(&self, name: &str) -> Result<ServerId, RegistryError> {
        let id = names::server_id_from_name(name).ok_or(RegistryError::BadName)?;
        if BuiltIn::from_id(&id).is_some() {
            return Err(RegistryError::BuiltInId(id));
        }
        if self.spec_path(&id).exists() {
            return Err(RegistryError::Taken(id));
        }
        Ok(id)
    }

    /// Writes a spec file atomically.
    ///
    /// # Errors
    /// Returns an error if the server is built in, if the spec is invalid, if the file cannot be
    /// written, or if another program overwrote it at the same time.
    pub fn write(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
    ) -> Result<Arc<RegisteredServer>, RegistryError> {
        self.write_file(id, spec, None)
    }

    /// Writes a spec file atomically, and records that the user accepts it. The spec and its
    /// acceptance take effect together, so that the server is not stopped in between.
    ///
    /// # Errors
    /// Returns an error in the cases of [`Registry::write`] and [`Registry::accept`].
    pub async fn write_accepted(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        grant: Grant,
    ) -> Result<Arc<RegisteredServer>, RegistryError> {
        let Grant {
            secrets: granted_secrets,
            only_references_changed,
        } = grant;
        check_grants(id, spec, &granted_secrets)?;
        let offered = RegisteredServer::new(id.clone(), spec.clone(), self.spec_path(id));
        let _one_at_a_time = self.write_lock.lock().await;
        self.check_name(&offered)?;
        let since = self.first_accepted(id);
        let before = self.accepted().get(id).cloned();
        let has_same_program =
            |before: &&Accepted| only_references_changed || before.starts_same(spec);
        let accepted = match before.as_ref().filter(has_same_program) {
            Some(before) => Accepted {
                program_change: before.program_change.clone(),
                ..Accepted::new(&offered, before.program.clone(), granted_secrets, since)
            },
            None => {
                let program = program::identify_program(spec).await;
                Accepted::new(&offered, program, granted_secrets, since)
            }
        };
        let outcome = match self.write_file(id, spec, Some(accepted.clone())) {
            Ok(written) => self.store_accepted(id, &accepted).await.map(|()| written),
            Err(error) => Err(error),
        };
        if outcome.is_err() {
            let mut accepted = self.accepted();
            match before {
                Some(before) => drop(accepted.insert(id.clone(), before)),
                None => drop(accepted.remove(id)),
            }
            drop(accepted);
            self.changes.insert(id.clone());
        }
        outcome
    }

    /// Writes the file, and reads all spec files again. `accepted` takes effect together with the
    /// new spec.
    fn write_file(
        &self,
        id: &ServerId,
        spec: &ServerSpec,
        accepted: Option<Accepted>,
    ) -> Result<Arc<RegisteredServer>, RegistryError> {
        self.check_editable(id)?;
        protocol::check_spec(spec)?;
        let reloading = self
            .reloading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        spec_file::create_folder(&self.folder)?;
        spec_file::write(&self.spec_path(id), spec)?;
        let mut all_accepted = self.accepted();
        if let Some(accepted) = accepted {
            all_accepted.insert(id.clone(), accepted);
        }
        self.read_specs(&reloading);
        drop(all_accepted);
        let written = self.get(id)?;
        if written.spec == *spec {
            Ok(written)
        } else {
            Err(RegistryError::Overwritten(id.clone()))
        }
    }

    /// Records that the user accepts the server as it is, with this program and these foreign
    /// secrets.
    ///
    /// # Errors
    /// Returns an error if the server is built in, if the granted secrets are not exactly the
    /// foreign secrets of the spec, if the server's name looks like the name of another server, or
    /// if the store cannot be written.
    pub async fn accept(
        &self,
        server: &RegisteredServer,
        program: Option<Program>,
        granted_secrets: BTreeSet<String>,
    ) -> Result<(), RegistryError> {
        self.check_editable(&server.id)?;
        check_grants(&server.id, &server.spec, &granted_secrets)?;
        let _one_at_a_time = self.write_lock.lock().await;
        self.check_name(server)?;
        let since = self.first_accepted(&server.id);
        let accepted = Accepted::new(server, program, granted_secrets, since);
        self.store_accepted(&server.id, &accepted).await?;
        self.accepted().insert(server.id.clone(), accepted);
        self.notify_changed(&server.id);
        Ok(())
    }

    /// Checks that a server can be edited and removed.
    ///
    /// # Errors
    /// Returns an error if the server is built in.
    pub fn check_editable(&self, id: &ServerId) -> Result<(), RegistryError> {
        match BuiltIn::from_id(id) {
            Some(_) => Err(RegistryError::BuiltIn(id.clone())),
            None => Ok(()),
        }
    }

    /// Enables or disables a built-in server. Returns whether a setting has changed, and the
    /// server.
    ///
    /// # Errors
    /// Returns an error if the settings cannot be written.
    pub async fn enable_built_in(
        &self,
        built_in: BuiltIn,
        enabled: bool,
    ) -> Result<(bool, Arc<RegisteredServer>), RegistryError> {
        let change = SettingsChange::built_in_enabled(built_in, enabled);
        let differences = self.settings.change(change).await?;
        self.reload();
        Ok((!differences.is_empty(), self.get(&built_in.id())?))
    }

    /// Checks that a server's name looks neither like the name nor like the id of another server
    /// that was accepted before, or that is built in. A name that is already accepted for this
    /// server is not checked.
    ///
    /// # Errors
    /// Returns an error that names the other server.
    pub fn check_name(&self, server: &RegisteredServer) -> Result<(), RegistryError> {
        let accepted = self.accepted();
        let keeps_name = accepted
            .get(&server.id)
            .and_then(|accepted| accepted.spec.as_ref())
            .is_some_and(|spec| spec.name == server.spec.name);
        if keeps_name {
            return Ok(());
        }
        let specs = self.specs();
        let other = specs.servers.values().find(|other| {
            other.id != server.id
                && (accepted.contains_key(&other.id) || other.spec.builtin.is_some())
                && [other.name(), other.id.as_str()]
                    .into_iter()
                    .any(|name| look_alike::is_look_alike(name, server.name()))
        });
        other.map_or(Ok(()), |other| {
            Err(RegistryError::LookAlike {
                name: server.name().to_owned(),
                other: other.id.clone(),
            })
        })
    }

    async fn store_accepted(
        &self,
        id: &ServerId,
        accepted: &Accepted,
    ) -> Result<(), RegistryError> {
        let write =
            async |columns: AcceptedColumns<'_>| self.store.accept_server(id, columns).await;
        Ok(accepted.with_columns(write).await?)
    }

    /// Returns when the server was first accepted, or the current time if it was never accepted.
    fn first_accepted(&self, id: &ServerId) -> Timestamp {
        let accepted = self.accepted();
        accepted
            .get(id)
            .map_or_else(clock::now, |accepted| accepted.since)
    }

    fn accepted(&self) -> MutexGuard<'_, BTreeMap<ServerId, Accepted>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a server's spec file, and its acceptance from memory, but not from the store.
    ///
    /// # Errors
    /// Returns an error if the server is built in, or if the file cannot be removed.
    pub fn remove(&self, id: &ServerId) -> Result<(), RegistryError> {
        self.check_editable(id)?;
        spec_file::remove(&self.spec_path(id))?;
        self.accepted().remove(id);
        self.reload();
        Ok(())
    }

    /// Reads the folder again, and returns the ids of the servers whose specs have changed. If the
    /// list of broken files has changed, also returns the ids in the names of these files.
    pub fn reload(&self) -> Vec<ServerId> {
        let reloading = self
            .reloading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.read_specs(&reloading)
    }

    /// Does the work of [`Registry::reload`] while the caller holds the lock.
    fn read_specs(&self, _reloading: &MutexGuard<'_, ()>) -> Vec<ServerId> {
        let old = self.specs.load_full();
        let mut new = spec_file::read_folder(&self.folder, &old);
        let settings = self.settings.get();
        for built_in in BuiltIn::ALL {
            let enabled = settings.enabled_choice(built_in).unwrap_or_else(|| {
                built_in.is_on_by_default() && !self.disabled_built_ins.contains(&built_in)
            });
            let spec = builtin::spec(built_in, enabled);
            let server = RegisteredServer::new(built_in.id(), spec, PathBuf::new());
            new.servers.insert(server.id.clone(), Arc::new(server));
        }
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
            .collect::<BTreeSet<_>>();
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

impl Registry {
    /// Compares the program that is about to start with the accepted program. If no accepted
    /// program is known, records this program as accepted.
    async fn compare_program(
        &self,
        server: &RegisteredServer,
        program: Program,
    ) -> Result<(), ProgramChange> {
        let _one_at_a_time = self.write_lock.lock().await;
        let accepted = self.accepted().get(&server.id).cloned();
        let mut accepted = accepted
            .filter(|accepted| accepted.identity == server.identity)
            .ok_or(ProgramChange::NotAccepted)?;
        if let Some(change) = accepted.program_change {
            return Err(change);
        }
        if program.path.is_none() {
            // There is no such program, so the start fails with its own error.
            return Ok(());
        }
        let Some(accepted_program) = &accepted.program else {
            accepted.program = Some(program);
            self.store_first_program(&server.id, accepted).await;
            return Ok(());
        };
        if let Some(change) = ProgramChange::find(accepted_program, &program) {
            accepted.program_change = Some(change.clone());
            self.accepted().insert(server.id.clone(), accepted);
            self.changes.insert(server.id.clone());
            return Err(change);
        }
        if accepted.is_program_unsaved {
            self.store_first_program(&server.id, accepted).await;
        }
        Ok(())
    }

    /// Records the first program of a server as accepted. If the program cannot be stored, it
    /// counts as accepted until Drawbridge ends, and the next start of the server tries again.
    async fn store_first_program(&self, id: &ServerId, mut accepted: Accepted) {
        let stored = self.store_accepted(id, &accepted).await;
        accepted.is_program_unsaved = stored.is_err();
        if let Err(error) = stored {
            tracing::warn!(
                "cannot store the program of '{id}': {error}; Drawbridge tries again when the server starts next"
            );
        }
        self.accepted().insert(id.clone(), accepted);
    }
}

impl Acceptances for Registry {
    fn check_program<'a>(
        &'a self,
        server: &'a RegisteredServer,
        program: Program,
    ) -> BoxFuture<'a, Result<(), ProgramChange>> {
        Box::pin(self.compare_program(server, program))
    }

    fn secret_scope(&self, id: &ServerId) -> SecretScope {
        let accepted = self
            .get(id)
            .ok()
            .filter(|server| self.acceptance(server) == AcceptanceState::Accepted);
        let granted = self.granted_secrets(id);
        let external = accepted.as_ref().map(|server| {
            let values = server.spec.values_with_references();
            values.flat_map(|text| external_references(text)).collect()
        });
        let names = accepted.map(|server| {
            let names = server
                .spec
                .values_with_references()
                .flat_map(|text| referenced_names(text));
            names
                .filter(|name| is_own_secret(id, name) || granted.contains(name))
                .collect()
        });
        SecretScope::exactly(
            id.clone(),
            names.unwrap_or_default(),
            external.unwrap_or_default(),
        )
    }
}

/// Checks that the granted secrets are exactly the foreign secrets to which the spec refers.
///
/// # Errors
/// Returns an error if one of these secrets is not granted, or if another secret is granted.
pub fn check_grants(
    id: &ServerId,
    spec: &ServerSpec,
    granted: &BTreeSet<String>,
) -> Result<(), RegistryError> {
    let foreign = foreign_secrets(id, spec);
    if let Some(name) = granted.difference(&foreign).next() {
        return Err(RegistryError::NothingToGrant {
            id: id.clone(),
            name: name.clone(),
        });
    }
    let missing: Vec<_> = foreign.difference(granted).map(String::as_str).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(RegistryError::NotGranted {
        id: id.clone(),
        names: missing.join(", "),
    })
}

#[cfg(test)]
mod tests;
