//! The command on logs: the lines of the hub and of the servers.

use drawbridge_hub::api::logs::ListLogs;
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn logs_list(
    door: State<'_, Door>,
    request: Request<ListLogs>,
) -> Answer<ListLogs> {
    door.run(request.0).await
}
