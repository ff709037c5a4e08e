//! The audit log: verification of its chain and of the entries about one call, a list of its
//! entries, and an export of calls.

use drawbridge_model::{
    audit::{AuditEntryView, AuditKind, AuditReport, AuditedCall, CallAuditEntry},
    ids::{CallId, Timestamp},
};
use drawbridge_store::table::audit::AuditFilter;
use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// The maximum number of calls or entries in one page.
const MAX_PAGE_SIZE: u32 = 500;

/// `audit.verify`: recomputes the chain over all entries and calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerifyAudit {}

/// `audit.verify_call`: verifies the entries about the decision on a call and about its end.
/// Returns no entries if the call is unknown or older than the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerifyCall {
    pub id: CallId,
}

/// `audit.list`: entries, newest first, a page at a time. Entries about calls are returned only if
/// their kind is named, because `calls.list` has the calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ListAudit {
    /// Only entries of this kind. If it is absent, all entries that are not about a call.
    pub kind: Option<AuditKind>,
    /// Only entries at or after this moment.
    pub since: Option<Timestamp>,
    /// Only entries before the entry with this number: the `next` of the previous page.
    pub before: Option<u32>,
    /// The maximum number of entries to return: 500 by default, and 500 at most.
    pub limit: Option<u32>,
}

/// A page of entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditEntries {
    pub entries: Vec<AuditEntryView>,
    /// The `before` of the next page, which may be empty; null if this page is the last.
    pub next: Option<u32>,
}

/// `audit.export`: calls, oldest first, a page at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ExportAudit {
    /// Only calls at or after this moment.
    pub since: Option<Timestamp>,
    /// Only calls before this moment.
    pub until: Option<Timestamp>,
    /// Only calls after this call: the `next` of the previous page.
    pub after: Option<CallId>,
    /// The maximum number of calls to return: 500 by default, and 500 at most.
    pub limit: Option<u32>,
}

/// A page of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditPage {
    pub calls: Vec<AuditedCall>,
    /// The `after` of the next page, which may be empty; null if this page is the last.
    pub next: Option<CallId>,
}

impl Verb for VerifyAudit {
    type Answer = AuditReport;

    async fn run(self, hub: &Hub) -> Result<AuditReport, ApiError> {
        Ok(hub.journal.verify().await?)
    }
}

impl Verb for VerifyCall {
    type Answer = Vec<CallAuditEntry>;

    async fn run(self, hub: &Hub) -> Result<Vec<CallAuditEntry>, ApiError> {
        Ok(hub.journal.verify_call(&self.id).await?)
    }
}

impl Verb for ListAudit {
    type Answer = AuditEntries;

    async fn run(self, hub: &Hub) -> Result<AuditEntries, ApiError> {
        hub.journal.flush().await;
        let limit = self.limit.unwrap_or(MAX_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
        let filter = AuditFilter {
            kind: self.kind,
            since: self.since,
            before: self.before,
            limit,
        };
        let entries = hub.store.audit_entries(&filter).await?;
        let is_full = entries.len() == limit as usize;
        let next = entries.last().filter(|_| is_full).map(|last| last.seq);
        Ok(AuditEntries { entries, next })
    }
}

impl Verb for ExportAudit {
    type Answer = AuditPage;

    async fn run(self, hub: &Hub) -> Result<AuditPage, ApiError> {
        hub.journal.flush().await;
        let limit = self.limit.unwrap_or(MAX_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
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
