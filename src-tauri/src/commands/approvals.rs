//! Commands on approvals: the waiting calls and their decisions.

use drawbridge_hub::api::approvals::{
    AllowRetry, DecideApproval, ListApprovals, ListMissed, PreviewVerdict, ShowApproval,
};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn approvals_list(
    hub: State<'_, HubHandle>,
    request: Request<ListApprovals>,
) -> Answer<ListApprovals> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_show(
    hub: State<'_, HubHandle>,
    request: Request<ShowApproval>,
) -> Answer<ShowApproval> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_decide(
    hub: State<'_, HubHandle>,
    request: Request<DecideApproval>,
) -> Answer<DecideApproval> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_missed(
    hub: State<'_, HubHandle>,
    request: Request<ListMissed>,
) -> Answer<ListMissed> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_allow_retry(
    hub: State<'_, HubHandle>,
    request: Request<AllowRetry>,
) -> Answer<AllowRetry> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn approvals_preview(
    hub: State<'_, HubHandle>,
    request: Request<PreviewVerdict>,
) -> Answer<PreviewVerdict> {
    hub.run(request.0).await
}
