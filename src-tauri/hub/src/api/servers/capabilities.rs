//! The definitions that a server offers, as the server sent them.

use drawbridge_model::{
    capability::CapabilityKind,
    ids::{ServerId, Timestamp},
    server::SyncStatus,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    api::{ApiError, Verb},
    catalog::ServerCopy,
    hub::Hub,
};

/// The catalog's copy of a server's lists: the definitions as the server sent them, with the
/// server's own names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CapabilitiesView {
    pub id: ServerId,
    pub sync_status: SyncStatus,
    pub last_synced_at: Option<Timestamp>,
    #[cfg_attr(test, ts(type = "Array<unknown>"))]
    pub tools: Vec<Value>,
    #[cfg_attr(test, ts(type = "Array<unknown>"))]
    pub prompts: Vec<Value>,
    #[cfg_attr(test, ts(type = "Array<unknown>"))]
    pub resources: Vec<Value>,
    #[cfg_attr(test, ts(type = "Array<unknown>"))]
    pub templates: Vec<Value>,
}

/// `servers.capabilities`: the definitions that a server offered at the latest refresh. Starts no
/// server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowCapabilities {
    pub id: ServerId,
}

impl Verb for ShowCapabilities {
    type Answer = CapabilitiesView;

    async fn run(self, hub: &Hub) -> Result<CapabilitiesView, ApiError> {
        hub.registry.get(&self.id)?;
        let copy = hub.catalog.copy(&self.id);
        Ok(CapabilitiesView {
            sync_status: copy.row.sync_status,
            last_synced_at: copy.row.last_synced_at,
            tools: definitions(&copy, CapabilityKind::Tools),
            prompts: definitions(&copy, CapabilityKind::Prompts),
            resources: definitions(&copy, CapabilityKind::Resources),
            templates: definitions(&copy, CapabilityKind::Templates),
            id: self.id,
        })
    }
}

fn definitions(copy: &ServerCopy, kind: CapabilityKind) -> Vec<Value> {
    let read =
        |one: &std::sync::Arc<crate::catalog::Definition>| serde_json::from_str(one.raw.get()).ok();
    copy.offered
        .get(&kind)
        .into_iter()
        .flatten()
        .filter_map(read)
        .collect()
}
