//! Commands on clients: the AI applications that may connect.

use drawbridge_hub::api::clients::{AddClient, ListClients, RevokeClient};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn clients_list(
    hub: State<'_, HubHandle>,
    request: Request<ListClients>,
) -> Answer<ListClients> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn clients_add(
    hub: State<'_, HubHandle>,
    request: Request<AddClient>,
) -> Answer<AddClient> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn clients_revoke(
    hub: State<'_, HubHandle>,
    request: Request<RevokeClient>,
) -> Answer<RevokeClient> {
    hub.run(request.0).await
}
