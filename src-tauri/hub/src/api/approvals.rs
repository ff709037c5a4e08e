//! Approvals: the requests in the queue, a person's decisions, and the requests that nobody decided
//! in time.

use drawbridge_model::{
    approval::{ApprovalRequest, Verdict},
    audit::AuditKind,
    call::Call,
    ids::CallId,
};
use drawbridge_store::table::call::CallFilter;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

use super::{ApiError, Verb, policy::DryRun};
use crate::{elicitation::Elicitation, hub::Hub, policy::QueueError};

/// `approvals.list`: the requests in the queue, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListApprovals {}

/// `approvals.missed`: the requests that nobody decided in time, and for which a person can
/// still allow an identical retry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListMissed {}

/// `approvals.show`: one request in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowApproval {
    pub id: CallId,
}

/// `approvals.decide`: decides a request in the queue. The first decision wins; a later decision is
/// a `conflict`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DecideApproval {
    pub id: CallId,
    /// The digest of the request that the person saw. A request with another digest is not decided.
    pub digest: String,
    pub verdict: Verdict,
}

/// `approvals.allow_retry`: allows one identical retry of a request that nobody decided in time.
/// The verb itself runs nothing: the sender has to send the request again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AllowRetry {
    pub id: CallId,
    /// The digest of the request that the person saw.
    pub digest: String,
}

/// The permission to retry a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RetryAllowed {
    /// How long the permission lasts, in seconds.
    pub seconds: u32,
}

/// `approvals.preview`: the rule that a verdict on a request in the queue would make, and the past
/// calls that the rule would have matched. Nothing is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PreviewVerdict {
    pub id: CallId,
    pub verdict: Verdict,
}

/// The effect of a verdict on calls other than the call that it decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerdictPreview {
    /// The rule in words; empty if the verdict makes no rule.
    pub rule: String,
    /// The past calls that the rule would have matched.
    pub dry_run: DryRun,
}

/// `approvals.last_calls`: the last five recorded requests of the client session to which a request
/// in the queue belongs, newest first. Empty if the request belongs to no session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListLastCalls {
    pub id: CallId,
}

/// `approvals.open_url`: accepts a server's request that the person visit a URL, and returns the
/// URL. The desktop app opens the URL in the browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OpenApprovalUrl {
    pub id: CallId,
    /// The digest of the request that the person saw.
    pub digest: String,
}

/// The URL that a server asks a person to visit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ApprovalUrl {
    pub url: String,
}

/// The maximum number of requests that `approvals.last_calls` returns.
const LAST_CALLS: u32 = 5;

impl Verb for ListApprovals {
    type Answer = Vec<ApprovalRequest>;

    async fn run(self, hub: &Hub) -> Result<Vec<ApprovalRequest>, ApiError> {
        Ok(hub.queue.list())
    }
}

impl Verb for ListMissed {
    type Answer = Vec<ApprovalRequest>;

    async fn run(self, hub: &Hub) -> Result<Vec<ApprovalRequest>, ApiError> {
        Ok(hub.queue.list_missed())
    }
}

impl Verb for ShowApproval {
    type Answer = ApprovalRequest;

    async fn run(self, hub: &Hub) -> Result<ApprovalRequest, ApiError> {
        find_request(hub, &self.id)
    }
}

impl Verb for DecideApproval {
    type Answer = Call;

    async fn run(self, hub: &Hub) -> Result<Call, ApiError> {
        Ok(hub
            .gate
            .decide(&self.id, &self.digest, self.verdict)
            .await?)
    }
}

impl Verb for AllowRetry {
    type Answer = RetryAllowed;

    async fn run(self, hub: &Hub) -> Result<RetryAllowed, ApiError> {
        let seconds = hub.queue.allow_retry(&self.id, &self.digest)?;
        let note = json!({ "call": self.id, "digest": self.digest });
        hub.store.append_audit(AuditKind::RetryAllowed, &note);
        Ok(RetryAllowed {
            seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
        })
    }
}

impl Verb for PreviewVerdict {
    type Answer = VerdictPreview;

    async fn run(self, hub: &Hub) -> Result<VerdictPreview, ApiError> {
        find_request(hub, &self.id)?;
        match hub.gate.preview(&self.id, &self.verdict)? {
            Some(rule) => Ok(VerdictPreview {
                rule: rule.to_string(),
                dry_run: hub.policy_editor.dry_run(&rule).await?,
            }),
            None => Ok(VerdictPreview {
                rule: String::new(),
                dry_run: DryRun::default(),
            }),
        }
    }
}

impl Verb for ListLastCalls {
    type Answer = Vec<Call>;

    async fn run(self, hub: &Hub) -> Result<Vec<Call>, ApiError> {
        let session = find_request(hub, &self.id)?.session;
        if session.as_str().is_empty() {
            return Ok(Vec::new());
        }
        let filter = CallFilter {
            session: Some(session),
            limit: LAST_CALLS,
            ..CallFilter::default()
        };
        hub.journal.flush().await;
        Ok(hub.store.calls(&filter).await?)
    }
}

impl Verb for OpenApprovalUrl {
    type Answer = ApprovalUrl;

    async fn run(self, hub: &Hub) -> Result<ApprovalUrl, ApiError> {
        let request = find_request(hub, &self.id)?;
        let params = RawValue::from_string(request.arguments)
            .map_err(|error| ApiError::internal(error.to_string()))?;
        let url = match Elicitation::read(&params) {
            Ok(Elicitation::Url(url)) if request.is_filled_in_by_person => url,
            Ok(_) | Err(_) => return Err(ApiError::invalid("this request has no URL to visit")),
        };
        let verdict = Verdict::FillIn { content: None };
        hub.gate.decide(&self.id, &self.digest, verdict).await?;
        Ok(ApprovalUrl { url: url.into() })
    }
}

fn find_request(hub: &Hub, id: &CallId) -> Result<ApprovalRequest, ApiError> {
    let not_found = || ApiError::not_found(QueueError::Gone(id.clone()).to_string());
    hub.queue.get(id).ok_or_else(not_found)
}
