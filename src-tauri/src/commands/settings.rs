//! Commands on settings.

use drawbridge_hub::api::settings::{ChangeSettings, ShowSettings};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn settings_show(
    door: State<'_, Door>,
    request: Request<ShowSettings>,
) -> Answer<ShowSettings> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn settings_change(
    door: State<'_, Door>,
    request: Request<ChangeSettings>,
) -> Answer<ChangeSettings> {
    door.run(request.0).await
}
