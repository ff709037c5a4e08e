//! The command on health: whether the hub works.

use drawbridge_hub::api::health::ShowHealth;
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn health_show(door: State<'_, Door>, request: ShowHealth) -> Answer<ShowHealth> {
    door.run(request).await
}
