//! Commands on the drawbridge, which pauses and resumes all calls.

use drawbridge_hub::api::drawbridge::{LowerDrawbridge, RaiseDrawbridge, ShowDrawbridge};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn drawbridge_show(
    door: State<'_, Door>,
    request: Request<ShowDrawbridge>,
) -> Answer<ShowDrawbridge> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn drawbridge_raise(
    door: State<'_, Door>,
    request: Request<RaiseDrawbridge>,
) -> Answer<RaiseDrawbridge> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn drawbridge_lower(
    door: State<'_, Door>,
    request: Request<LowerDrawbridge>,
) -> Answer<LowerDrawbridge> {
    door.run(request.0).await
}
