//! The command on screens: a link to the web UI in a browser.

use drawbridge_hub::api::screens::OpenScreen;
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn screens_open(
    hub: State<'_, HubHandle>,
    request: Request<OpenScreen>,
) -> Answer<OpenScreen> {
    hub.run(request.0).await
}
