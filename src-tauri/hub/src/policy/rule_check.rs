//! Checks a rule before it is saved.

use drawbridge_model::{
    clock,
    ids::{ClientName, ServerId, UserName},
    policy::{Effect, Lifetime, RequestKind, RuleSpec, Scope},
};

/// The longest note that a person may write about a rule, in bytes.
const MAX_NOTE: usize = 1_000;

/// The reason why a rule cannot be saved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    #[error("'{0}' is empty; omit it to match all")]
    Empty(&'static str),
    #[error("'tool' requires 'server', because tools of different servers can have the same name")]
    ToolWithoutServer,
    #[error(
        "'tool' cannot be combined with 'kind'; to cover a prompt or a resource, use a condition on '/name' or '/uri'"
    )]
    ToolWithKind,
    #[error("'read_only' covers tools, so it cannot be combined with another 'kind'")]
    ReadOnlyKind,
    #[error("a rule needs 'effect' (allow, deny, ask) or 'result' (mask, hold)")]
    NoEffect,
    #[error("a rule that denies calls cannot have a 'result'")]
    DenyWithResult,
    #[error("'note' can have at most {MAX_NOTE} bytes")]
    LongNote,
    #[error("'lifetime.at' is in the past")]
    Expired,
    #[error("'lifetime.count' must be at least 1")]
    NoCalls,
    #[error("a rule for one session cannot be imported")]
    SessionRule,
}

/// Checks everything about a rule except its conditions, which are checked when they are compiled.
pub(super) fn check_rule(spec: &RuleSpec) -> Result<(), InvalidRule> {
    check_scope(&spec.scope)?;
    if spec.effect.is_none() && spec.result.is_none() {
        return Err(InvalidRule::NoEffect);
    }
    if spec.effect == Some(Effect::Deny) && spec.result.is_some() {
        return Err(InvalidRule::DenyWithResult);
    }
    if spec.read_only && !matches!(spec.scope.kind, None | Some(RequestKind::Tools)) {
        return Err(InvalidRule::ReadOnlyKind);
    }
    if spec.note.len() > MAX_NOTE {
        return Err(InvalidRule::LongNote);
    }
    match spec.lifetime {
        Lifetime::Until { at } if at <= clock::now() => Err(InvalidRule::Expired),
        Lifetime::Calls { count: 0 } => Err(InvalidRule::NoCalls),
        Lifetime::UntilDeleted
        | Lifetime::Until { .. }
        | Lifetime::Session { .. }
        | Lifetime::Calls { .. } => Ok(()),
    }
}

pub(super) fn check_scope(scope: &Scope) -> Result<(), InvalidRule> {
    let parts = [
        ("server", scope.server.as_ref().map(ServerId::as_str)),
        ("tool", scope.tool.as_deref()),
        ("client", scope.client.as_ref().map(ClientName::as_str)),
        ("user", scope.user.as_ref().map(UserName::as_str)),
    ];
    if let Some((part, _)) = parts.iter().find(|(_, value)| *value == Some("")) {
        return Err(InvalidRule::Empty(part));
    }
    if scope.tool.is_some() && scope.server.is_none() {
        return Err(InvalidRule::ToolWithoutServer);
    }
    if scope.tool.is_some() && scope.kind.is_some() {
        return Err(InvalidRule::ToolWithKind);
    }
    Ok(())
}
