//! The doctor: checks of everything that Drawbridge needs, each with a remedy in plain words, and a
//! bundle of diagnostics without secrets.

mod bundle;
mod checks;
pub mod machine;
mod masking;
mod session_bus;

#[cfg(test)]
mod tests;

use drawbridge_model::{clock, ids::Timestamp};
use serde::{Deserialize, Serialize};

pub use bundle::{BundleFile, DiagnosticsBundle, MachineDiagnostics, bundle_machine};
pub use drawbridge_model::check::CheckStatus;

use super::{ApiError, Verb};
use crate::hub::Hub;

/// The subject of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DoctorTopic {
    Hub,
    Environment,
    Runtimes,
    Keyring,
    Listeners,
    Clients,
    Servers,
    Database,
    Disk,
    Clock,
    DataFolder,
    Desktop,
}

/// A check and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DoctorCheck {
    pub topic: DoctorTopic,
    pub status: CheckStatus,
    /// The finding, as a sentence.
    pub text: String,
    /// The remedy; empty if the status is `ok`.
    pub remedy: String,
}

/// The outcomes of all checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DoctorReport {
    /// The version of Drawbridge that ran the checks.
    pub version: String,
    pub checked_at: Timestamp,
    pub checks: Vec<DoctorCheck>,
}

/// `doctor.run`: runs all checks. Takes a few seconds, because it starts each runtime once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RunDoctor {}

/// `doctor.bundle`: collects the data that help somebody else find a fault (versions, settings,
/// clients, specs, health, recent log lines, reports of internal errors, and the report of the
/// doctor). Secrets, and values that may be secrets, are masked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BundleDiagnostics {}

impl DoctorCheck {
    pub fn ok(topic: DoctorTopic, text: impl Into<String>) -> Self {
        Self {
            topic,
            status: CheckStatus::Ok,
            text: text.into(),
            remedy: String::new(),
        }
    }

    pub fn warning(topic: DoctorTopic, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            topic,
            status: CheckStatus::Warning,
            text: text.into(),
            remedy: remedy.into(),
        }
    }

    pub fn failure(topic: DoctorTopic, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            topic,
            status: CheckStatus::Failure,
            text: text.into(),
            remedy: remedy.into(),
        }
    }
}

impl DoctorReport {
    /// Returns a report of `checks`, with the present time.
    pub fn new(checks: Vec<DoctorCheck>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            checked_at: clock::now(),
            checks,
        }
    }

    /// Returns whether a check has failed.
    pub fn has_failures(&self) -> bool {
        self.checks
            .iter()
            .any(|check| check.status == CheckStatus::Failure)
    }
}

impl Verb for RunDoctor {
    type Answer = DoctorReport;

    async fn run(self, hub: &Hub) -> Result<DoctorReport, ApiError> {
        Ok(DoctorReport::new(checks::check_all(hub).await))
    }
}

impl Verb for BundleDiagnostics {
    type Answer = DiagnosticsBundle;

    async fn run(self, hub: &Hub) -> Result<DiagnosticsBundle, ApiError> {
        bundle::bundle_hub(hub).await
    }
}
