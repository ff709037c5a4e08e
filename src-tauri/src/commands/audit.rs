//! Commands on the audit: its verification and its export.

use drawbridge_hub::api::audit::{ExportAudit, VerifyAudit};
use tauri::State;

use super::{Answer, Request};
use crate::door::Door;

#[tauri::command]
pub(crate) async fn audit_verify(
    door: State<'_, Door>,
    request: Request<VerifyAudit>,
) -> Answer<VerifyAudit> {
    door.run(request.0).await
}

#[tauri::command]
pub(crate) async fn audit_export(
    door: State<'_, Door>,
    request: Request<ExportAudit>,
) -> Answer<ExportAudit> {
    door.run(request.0).await
}
