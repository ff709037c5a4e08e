//! Approvals: the calls that wait for a person, and the person's decision.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb, policy};
use crate::{
    clock,
    hub::Hub,
    model::{
        approval::{ApprovalRequest, Verdict},
        audit::AuditKind,
        call::{Call, Decision},
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
        check(&self.verdict)?;
        let taken = hub.queue.take(&self.id, &self.digest)?;
        let rule = rule_of(&taken.request, &self.verdict);
        let call = taken.decide(self.verdict).await?;
        if let Some(rule) = rule.filter(|_| call.decision == Decision::Allowed) {
            let note = policy::note(&rule);
            hub.rules.grant(rule).await?;
            hub.store.note(AuditKind::PolicyChanged, &note);
        }
        Ok(call)
    }
}

/// The longest time that an allow can be given for, in seconds.
const MAX_GRANT_S: u32 = 30 * 24 * 3600;

fn check(verdict: &Verdict) -> Result<(), ApiError> {
    match verdict {
        Verdict::ApproveFor { seconds } if !(1..=MAX_GRANT_S).contains(seconds) => {
            Err(ApiError::invalid(format!("'seconds' is 1 to {MAX_GRANT_S} (30 days), not {seconds}")))
        }
        Verdict::ApproveFor { .. }
        | Verdict::ApproveOnce
        | Verdict::ApproveSession
        | Verdict::ApproveAlways
        | Verdict::Deny { .. } => Ok(()),
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
