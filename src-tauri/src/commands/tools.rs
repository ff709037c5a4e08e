//! Commands on tools: the catalog as clients see it.

use drawbridge_hub::api::tools::{CallTool, ExportTools, ListTools};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn tools_list(
    door: State<'_, Door>,
    request: Request<ListTools>,
) -> Answer<ListTools> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn tools_export(
    door: State<'_, Door>,
    request: Request<ExportTools>,
) -> Answer<ExportTools> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn tools_call(
    door: State<'_, Door>,
    request: Request<CallTool>,
) -> Answer<CallTool> {
    door.run(request.0).await
}
