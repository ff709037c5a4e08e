//! The drawbridge, which pauses and resumes all calls.

use std::time::Duration;

use drawbridge_model::{audit::AuditKind, clock, ids::Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Verb};
use crate::hub::Hub;

/// The longest pause that ends by itself: a week.
const MAX_PAUSE_S: u32 = 7 * 24 * 3600;

/// Whether all calls are paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DrawbridgeState {
    pub paused: bool,
    /// When the pause ends by itself; null if calls are not paused, or if a person has to
    /// resume them.
    #[serde(default)]
    pub resumes_at: Option<Timestamp>,
}

impl DrawbridgeState {
    fn of(hub: &Hub) -> Self {
        Self {
            paused: hub.drawbridge.is_paused(),
            resumes_at: hub.drawbridge.resumes_at(),
        }
    }
}

/// `drawbridge.show`: whether all calls are paused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowDrawbridge {}

/// `drawbridge.pause`: blocks all calls. Calls that wait for approval are denied, and calls in
/// flight are aborted. If calls are paused already, only the end of the pause changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct PauseCalls {
    /// How many seconds the pause lasts, from 1 to a week. If absent, the pause lasts until a
    /// person resumes calls.
    pub for_s: Option<u32>,
}

/// `drawbridge.resume`: allows calls again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ResumeCalls {}

impl Verb for ShowDrawbridge {
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        Ok(DrawbridgeState::of(hub))
    }
}

impl Verb for PauseCalls {
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        if self.for_s.is_some_and(|s| s == 0 || s > MAX_PAUSE_S) {
            return Err(ApiError::invalid(format!(
                "a pause lasts from 1 to {MAX_PAUSE_S} seconds, or until somebody resumes calls"
            )));
        }
        let resumes_at = self
            .for_s
            .map(|s| clock::time_after(Duration::from_secs(s.into())));
        let note = resumes_at.map_or(json!({}), |at| json!({"resumes_at": at}));
        hub.store.append_audit(AuditKind::Paused, &note);
        hub.drawbridge.pause(resumes_at).await?;
        Ok(DrawbridgeState::of(hub))
    }
}

impl Verb for ResumeCalls {
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        hub.drawbridge.resume().await?;
        hub.store.append_audit(AuditKind::Resumed, &json!({}));
        Ok(DrawbridgeState::of(hub))
    }
}
