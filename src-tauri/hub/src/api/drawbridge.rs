//! The drawbridge: raised, no call crosses.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ApiError, Verb};
use crate::{hub::Hub, model::audit::AuditKind};

/// Whether calls may cross at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DrawbridgeState {
    pub raised: bool,
}

/// `drawbridge.show`: whether it is raised.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowDrawbridge {}

/// `drawbridge.raise`: nothing crosses any more; what waits is denied, and what is on its way is cancelled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RaiseDrawbridge {}

/// `drawbridge.lower`: calls may cross again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LowerDrawbridge {}

impl Verb for ShowDrawbridge {
    const NAME: &'static str = "drawbridge.show";
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        Ok(DrawbridgeState {
            raised: hub.drawbridge.is_raised(),
        })
    }
}

impl Verb for RaiseDrawbridge {
    const NAME: &'static str = "drawbridge.raise";
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        hub.store.note(AuditKind::Raised, &json!({}));
        hub.drawbridge.raise().await?;
        Ok(DrawbridgeState { raised: true })
    }
}

impl Verb for LowerDrawbridge {
    const NAME: &'static str = "drawbridge.lower";
    type Answer = DrawbridgeState;

    async fn run(self, hub: &Hub) -> Result<DrawbridgeState, ApiError> {
        hub.drawbridge.lower().await?;
        hub.store.note(AuditKind::Lowered, &json!({}));
        Ok(DrawbridgeState { raised: false })
    }
}
