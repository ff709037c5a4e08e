//! Approvals: the calls that wait for a person, and the person's decision.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    ApiError, Verb,
    policy::{self, DryRun, dry_run},
};
use crate::{
    clock,
    hub::Hub,
    model::{
        approval::{ApprovalRequest, Verdict},
        audit::AuditKind,
        call::{Call, Decision},
        ids::{CallId, RuleId, Timestamp},
        policy::{Condition, Effect, Lifetime, Rule, RuleSpec, Scope},
    },
    policy::{Conditions, DecideError, MatchInput, check_edited_arguments},
    random,
};

/// `approvals.list`: the requests in the queue, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListApprovals {}

/// `approvals.missed`: the requests that nobody decided in time and whose identical retry can still
/// be allowed.
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

/// `approvals.allow_retry`: allows an identical retry of a call that nobody decided in time. The
/// verb itself runs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AllowRetry {
    pub id: CallId,
    /// The digest of the request that the person saw.
    pub digest: String,
}

/// For how many seconds an identical retry is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RetryAllowed {
    pub seconds: u32,
}

/// `approvals.preview`: the rule that a verdict on a waiting request would make, and the past calls
/// that the rule would have matched. Nothing is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PreviewVerdict {
    pub id: CallId,
    pub verdict: Verdict,
}

/// The effect of a verdict beyond its one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerdictPreview {
    /// The rule in words; empty if the verdict makes none.
    pub rule: String,
    pub dry_run: DryRun,
}

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
        // A verdict that cannot be applied is rejected before the request is taken from the queue,
        // so that the request keeps waiting.
        if let Some(request) = hub.queue.get(&self.id) {
            check_verdict(hub, &request, &self.verdict)?;
        }
        let taken = hub.queue.take(&self.id, &self.digest)?;
        let Some(text) = rule_from_verdict(&taken.request, &self.verdict) else {
            return Ok(taken.decide(self.verdict).await?);
        };
        let rule = bind_to_request(&taken.request, text);
        let (id, note) = (rule.id.clone(), policy::audit_note(&rule));
        // The rule is granted before the decision, because the client's next call may arrive as
        // soon as this one is answered.
        if let Err(why) = hub.rules.add_allow(rule).await {
            taken
                .decide(Verdict::Deny {
                    reason: format!("the approval could not be saved: {why}"),
                })
                .await?;
            return Err(why.into());
        }
        let decided = taken.decide(self.verdict).await;
        if decided
            .as_ref()
            .is_ok_and(|call| call.decision == Decision::Allowed)
        {
            hub.store.append_audit(AuditKind::PolicyChanged, &note);
        } else {
            hub.rules.delete(&id).await?;
        }
        Ok(decided?)
    }
}

impl Verb for AllowRetry {
    type Answer = RetryAllowed;

    async fn run(self, hub: &Hub) -> Result<RetryAllowed, ApiError> {
        let seconds = hub.queue.allow_retry(&self.id, &self.digest)?;
        Ok(RetryAllowed {
            seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
        })
    }
}

impl Verb for PreviewVerdict {
    type Answer = VerdictPreview;

    async fn run(self, hub: &Hub) -> Result<VerdictPreview, ApiError> {
        let request = find_request(hub, &self.id)?;
        check_verdict(hub, &request, &self.verdict)?;
        match rule_from_verdict(&request, &self.verdict) {
            Some(text) => Ok(VerdictPreview {
                rule: text.to_string(),
                dry_run: dry_run(hub, &text).await?,
            }),
            None => Ok(VerdictPreview {
                rule: String::new(),
                dry_run: DryRun::default(),
            }),
        }
    }
}

fn find_request(hub: &Hub, id: &CallId) -> Result<ApprovalRequest, ApiError> {
    hub.queue.get(id).ok_or_else(|| gone_error(id))
}

fn gone_error(id: &CallId) -> ApiError {
    ApiError::not_found(DecideError::Gone(id.clone()).to_string())
}

/// The longest time for which an allow can be granted, in seconds.
const MAX_GRANT_S: u32 = 30 * 24 * 3600;
/// The most calls for which an allow can be granted.
const MAX_GRANT_CALLS: u32 = 10_000;

