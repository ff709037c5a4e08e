//! Approvals: the calls that wait for a person, and the person's decision.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{
    clock,
    hub::Hub,
    model::{
        approval::{ApprovalRequest, Verdict},
        call::Call,
        ids::{CallId, Timestamp},
        policy::{Effect, Scope},
    },
    store::table::policy::RuleRow,
};

/// `approvals.list`: what waits, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListApprovals {}

/// `approvals.show`: one that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowApproval {
    pub id: CallId,
}

/// `approvals.decide`: decides a request that waits. The first decision wins; a later one
/// is a `conflict`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DecideApproval {
    pub id: CallId,
    /// The digest of the request that the person saw. A request of another digest is not decided.
    pub digest: String,
    pub verdict: Verdict,
}

impl Verb for ListApprovals {
    const NAME: &'static str = "approvals.list";
    type Answer = Vec<ApprovalRequest>;

    async fn run(self, hub: &Hub) -> Result<Vec<ApprovalRequest>, ApiError> {
        Ok(hub.queue.list())
    }
}

impl Verb for ShowApproval {
    const NAME: &'static str = "approvals.show";
    type Answer = ApprovalRequest;

    async fn run(self, hub: &Hub) -> Result<ApprovalRequest, ApiError> {
        hub.queue.get(&self.id).ok_or_else(|| ApiError::not_found(format!("no call with the id '{}' waits", self.id)))
    }
}

impl Verb for DecideApproval {
    const NAME: &'static str = "approvals.decide";
    type Answer = Call;

    async fn run(self, hub: &Hub) -> Result<Call, ApiError> {
        let taken = hub.queue.take(&self.id, &self.digest)?;
        if let Some(rule) = rule_of(&taken.request, &self.verdict) {
            // It fails closed: with a rule that cannot be kept the call does not cross either.
            if let Err(error) = hub.rules.put(rule).await {
                let reason = format!("the rule could not be written: {error}");
                taken.decide(Verdict::Deny { reason }).await?;
                return Err(error.into());
            }
        }
        Ok(taken.decide(self.verdict).await?)
    }
}

/// The rule that a verdict makes beyond its one call: this client, this tool, as they are now.
fn rule_of(request: &ApprovalRequest, verdict: &Verdict) -> Option<RuleRow> {
    let now = clock::now();
    let (expires_at, in_session) = match verdict {
        Verdict::ApproveOnce | Verdict::Deny { .. } => return None,
        Verdict::ApproveFor { seconds } => (Some(Timestamp(now.0 + i64::from(*seconds) * 1_000)), false),
        Verdict::ApproveSession => (None, true),
        Verdict::ApproveAlways => (None, false),
    };
    Some(RuleRow {
        scope: Scope {
            server: Some(request.server.clone()),
            tool: Some(request.tool.clone()),
            client: Some(request.client.clone()),
        },
        session: in_session.then(|| request.session.clone()),
        effect: Effect::Allow,
        identity: Some(request.identity.clone()),
        definition: Some(request.definition.clone()),
        created_at: now,
        expires_at,
    })
}
