//! Commands on the drawbridge, which pauses and resumes all calls.

use drawbridge_hub::api::drawbridge::{PauseCalls, ResumeCalls, ShowDrawbridge};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn drawbridge_show(
    hub: State<'_, HubHandle>,
    request: Request<ShowDrawbridge>,
) -> Answer<ShowDrawbridge> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn drawbridge_pause(
    hub: State<'_, HubHandle>,
    request: Request<PauseCalls>,
) -> Answer<PauseCalls> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn drawbridge_resume(
    hub: State<'_, HubHandle>,
    request: Request<ResumeCalls>,
) -> Answer<ResumeCalls> {
    hub.run(request.0).await
}
