//! A person's verdict on a pending request: whether it can be applied, and the rule that it adds.

use std::path::Path;

use drawbridge_jsonrpc::json;
use drawbridge_model::{
    approval::{ApprovalRequest, FormContent, Verdict},
    clock,
    ids::{RuleId, Timestamp},
    policy::{Condition, Effect, Lifetime, Literal, Predicate, RequestKind, Rule, RuleSpec, Scope},
    protocol::guarded::GuardedMethod,
    random,
};
use serde_json::value::RawValue;

use crate::elicitation::{ContentError, Elicitation, ElicitationError};

use super::{
    conditions::{ConditionError, Conditions},
    guarded_request::{EditError, check_edited_arguments},
    queue::PendingApprovalView,
    rules::{MatchInput, Rules},
};

/// The longest time for which an allow can be granted, in seconds.
const MAX_ALLOW_S: u32 = 30 * 24 * 3600;
/// The most calls for which an allow can be granted.
const MAX_ALLOWED_CALLS: u32 = 10_000;

/// The reason why a verdict cannot be applied to a request. The request keeps waiting.
#[derive(Debug, thiserror::Error)]
pub enum VerdictError {
    #[error("'seconds' must be 1 to {MAX_ALLOW_S} (30 days), not {0}")]
    SecondsOutOfRange(u32),
    #[error("'count' must be 1 to {MAX_ALLOWED_CALLS}, not {0}")]
    CountOutOfRange(u32),
    #[error("a result can only be approved once or denied")]
    IsResult,
    #[error("this request asks for input: fill it in, decline it or dismiss it")]
    IsInputRequest,
    #[error("only a request for input can be filled in or dismissed")]
    NotInputRequest,
    #[error("the request for input cannot be shown: {0}")]
    Elicitation(#[from] ElicitationError),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("the arguments are not valid JSON: {0}")]
    InvalidArguments(#[source] serde_json::Error),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("the call is denied by the {reason}; remove that rule first, or deny the call")]
    DeniedByRule {
        /// The rule that denies the call, in words.
        reason: String,
    },
    #[error(
        "the tool has changed since you accepted it, so its calls can only be approved once; accept the change first"
    )]
    ToolChanged,
    #[error(transparent)]
    Condition(#[from] ConditionError),
    #[error("the rule must match the call that it approves")]
    RuleDoesNotMatch,
}

/// Checks whether a verdict can be applied to a pending request.
///
/// # Errors
/// Returns an error if the verdict is out of range, does not fit the request, or contradicts a
/// rule.
pub(super) fn check(
    rules: &Rules,
    pending: &PendingApprovalView,
    verdict: &Verdict,
) -> Result<(), VerdictError> {
    let request = &pending.request;
    match verdict {
        Verdict::ApproveFor { seconds, .. } if !(1..=MAX_ALLOW_S).contains(seconds) => {
            return Err(VerdictError::SecondsOutOfRange(*seconds));
        }
        Verdict::ApproveCalls { count, .. } if !(1..=MAX_ALLOWED_CALLS).contains(count) => {
            return Err(VerdictError::CountOutOfRange(*count));
        }
        Verdict::Deny { .. } => return Ok(()),
        Verdict::Dismiss | Verdict::FillIn { .. } if !request.is_filled_in_by_person => {
            return Err(VerdictError::NotInputRequest);
        }
        Verdict::Dismiss => return Ok(()),
        Verdict::FillIn { .. } => {}
        Verdict::ApproveOnce { .. }
        | Verdict::ApproveFor { .. }
        | Verdict::ApproveCalls { .. }
        | Verdict::ApproveSession { .. }
        | Verdict::ApproveAlways { .. }
            if request.is_filled_in_by_person =>
        {
            return Err(VerdictError::IsInputRequest);
        }
        Verdict::ApproveOnce { arguments: None } if request.result.is_some() => return Ok(()),
        Verdict::ApproveOnce { .. }
        | Verdict::ApproveFor { .. }
        | Verdict::ApproveCalls { .. }
        | Verdict::ApproveSession { .. }
        | Verdict::ApproveAlways { .. } => {}
    }
    if request.result.is_some() {
        return Err(VerdictError::IsResult);
    }
    let parse = |text: &str| RawValue::from_string(text.to_owned());
    let arguments = parse(&request.arguments).map_err(VerdictError::InvalidArguments)?;
    if let Verdict::FillIn { content } = verdict {
        let content = content.as_ref().map(FormContent::expose);
        Elicitation::read(&arguments)?.check(content)?;
    }
    let input = MatchInput {
        kind: request.kind,
        client: Some(&request.client),
        session: Some(&request.session),
        project: request.project.as_deref().map(Path::new),
        server: &pending.target.server,
        tool: if request.kind == RequestKind::Tools {
            &request.tool
        } else {
            ""
        },
        definition_digest: &request.definition_digest,
        annotations: &request.annotations,
        arguments: Some(&arguments),
    };
    if let Verdict::ApproveOnce {
        arguments: Some(edited),
    } = verdict
    {
        let edited = parse(edited).map_err(VerdictError::InvalidArguments)?;
        return Ok(check_edited_arguments(
            rules,
            &input,
            pending.target.entry.as_deref(),
            &edited,
        )?);
    }
    if let Some(ruling) = rules.find_denial(&input) {
        return Err(VerdictError::DeniedByRule {
            reason: ruling.reason,
        });
    }
    let Some(rule) = rule_from(request, verdict) else {
        return Ok(());
    };
    if request.changed.is_some() {
        return Err(VerdictError::ToolChanged);
    }
    if Conditions::compile(&rule.conditions)?.matches(
        rule.effect,
        &arguments,
        &pending.target.server,
        request.project.as_deref().map(Path::new),
    ) {
        return Ok(());
    }
    Err(VerdictError::RuleDoesNotMatch)
}

/// Returns the rule that a verdict adds, or `None` if the verdict concerns this request only.
///
/// For a call, the rule allows this client to call this tool. For another request, the rule allows
/// requests of this kind between this client and this server. In both cases, the requests must meet
/// the verdict's conditions. If there are none, and the request names a prompt or resource, the
/// rule covers only that prompt or resource.
pub(super) fn rule_from(request: &ApprovalRequest, verdict: &Verdict) -> Option<RuleSpec> {
    let (lifetime, conditions): (Lifetime, &[Condition]) = match verdict {
        Verdict::ApproveOnce { .. }
        | Verdict::Deny { .. }
        | Verdict::FillIn { .. }
        | Verdict::Dismiss => return None,
        Verdict::ApproveFor {
            seconds,
            conditions,
        } => (
            Lifetime::Until {
                at: Timestamp(clock::now().0 + i64::from(*seconds) * 1_000),
            },
            conditions,
        ),
        Verdict::ApproveCalls { count, conditions } => {
            (Lifetime::Calls { count: *count }, conditions)
        }
        Verdict::ApproveSession { conditions } => (
            Lifetime::Session {
                session: request.session.clone(),
            },
            conditions,
        ),
        Verdict::ApproveAlways { conditions } => (Lifetime::UntilDeleted, conditions),
    };
    let is_tool = request.kind == RequestKind::Tools;
    Some(RuleSpec {
        scope: Scope {
            server: Some(request.server.clone()),
            tool: is_tool.then(|| request.tool.clone()),
            client: Some(request.client.clone()),
            user: None,
            kind: (!is_tool).then_some(request.kind),
        },
        conditions: match name_condition(request) {
            Some(same_name) if conditions.is_empty() => vec![same_name],
            _ => conditions.to_vec(),
        },
        effect: Some(Effect::Allow),
        lifetime,
        ..RuleSpec::default()
    })
}

/// Returns a condition that matches only requests for the same prompt or resource, or `None` if the
/// request names neither.
fn name_condition(request: &ApprovalRequest) -> Option<Condition> {
    let pointer = match request.method {
        GuardedMethod::GetPrompt => "/name",
        GuardedMethod::ReadResource | GuardedMethod::SubscribeToResource => "/uri",
        GuardedMethod::Complete if request.kind == RequestKind::Prompts => "/ref/name",
        GuardedMethod::Complete => "/ref/uri",
        GuardedMethod::CallTool
        | GuardedMethod::GetTask
        | GuardedMethod::UpdateTask
        | GuardedMethod::CancelTask
        | GuardedMethod::GetTaskResult
        | GuardedMethod::ListTasks
        | GuardedMethod::CreateMessage
        | GuardedMethod::Elicit
        | GuardedMethod::ListRoots => return None,
    };
    Some(Condition {
        pointer: pointer.into(),
        is: Predicate::Equals(Literal(json::quote(&request.tool))),
    })
}

/// Returns the rule with a new id, bound to the server's identity and, for a tool, to the
/// definition that the person saw. The rule does not apply after either changes.
pub(super) fn bind_rule(request: &ApprovalRequest, spec: RuleSpec) -> Rule {
    Rule {
        id: RuleId::new(random::id()),
        spec,
        identity: Some(request.identity.clone()),
        definition_digest: (request.kind == RequestKind::Tools)
            .then(|| request.definition_digest.clone()),
        created_at: clock::now(),
        used: 0,
    }
}
