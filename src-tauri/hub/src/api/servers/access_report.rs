//! The access reports: the files, addresses and programs that local servers used in a recorded run,
//! and a sandbox that is proposed from them.

use drawbridge_model::{access_report::AccessReport, ids::ServerId};
use drawbridge_upstream::transport::process::recording;
use serde::{Deserialize, Serialize};

use super::lifecycle;
use crate::{
    access_reports::SandboxProposal,
    api::{ApiError, Verb},
    hub::Hub,
};

/// The files, addresses and programs that a local server used in its latest recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AccessReportView {
    /// Whether a run of this server can be recorded: the server has to be local, and run on Linux.
    pub can_record: bool,
    /// Whether a recorded run is in progress.
    pub is_recording: bool,
    /// The report; null if no run has been recorded yet.
    pub report: Option<AccessReport>,
    /// Whether the report is about the server's present identity, not about an earlier identity.
    pub is_current: bool,
    /// A sandbox for everything that the server used in the run, and the used paths that the
    /// sandbox excludes. Null if there is no report, if the run could not be recorded, if this
    /// system has no sandboxes, or if no valid sandbox follows from the report.
    pub proposal: Option<SandboxProposal>,
}

/// `servers.access_report`: the files, addresses and programs that a local server used in its
/// latest recorded run, and a proposed sandbox. The first run of a new or changed server is
/// recorded, and each following run until one of these runs leads to a connection. `servers.record`
/// records another run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowAccessReport {
    pub id: ServerId,
}

/// `servers.record`: restarts a local server, and records everything that the server uses until the
/// server ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RecordServer {
    pub id: ServerId,
}

impl Verb for ShowAccessReport {
    type Answer = AccessReportView;

    async fn run(self, hub: &Hub) -> Result<AccessReportView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        let report = hub.access_reports.report(&self.id);
        let propose = |report| hub.access_reports.propose_sandbox(&server, report);
        Ok(AccessReportView {
            can_record: recording::is_available() && server.spec.command.is_some(),
            is_recording: hub.access_reports.is_recording(&self.id),
            is_current: report
                .as_ref()
                .is_some_and(|report| report.identity == server.identity),
            proposal: report.as_ref().and_then(propose),
            report,
        })
    }
}

impl Verb for RecordServer {
    type Answer = AccessReportView;

    async fn run(self, hub: &Hub) -> Result<AccessReportView, ApiError> {
        let server = lifecycle::get_runnable(hub, &self.id)?;
        if server.spec.command.is_none() {
            return Err(ApiError::conflict(format!(
                "'{}' does not run on this computer, so there is nothing to record",
                self.id
            )));
        }
        if !recording::is_available() {
            return Err(ApiError::conflict(
                "only Linux can report what a program uses",
            ));
        }
        hub.pool
            .remove(&self.id, "the server is restarted for a recorded run")
            .await;
        hub.access_reports.request(&self.id);
        hub.catalog.sync(&self.id).await?;
        ShowAccessReport { id: self.id }.run(hub).await
    }
}
