//! Commands on secrets: values go into the keyring and never come out.

use drawbridge_hub::api::secrets::{ListSecrets, RemoveSecret, SetSecret};
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn secrets_list(door: State<'_, Door>, request: ListSecrets) -> Answer<ListSecrets> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn secrets_set(door: State<'_, Door>, request: SetSecret) -> Answer<SetSecret> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn secrets_remove(door: State<'_, Door>, request: RemoveSecret) -> Answer<RemoveSecret> {
    door.run(request).await
}
