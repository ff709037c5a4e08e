//! Commands on policy: what may cross without asking, what never may.

use drawbridge_hub::api::policy::{
    ApplyPreset, ExportPolicy, ForgetRule, ImportPolicy, ListPolicy, PreviewRule, RemovePolicy, SaveRule,
    SetDefaultPolicy, SetPolicy, ShowFigures,
};
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn policy_list(door: State<'_, Door>, request: ListPolicy) -> Answer<ListPolicy> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_set(door: State<'_, Door>, request: SetPolicy) -> Answer<SetPolicy> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_remove(door: State<'_, Door>, request: RemovePolicy) -> Answer<RemovePolicy> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_set_default(door: State<'_, Door>, request: SetDefaultPolicy) -> Answer<SetDefaultPolicy> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_save(door: State<'_, Door>, request: SaveRule) -> Answer<SaveRule> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_forget(door: State<'_, Door>, request: ForgetRule) -> Answer<ForgetRule> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_preview(door: State<'_, Door>, request: PreviewRule) -> Answer<PreviewRule> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_export(door: State<'_, Door>, request: ExportPolicy) -> Answer<ExportPolicy> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_import(door: State<'_, Door>, request: ImportPolicy) -> Answer<ImportPolicy> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_apply_preset(door: State<'_, Door>, request: ApplyPreset) -> Answer<ApplyPreset> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn policy_figures(door: State<'_, Door>, request: ShowFigures) -> Answer<ShowFigures> {
    door.run(request).await
}
