//! The command on health: whether the hub works.

use drawbridge_hub::api::health::ShowHealth;
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn health_show(
    hub: State<'_, HubHandle>,
    request: Request<ShowHealth>,
) -> Answer<ShowHealth> {
    hub.run(request.0).await
}
