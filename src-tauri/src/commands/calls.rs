//! Commands on calls: their decisions and their outcomes.

use drawbridge_hub::api::calls::{ListCalls, ShowCall};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn calls_list(
    door: State<'_, Door>,
    request: Request<ListCalls>,
) -> Answer<ListCalls> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn calls_show(
    door: State<'_, Door>,
    request: Request<ShowCall>,
) -> Answer<ShowCall> {
    door.run(request.0).await
}
