//! The command on screens: a link to the web UI in a browser.

use drawbridge_hub::api::screens::OpenScreen;
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn screens_open(
    door: State<'_, Door>,
    request: Request<OpenScreen>,
) -> Answer<OpenScreen> {
    door.run(request.0).await
}
