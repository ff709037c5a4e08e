//! The command on health: whether the hub works.

use drawbridge_hub::api::health::ShowHealth;
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn health_show(
    door: State<'_, Door>,
    request: Request<ShowHealth>,
) -> Answer<ShowHealth> {
    door.run(request.0).await
}
