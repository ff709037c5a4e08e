//! Commands on clients: the AI applications that may knock.

use drawbridge_hub::api::clients::{AddClient, ListClients, RevokeClient};
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn clients_list(door: State<'_, Door>, request: ListClients) -> Answer<ListClients> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn clients_add(door: State<'_, Door>, request: AddClient) -> Answer<AddClient> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn clients_revoke(door: State<'_, Door>, request: RevokeClient) -> Answer<RevokeClient> {
    door.run(request).await
}
