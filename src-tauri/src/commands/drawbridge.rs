//! Commands on the drawbridge, which pauses and resumes all calls.

use drawbridge_hub::api::drawbridge::{PauseCalls, ResumeCalls, ShowDrawbridge};
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
pub(crate) async fn drawbridge_pause(
    door: State<'_, Door>,
    request: Request<PauseCalls>,
) -> Answer<PauseCalls> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn drawbridge_resume(
    door: State<'_, Door>,
    request: Request<ResumeCalls>,
) -> Answer<ResumeCalls> {
    door.run(request.0).await
}
