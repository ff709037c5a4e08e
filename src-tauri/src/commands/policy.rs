//! Commands on policy: what may cross without asking, what never may.

use drawbridge_hub::api::policy::{ListPolicy, RemovePolicy, SetDefaultPolicy, SetPolicy};
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
