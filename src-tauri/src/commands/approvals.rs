//! Commands on approvals: the calls that wait, and their decision.

use drawbridge_hub::api::approvals::{DecideApproval, ListApprovals, ShowApproval};
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
