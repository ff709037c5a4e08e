//! Commands on the policy: the default and the rules.

use drawbridge_hub::api::policy::{
    ApplyPreset, DeleteRule, ExportPolicy, ImportPolicy, ListPolicy, PreviewRule, RemovePolicy,
    SaveRule, SetDefaultPolicy, SetPolicy, ShowPolicyStats,
};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn policy_list(
    hub: State<'_, HubHandle>,
    request: Request<ListPolicy>,
) -> Answer<ListPolicy> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_set(
    hub: State<'_, HubHandle>,
    request: Request<SetPolicy>,
) -> Answer<SetPolicy> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_remove(
    hub: State<'_, HubHandle>,
    request: Request<RemovePolicy>,
) -> Answer<RemovePolicy> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_set_default(
    hub: State<'_, HubHandle>,
    request: Request<SetDefaultPolicy>,
) -> Answer<SetDefaultPolicy> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_save(
    hub: State<'_, HubHandle>,
    request: Request<SaveRule>,
) -> Answer<SaveRule> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_delete_rule(
    hub: State<'_, HubHandle>,
    request: Request<DeleteRule>,
) -> Answer<DeleteRule> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_preview(
    hub: State<'_, HubHandle>,
    request: Request<PreviewRule>,
) -> Answer<PreviewRule> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_export(
    hub: State<'_, HubHandle>,
    request: Request<ExportPolicy>,
) -> Answer<ExportPolicy> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_import(
    hub: State<'_, HubHandle>,
    request: Request<ImportPolicy>,
) -> Answer<ImportPolicy> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_apply_preset(
    hub: State<'_, HubHandle>,
    request: Request<ApplyPreset>,
) -> Answer<ApplyPreset> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn policy_stats(
    hub: State<'_, HubHandle>,
    request: Request<ShowPolicyStats>,
) -> Answer<ShowPolicyStats> {
    hub.run(request.0).await
}
