//! The access reports: what the processes of local servers used in a recorded run.

use drawbridge_model::{access_report::AccessReport, ids::ServerId};
use drawbridge_upstream::transport::process::recording;
use serde::{Deserialize, Serialize};

use super::lifecycle;
use crate::{
    access_reports::SandboxProposal,
    api::{ApiError, Verb},
    hub::Hub,
};

/// What a local server used in its latest recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AccessReportView {
    /// Whether this server can be recorded: a local program, on Linux.
    pub can_record: bool,
    /// Whether a recorded run goes on.
    pub is_recording: bool,
    /// Null if no run has been recorded yet.
    pub report: Option<AccessReport>,
    /// Whether the report is about what the spec starts now.
    pub is_current: bool,
    /// A sandbox in which the server could do the same. Null without a report, or if this system
    /// has no sandboxes.
    pub proposal: Option<SandboxProposal>,
}

/// `servers.access_report`: what a local server used in its latest recorded run, and a sandbox that
/// allows just that. The first run after an acceptance is recorded, and another one on request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowAccessReport {
    pub id: ServerId,
}

/// `servers.record`: restarts a local server, and records what it uses until it ends.
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
                "'{}' is no program on this computer, so there is nothing to record",
                self.id
            )));
        }
        if !recording::is_available() {
            return Err(ApiError::conflict(
                "only Linux can report what a program uses",
            ));
        }
        hub.pool
            .remove(&self.id, "the server is restarted to record what it uses")
            .await;
        hub.access_reports.request(&self.id);
        hub.catalog.sync(&self.id).await?;
        ShowAccessReport { id: self.id }.run(hub).await
    }
}
