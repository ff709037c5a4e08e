//! `/api/approvals`: lists and decides pending approvals, for scripts.

use axum::extract::{Path, State};
use drawbridge_hub::{
    api::approvals::{DecideApproval, ListApprovals, ShowApproval},
    model::{
        approval::{ApprovalRequest, Verdict},
        call::Call,
        ids::CallId,
    },
};
use serde::Deserialize;

use super::{Answer, At, Body, Id, read, run};

/// A decision on the request that the URL names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    /// The digest of the request that the decision is for.
    digest: String,
    verdict: Verdict,
}

pub(crate) async fn list(State(door): At) -> Answer<Vec<ApprovalRequest>> {
    run(door, ListApprovals {}).await
}

pub(crate) async fn show(State(door): At, id: Id) -> Answer<ApprovalRequest> {
    let Path(id) = id?;
    run(
        door,
        ShowApproval {
            id: CallId::new(id),
        },
    )
    .await
}

pub(crate) async fn decide(State(door): At, id: Id, body: Body) -> Answer<Call> {
    let Path(id) = id?;
    let Decision { digest, verdict } = read(&body?)?;
    run(
        door,
        DecideApproval {
            id: CallId::new(id),
            digest,
            verdict,
        },
    )
    .await
}
