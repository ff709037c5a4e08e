//! Commands on tools: the catalog as clients see it.

use drawbridge_hub::api::tools::{CallTool, ExportTools, ListTools};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn tools_list(
    hub: State<'_, HubHandle>,
    request: Request<ListTools>,
) -> Answer<ListTools> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn tools_export(
    hub: State<'_, HubHandle>,
    request: Request<ExportTools>,
) -> Answer<ExportTools> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn tools_call(
    hub: State<'_, HubHandle>,
    request: Request<CallTool>,
) -> Answer<CallTool> {
    hub.run(request.0).await
}
