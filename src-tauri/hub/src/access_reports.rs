//! The access reports, which show what the processes of local servers used. Drawbridge records the
//! first run of a new or changed server, and each following run until one of these runs leads to a
//! connection. Later, it records a run if a person requests this.

mod proposal;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use drawbridge_model::{
    access_report::{AccessReport, AccessSummary, RecordedAccess},
    clock,
    event::{Event, Events},
    ids::ServerId,
    invisible_chars::escape,
    spec::RegisteredServer,
};
use drawbridge_store::{Store, StoreError, logs::Logs};
use drawbridge_upstream::{
    AccessRecorder, DirtySet,
    transport::process::recording::{self, RecordingSink},
};

pub use proposal::{ExcludedPath, ExclusionReason, SandboxProposal};

use proposal::Machine;

/// The reports of all servers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AccessReports {
    store: Store,
    events: Events,
    logs: Logs,
    /// Drawbridge's own folder, which no proposal contains.
    data_dir: PathBuf,
    state: Arc<Mutex<State>>,
    /// The servers whose reports are not stored yet.
    changed: DirtySet<ServerId>,
}

#[derive(Default)]
struct State {
    reports: BTreeMap<ServerId, AccessReport>,
    /// For each server, its identity in the latest recorded run that led to a connection.
    recorded: BTreeMap<ServerId, String>,
    /// The servers for which a person requested a recording of the next run.
    requested: BTreeSet<ServerId>,
    /// The latest recorded run of each server. The run exists as long as its sink.
    runs: BTreeMap<ServerId, Weak<Run>>,
}

/// A recorded run.
struct Run {
    /// The report at the beginning of the run, without any access.
    blank: AccessReport,
    has_connected: AtomicBool,
}

impl AccessReports {
    pub(crate) async fn load(
        store: Store,
        events: Events,
        logs: Logs,
        data_dir: PathBuf,
    ) -> Result<Self, StoreError> {
        let reports: BTreeMap<_, _> = store.access_reports().await?.into_iter().collect();
        let recorded = reports
            .iter()
            .filter(|(_, report)| report.has_connected)
            .map(|(id, report)| (id.clone(), report.identity.clone()))
            .collect();
        let state = State {
            reports,
            recorded,
            ..State::default()
        };
        Ok(Self {
            store,
            events,
            logs,
            data_dir,
            state: Arc::new(Mutex::new(state)),
            changed: DirtySet::default(),
        })
    }

    /// Requests a recording of a server's next run.
    pub(crate) fn request(&self, server: &ServerId) {
        self.state().requested.insert(server.clone());
    }

    /// Returns the report of the latest recorded run.
    pub(crate) fn report(&self, server: &ServerId) -> Option<AccessReport> {
        self.state().reports.get(server).cloned()
    }

    /// Returns whether a recorded run of the server is in progress.
    pub(crate) fn is_recording(&self, server: &ServerId) -> bool {
        let state = self.state();
        let run = state.runs.get(server);
        run.is_some_and(|run| run.strong_count() > 0)
    }

    /// Returns the smallest sensible sandbox for everything that the server did in the run, and the
    /// used paths that the sandbox excludes. Returns `None` if this system has no sandboxes or
    /// could not record the run, or if no valid sandbox follows from the report.
    pub(crate) fn propose_sandbox(
        &self,
        server: &RegisteredServer,
        report: &AccessReport,
    ) -> Option<SandboxProposal> {
        proposal::propose_for(server, report, &Machine::local(&self.data_dir))
    }

    pub(crate) async fn remove(&self, server: &ServerId) -> Result<(), StoreError> {
        {
            let mut state = self.state();
            state.reports.remove(server);
            state.recorded.remove(server);
            state.requested.remove(server);
            state.runs.remove(server);
        }
        self.store.delete_access_report(server).await
    }

    /// Stores changed reports as they arrive. Runs until the hub aborts the task.
    pub(crate) async fn store_changes(self) {
        loop {
            self.changed.wait().await;
            self.store_now().await;
        }
    }

    /// Stores the reports that have changed.
    pub(crate) async fn store_now(&self) {
        for server in self.changed.take() {
            let Some(report) = self.report(&server) else {
                continue;
            };
            // The loss is acceptable: the next change writes the report again, and the run can be
            // recorded again.
            if let Err(error) = self.store.put_access_report(&server, &report).await {
                tracing::warn!("the access report of '{server}' is not stored: {error}");
            }
            self.events.publish(Event::ServerChanged { id: server });
        }
    }

    /// Puts `access` into the report of a run, unless the recording of a later run has begun.
    fn update_report(&self, server: &ServerId, run: &Arc<Run>, access: RecordedAccess) {
        let access = self.mask_access(access);
        let mut state = self.state();
        let latest = state.runs.get(server);
        if latest.is_none_or(|latest| !std::ptr::eq(latest.as_ptr(), Arc::as_ptr(run))) {
            return;
        }
        let report = AccessReport {
            access,
            has_connected: run.has_connected.load(Ordering::Relaxed),
            ..run.blank.clone()
        };
        state.reports.insert(server.clone(), report);
        drop(state);
        self.changed.insert(server.clone());
    }

    /// Masks secrets in the paths and addresses that a server used, and escapes characters that a
    /// screen would hide or reorder.
    fn mask_access(&self, access: RecordedAccess) -> RecordedAccess {
        let RecordedAccess::Summary(mut summary) = access else {
            return access;
        };
        let AccessSummary {
            files,
            addresses,
            programs,
            ..
        } = &mut summary;
        let paths = files.iter_mut().map(|file| &mut file.path);
        let paths = paths.chain(programs.iter_mut().map(|program| &mut program.path));
        let addresses = addresses.iter_mut().map(|used| &mut used.address);
        for text in paths.chain(addresses) {
            *text = escape(&self.logs.mask_text(text));
        }
        RecordedAccess::Summary(summary)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccessRecorder for AccessReports {
    fn begin(&self, server: &RegisteredServer) -> Option<RecordingSink> {
        let mut state = self.state();
        let is_first = state.recorded.get(&server.id) != Some(&server.identity);
        let is_due = recording::is_available() && is_first;
        if !is_due && !state.requested.contains(&server.id) {
            return None;
        }
        let run = Arc::new(Run {
            blank: AccessReport {
                identity: server.identity.clone(),
                recorded_at: clock::now(),
                sandbox: server.spec.sandbox.clone(),
                access: RecordedAccess::Summary(AccessSummary::default()),
                has_connected: false,
            },
            has_connected: AtomicBool::new(false),
        });
        state.runs.insert(server.id.clone(), Arc::downgrade(&run));
        drop(state);
        let (reports, id) = (self.clone(), server.id.clone());
        Some(Arc::new(move |access| {
            reports.update_report(&id, &run, access)
        }))
    }

    /// Notes that the run led to a connection. If a run leads to none, the next start is recorded
    /// too, because the report of a failed start shows little.
    fn confirm(&self, server: &RegisteredServer) {
        let mut state = self.state();
        let run = state.runs.get(&server.id).and_then(Weak::upgrade);
        let Some(run) = run.filter(|run| run.blank.identity == server.identity) else {
            return;
        };
        run.has_connected.store(true, Ordering::Relaxed);
        state.requested.remove(&server.id);
        let identity = server.identity.clone();
        state.recorded.insert(server.id.clone(), identity);
        // The stored report may be the report of an earlier run.
        if let Some(report) = state.reports.get_mut(&server.id)
            && report.recorded_at == run.blank.recorded_at
        {
            report.has_connected = true;
            drop(state);
            self.changed.insert(server.id.clone());
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
