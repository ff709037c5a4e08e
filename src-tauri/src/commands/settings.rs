//! Commands on settings, which show and change them.

use drawbridge_hub::api::settings::{ChangeSettings, ShowSettings};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn settings_show(
    hub: State<'_, HubHandle>,
    request: Request<ShowSettings>,
) -> Answer<ShowSettings> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn settings_change(
    hub: State<'_, HubHandle>,
    request: Request<ChangeSettings>,
) -> Answer<ChangeSettings> {
    hub.run(request.0).await
}
