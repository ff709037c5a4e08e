//! Commands on profiles: which servers and tools a client sees.

use drawbridge_hub::api::profiles::{AssignProfile, ListProfiles, PutProfile, RemoveProfile};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn profiles_list(
    hub: State<'_, HubHandle>,
    request: Request<ListProfiles>,
) -> Answer<ListProfiles> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn profiles_put(
    hub: State<'_, HubHandle>,
    request: Request<PutProfile>,
) -> Answer<PutProfile> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn profiles_remove(
    hub: State<'_, HubHandle>,
    request: Request<RemoveProfile>,
) -> Answer<RemoveProfile> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn profiles_assign(
    hub: State<'_, HubHandle>,
    request: Request<AssignProfile>,
) -> Answer<AssignProfile> {
    hub.run(request.0).await
}