fn check_verdict(hub: &Hub, request: &ApprovalRequest, verdict: &Verdict) -> Result<(), ApiError> {
    match verdict {
        Verdict::ApproveFor { seconds, .. } if !(1..=MAX_GRANT_S).contains(seconds) => {
            return Err(ApiError::invalid(format!(
                "'seconds' must be 1 to {MAX_GRANT_S} (30 days), not {seconds}"
            )));
        }
        Verdict::ApproveCalls { count, .. } if !(1..=MAX_GRANT_CALLS).contains(count) => {
            return Err(ApiError::invalid(format!(
                "'count' must be 1 to {MAX_GRANT_CALLS}, not {count}"
            )));
        }
        Verdict::Deny { .. } => return Ok(()),
        Verdict::ApproveOnce { arguments: None } if request.result.is_some() => return Ok(()),
        Verdict::ApproveOnce { .. }
        | Verdict::ApproveFor { .. }
        | Verdict::ApproveCalls { .. }
        | Verdict::ApproveSession { .. }
        | Verdict::ApproveAlways { .. } => {}
    }
    if request.result.is_some() {
        return Err(ApiError::invalid(
            "a result can only be approved once or denied",
        ));
    }
    let tool = hub
        .queue
        .tool(&request.id)
        .ok_or_else(|| gone_error(&request.id))?;
    let read = |text: &str| {
        let raw = RawValue::from_string(text.to_owned());
        raw.map_err(|e| ApiError::invalid(format!("the arguments are not valid JSON: {e}")))
    };
    let arguments = read(&request.arguments)?;
    let input = MatchInput {
        client: Some(&request.client),
        session: Some(&request.session),
        server: &tool.server,
        tool: &request.tool,
        definition: &request.definition,
        annotations: &request.annotations,
        arguments: Some(&arguments),
    };
    if let Verdict::ApproveOnce {
        arguments: Some(edited),
    } = verdict
    {
        return check_edited_arguments(&hub.rules, &input, &tool, &read(edited)?)
            .map_err(|error| ApiError::invalid(error.to_string()));
    }
    if let Some(ruling) = hub.rules.find_denial(&input) {
        let reason = ruling.reason;
        return Err(ApiError::conflict(format!(
            "the call is denied by the {reason}; remove that rule first, or deny the call"
        )));
    }
    let Some(rule) = rule_from_verdict(request, verdict) else {
        return Ok(());
    };
    if request.changed.is_some() {
        return Err(ApiError::conflict(
            "the tool has changed since you accepted it, so its calls can only be approved once; accept the change first",
        ));
    }
    if Conditions::compile(&rule.conditions)?.matches(rule.effect, &arguments, &tool.server) {
        return Ok(());
    }
    Err(ApiError::invalid(
        "the rule must match the call that it approves",
    ))
}

/// Returns the rule that a verdict makes beyond its one call: an allow for this client and this
/// tool, or `None` if the verdict concerns this call only.
fn rule_from_verdict(request: &ApprovalRequest, verdict: &Verdict) -> Option<RuleSpec> {
    let (life, when): (Lifetime, &[Condition]) = match verdict {
        Verdict::ApproveOnce { .. } | Verdict::Deny { .. } => return None,
        Verdict::ApproveFor {
            seconds,
            conditions: when,
        } => (
            Lifetime::Until {
                at: Timestamp(clock::now().0 + i64::from(*seconds) * 1_000),
            },
            when,
        ),
        Verdict::ApproveCalls {
            count,
            conditions: when,
        } => (Lifetime::Calls { count: *count }, when),
        Verdict::ApproveSession { conditions: when } => (
            Lifetime::Session {
                session: request.session.clone(),
            },
            when,
        ),
        Verdict::ApproveAlways { conditions: when } => (Lifetime::UntilDeleted, when),
    };
    Some(RuleSpec {
        scope: Scope {
            server: Some(request.server.clone()),
            tool: Some(request.tool.clone()),
            client: Some(request.client.clone()),
        },
        conditions: when.to_vec(),
        effect: Some(Effect::Allow),
        lifetime: life,
        ..RuleSpec::default()
    })
}

fn bind_to_request(request: &ApprovalRequest, text: RuleSpec) -> Rule {
    Rule {
        id: RuleId::new(random::id()),
        spec: text,
        identity: Some(request.identity.clone()),
        definition: Some(request.definition.clone()),
        created_at: clock::now(),
        used: 0,
    }
}
