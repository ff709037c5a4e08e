//! The command on logs: the lines of the hub and of the servers.

use drawbridge_hub::api::logs::ListLogs;
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn logs_list(
    hub: State<'_, HubHandle>,
    request: Request<ListLogs>,
) -> Answer<ListLogs> {
    hub.run(request.0).await
}
