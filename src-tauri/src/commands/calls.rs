//! Commands on calls: their decisions and their outcomes.

use drawbridge_hub::api::calls::{ListCalls, ShowCall};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn calls_list(
    hub: State<'_, HubHandle>,
    request: Request<ListCalls>,
) -> Answer<ListCalls> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn calls_show(
    hub: State<'_, HubHandle>,
    request: Request<ShowCall>,
) -> Answer<ShowCall> {
    hub.run(request.0).await
}
