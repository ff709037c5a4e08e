//! Commands on secrets, which store and remove values in the keyring and never return them.

use drawbridge_hub::api::secrets::{ListSecrets, RemoveSecret, SetSecret};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn secrets_list(
    door: State<'_, Door>,
    request: Request<ListSecrets>,
) -> Answer<ListSecrets> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn secrets_set(
    door: State<'_, Door>,
    request: Request<SetSecret>,
) -> Answer<SetSecret> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn secrets_remove(
    door: State<'_, Door>,
    request: Request<RemoveSecret>,
) -> Answer<RemoveSecret> {
    door.run(request.0).await
}
