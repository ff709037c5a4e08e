//! Commands on settings.

use drawbridge_hub::api::settings::{ChangeSettings, ShowSettings};
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn settings_show(door: State<'_, Door>, request: ShowSettings) -> Answer<ShowSettings> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn settings_change(door: State<'_, Door>, request: ChangeSettings) -> Answer<ChangeSettings> {
    door.run(request).await
}
