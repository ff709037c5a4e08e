//! `/api/approvals`: lists and decides pending approvals, for scripts.

use axum::extract::{Path, State};
use drawbridge_hub::api::approvals::{DecideApproval, ListApprovals, ShowApproval};
use drawbridge_model::{
    approval::{ApprovalRequest, Verdict},
    call::Call,
    ids::CallId,
};
use serde::Deserialize;

use super::{BodyBytes, IdPath, JsonResult, SharedState, read_json, run_verb};

/// A decision on the request that the URL names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    /// The digest of the request as the person saw it.
    digest: String,
    verdict: Verdict,
}

pub(crate) async fn list(State(state): SharedState) -> JsonResult<Vec<ApprovalRequest>> {
    run_verb(state, ListApprovals {}).await
}

pub(crate) async fn show(State(state): SharedState, id: IdPath) -> JsonResult<ApprovalRequest> {
    let Path(id) = id?;
    run_verb(
        state,
        ShowApproval {
            id: CallId::new(id),
        },
    )
    .await
}

pub(crate) async fn decide(
    State(state): SharedState,
    id: IdPath,
    body: BodyBytes,
) -> JsonResult<Call> {
    let Path(id) = id?;
    let Decision { digest, verdict } = read_json(&body?)?;
    run_verb(
        state,
        DecideApproval {
            id: CallId::new(id),
            digest,
            verdict,
        },
    )
    .await
}
