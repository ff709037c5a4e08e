//! Commands on clients: the AI applications that may connect.

use drawbridge_hub::api::clients::{AddClient, ListClients, RevokeClient};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn clients_list(
    door: State<'_, Door>,
    request: Request<ListClients>,
) -> Answer<ListClients> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn clients_add(
    door: State<'_, Door>,
    request: Request<AddClient>,
) -> Answer<AddClient> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn clients_revoke(
    door: State<'_, Door>,
    request: Request<RevokeClient>,
) -> Answer<RevokeClient> {
    door.run(request.0).await
}
