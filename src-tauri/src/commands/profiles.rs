//! Commands on profiles: which servers and tools a client sees.

use drawbridge_hub::api::profiles::{AssignProfile, ListProfiles, PutProfile, RemoveProfile};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn profiles_list(
    door: State<'_, Door>,
    request: Request<ListProfiles>,
) -> Answer<ListProfiles> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn profiles_put(
    door: State<'_, Door>,
    request: Request<PutProfile>,
) -> Answer<PutProfile> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn profiles_remove(
    door: State<'_, Door>,
    request: Request<RemoveProfile>,
) -> Answer<RemoveProfile> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn profiles_assign(
    door: State<'_, Door>,
    request: Request<AssignProfile>,
) -> Answer<AssignProfile> {
    door.run(request.0).await
}
