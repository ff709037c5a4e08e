//! Commands on the policy: the default and the rules.

use drawbridge_hub::api::policy::{
    ApplyPreset, DeleteRule, ExportPolicy, ImportPolicy, ListPolicy, PreviewRule, RemovePolicy,
    SaveRule, SetDefaultPolicy, SetPolicy, ShowPolicyStats,
};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn policy_list(
    door: State<'_, Door>,
    request: Request<ListPolicy>,
) -> Answer<ListPolicy> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_set(
    door: State<'_, Door>,
    request: Request<SetPolicy>,
) -> Answer<SetPolicy> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_remove(
    door: State<'_, Door>,
    request: Request<RemovePolicy>,
) -> Answer<RemovePolicy> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_set_default(
    door: State<'_, Door>,
    request: Request<SetDefaultPolicy>,
) -> Answer<SetDefaultPolicy> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_save(
    door: State<'_, Door>,
    request: Request<SaveRule>,
) -> Answer<SaveRule> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_delete_rule(
    door: State<'_, Door>,
    request: Request<DeleteRule>,
) -> Answer<DeleteRule> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_preview(
    door: State<'_, Door>,
    request: Request<PreviewRule>,
) -> Answer<PreviewRule> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_export(
    door: State<'_, Door>,
    request: Request<ExportPolicy>,
) -> Answer<ExportPolicy> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_import(
    door: State<'_, Door>,
    request: Request<ImportPolicy>,
) -> Answer<ImportPolicy> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_apply_preset(
    door: State<'_, Door>,
    request: Request<ApplyPreset>,
) -> Answer<ApplyPreset> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_stats(
    door: State<'_, Door>,
    request: Request<ShowPolicyStats>,
) -> Answer<ShowPolicyStats> {
    door.run(request.0).await
}
