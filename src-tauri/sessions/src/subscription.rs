//! Subscriptions of modern clients.

use std::collections::BTreeSet;

use drawbridge_jsonrpc::rpc::{RpcError, code};
use drawbridge_model::capability::CapabilityKind;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The notifications that a client requests with `subscriptions/listen`.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// The id of the client's request, as written.
    pub id: Box<RawValue>,
    /// The lists whose changes the client wants to know.
    pub lists: BTreeSet<CapabilityKind>,
    /// The URIs of the subscribed resources.
    pub resources: BTreeSet<String>,
}

impl Subscription {
    /// Parses the params of `subscriptions/listen`.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if the params are invalid.
    pub fn from_params(id: Box<RawValue>, params: &RawValue) -> Result<Self, RpcError> {
        #[derive(Deserialize)]
        struct Params {
            notifications: Filter,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Filter {
            #[serde(default)]
            tools_list_changed: bool,
            #[serde(default)]
            prompts_list_changed: bool,
            #[serde(default)]
            resources_list_changed: bool,
            #[serde(default)]
            resource_subscriptions: BTreeSet<String>,
        }
        let Params {
            notifications: filter,
        } = serde_json::from_str(params.get()).map_err(|e| {
            RpcError::new(
                code::INVALID_PARAMS,
                format!("subscriptions/listen: params: {e}"),
            )
        })?;
        let mut lists = BTreeSet::new();
        if filter.tools_list_changed {
            lists.insert(CapabilityKind::Tools);
        }
        if filter.prompts_list_changed {
            lists.insert(CapabilityKind::Prompts);
        }
        if filter.resources_list_changed {
            lists.extend([CapabilityKind::Resources, CapabilityKind::Templates]);
        }
        Ok(Self {
            id,
            lists,
            resources: filter.resource_subscriptions,
        })
    }

    /// Returns the params of the acknowledgement, which name the notifications that the client will
    /// receive.
    pub fn acknowledgement_params(&self) -> serde_json::Value {
        let mut notifications = serde_json::Map::new();
        for (kind, name) in [
            (CapabilityKind::Tools, "toolsListChanged"),
            (CapabilityKind::Prompts, "promptsListChanged"),
            (CapabilityKind::Resources, "resourcesListChanged"),
        ] {
            if self.lists.contains(&kind) {
                notifications.insert(name.to_owned(), true.into());
            }
        }
        if !self.resources.is_empty() {
            notifications.insert(
                "resourceSubscriptions".to_owned(),
                self.resources.iter().cloned().collect(),
            );
        }
        serde_json::json!({ "notifications": notifications })
    }
}
