//! Commands on the audit: whether it holds together, and its export.

use drawbridge_hub::api::audit::{ExportAudit, VerifyAudit};
use tauri::State;

use super::Answer;
use crate::door::Door;

#[tauri::command]
pub(crate) async fn audit_verify(door: State<'_, Door>, request: VerifyAudit) -> Answer<VerifyAudit> {
    door.run(request).await
}

#[tauri::command]
pub(crate) async fn audit_export(door: State<'_, Door>, request: ExportAudit) -> Answer<ExportAudit> {
    door.run(request).await
}
