//! Commands on secrets, which store and remove values in the keyring and never return them.

use drawbridge_hub::api::secrets::{ListSecrets, RemoveSecret, SetSecret};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn secrets_list(
    hub: State<'_, HubHandle>,
    request: Request<ListSecrets>,
) -> Answer<ListSecrets> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn secrets_set(
    hub: State<'_, HubHandle>,
    request: Request<SetSecret>,
) -> Answer<SetSecret> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn secrets_remove(
    hub: State<'_, HubHandle>,
    request: Request<RemoveSecret>,
) -> Answer<RemoveSecret> {
    hub.run(request.0).await
}
