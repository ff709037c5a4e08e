//! The audit: whether it holds together, and all of it for somebody else to read.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{
    hub::Hub,
    model::{
        audit::{AuditReport, AuditedCall},
        ids::{CallId, Timestamp},
    },
};

/// Calls in one page of an export.
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
    /// Only those from this moment on.
    pub since: Option<Timestamp>,
    /// Only those ahead of this moment.
    pub until: Option<Timestamp>,
    /// Only those after this call: the `next` of the page before.
    pub after: Option<CallId>,
    /// At most so many; 500 where it is not given, 500 at most.
    pub limit: Option<u32>,
}

/// A page of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditPage {
    pub calls: Vec<AuditedCall>,
    /// What the next page comes after; none behind the last one.
    pub next: Option<CallId>,
}

impl Verb for VerifyAudit {
    const NAME: &'static str = "audit.verify";
    type Answer = AuditReport;

    async fn run(self, hub: &Hub) -> Result<AuditReport, ApiError> {
        Ok(hub.journal.verify().await?)
    }
}

impl Verb for ExportAudit {
    const NAME: &'static str = "audit.export";
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
