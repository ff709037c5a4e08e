//! Commands on profiles: which servers and tools a client sees.

use drawbridge_hub::api::profiles::{AssignProfile, ListProfiles, PutProfile, RemoveProfile};
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn profiles_list(door: State<'_, Door>, request: ListProfiles) -> Answer<ListProfiles> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn profiles_put(door: State<'_, Door>, request: PutProfile) -> Answer<PutProfile> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn profiles_remove(door: State<'_, Door>, request: RemoveProfile) -> Answer<RemoveProfile> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn profiles_assign(door: State<'_, Door>, request: AssignProfile) -> Answer<AssignProfile> {
    door.run(request).await
}
