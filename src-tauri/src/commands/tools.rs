//! The command on tools: the catalog as clients see it.

use drawbridge_hub::api::tools::ListTools;
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn tools_list(door: State<'_, Door>, request: ListTools) -> Answer<ListTools> {
    door.run(request).await
}
