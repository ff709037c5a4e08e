//! Commands on approvals: the calls that wait, and their decision.

use drawbridge_hub::api::approvals::{
    AllowRetry, DecideApproval, ListApprovals, ListMissed, PreviewVerdict, ShowApproval,
};
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn approvals_list(door: State<'_, Door>, request: ListApprovals) -> Answer<ListApprovals> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn approvals_show(door: State<'_, Door>, request: ShowApproval) -> Answer<ShowApproval> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn approvals_decide(door: State<'_, Door>, request: DecideApproval) -> Answer<DecideApproval> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn approvals_missed(door: State<'_, Door>, request: ListMissed) -> Answer<ListMissed> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn approvals_allow_retry(door: State<'_, Door>, request: AllowRetry) -> Answer<AllowRetry> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn approvals_preview(door: State<'_, Door>, request: PreviewVerdict) -> Answer<PreviewVerdict> {
    door.run(request).await
}
