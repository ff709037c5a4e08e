//! Commands on the audit: its verification and its export.

use drawbridge_hub::api::audit::{ExportAudit, VerifyAudit};
use tauri::State;

use super::{Answer, Request};
use crate::hub_handle::HubHandle;

#[tauri::command]
pub(crate) async fn audit_verify(
    hub: State<'_, HubHandle>,
    request: Request<VerifyAudit>,
) -> Answer<VerifyAudit> {
    hub.run(request.0).await
}

#[tauri::command]
pub(crate) async fn audit_export(
    hub: State<'_, HubHandle>,
    request: Request<ExportAudit>,
) -> Answer<ExportAudit> {
    hub.run(request.0).await
}
