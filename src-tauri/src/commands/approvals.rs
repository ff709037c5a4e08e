//! Commands on approvals: the waiting calls and their decisions.

use drawbridge_hub::api::approvals::{
    AllowRetry, DecideApproval, ListApprovals, ListMissed, PreviewVerdict, ShowApproval,
};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn approvals_list(
    door: State<'_, Door>,
    request: Request<ListApprovals>,
) -> Answer<ListApprovals> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_show(
    door: State<'_, Door>,
    request: Request<ShowApproval>,
) -> Answer<ShowApproval> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_decide(
    door: State<'_, Door>,
    request: Request<DecideApproval>,
) -> Answer<DecideApproval> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_missed(
    door: State<'_, Door>,
    request: Request<ListMissed>,
) -> Answer<ListMissed> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_allow_retry(
    door: State<'_, Door>,
    request: Request<AllowRetry>,
) -> Answer<AllowRetry> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_preview(
    door: State<'_, Door>,
    request: Request<PreviewVerdict>,
) -> Answer<PreviewVerdict> {
    door.run(request.0).await
}
