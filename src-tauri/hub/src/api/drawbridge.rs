//! The drawbridge, which pauses and resumes all calls.

use drawbridge_model::audit::AuditKind;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Verb};
use crate::hub::Hub;

/// Whether all calls are paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DrawbridgeState {
    pub paused: bool,
}

/// `drawbridge.show`: whether all calls are paused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowDrawbridge {}

/// `drawbridge.pause`: blocks all calls. Calls that wait for approval are denied, and calls in
/// flight are aborted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PauseCalls {}

/// `drawbridge.resume`: allows calls again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ResumeCalls {}

impl Verb for ShowDrawbridge {
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        Ok(DrawbridgeState {
            paused: hub.drawbridge.is_paused(),
        })
    }
}

impl Verb for PauseCalls {
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        hub.store.append_audit(AuditKind::Paused, &json!({}));
        hub.drawbridge.pause().await?;
        Ok(DrawbridgeState { paused: true })
    }
}

impl Verb for ResumeCalls {
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        hub.drawbridge.resume().await?;
        hub.store.append_audit(AuditKind::Resumed, &json!({}));
        Ok(DrawbridgeState { paused: false })
    }
}
