//! The audit: verification of its chain, and an export of all calls.

use drawbridge_model::{
    audit::{AuditReport, AuditedCall},
    ids::{CallId, Timestamp},
};
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// The most calls in one page of an export.
const PAGE: u32 = 500;

/// `audit.verify`: recomputes the chain over all entries and calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerifyAudit {}

/// `audit.export`: calls, oldest first, a page at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ExportAudit {
    /// Only calls at or after this moment.
    pub since: Option<Timestamp>,
    /// Only calls before this moment.
    pub until: Option<Timestamp>,
    /// Only calls after this one: the `next` of the previous page.
    pub after: Option<CallId>,
    /// The most calls to return: 500 by default, and 500 at most.
    pub limit: Option<u32>,
}

/// A page of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditPage {
    pub calls: Vec<AuditedCall>,
    /// The `after` of the next page; none if this page is the last.
    pub next: Option<CallId>,
}

impl Verb for VerifyAudit {
    type Answer = AuditReport;

    async fn run(self, hub: &Hub) -> Result<AuditReport, ApiError> {
        Ok(hub.journal.verify().await?)
    }
}

impl Verb for ExportAudit {
    type Answer = AuditPage;

    async fn run(self, hub: &Hub) -> Result<AuditPage, ApiError> {
        hub.journal.flush().await;
        let limit = self.limit.unwrap_or(PAGE).clamp(1, PAGE);
        let calls = hub
            .store
            .audited_calls(self.after.as_ref(), self.since, self.until, limit)
            .await?;
        let is_full = calls.len() == limit as usize;
        let next = calls
            .last()
            .filter(|_| is_full)
            .map(|last| last.call.id.clone());
        Ok(AuditPage { calls, next })
    }
}
