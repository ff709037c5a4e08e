//! Resources: reads a resource by hand.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// `resources.read`: reads a resource by hand, as a client named `command-line`. The policy applies
/// as for any other client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReadResource {
    /// The URI of a listed resource, or a URI that matches a resource template.
    pub uri: String,
}

impl Verb for ReadResource {
    /// The result of `resources/read` as the server sent it.
    type Answer = serde_json::Value;

    async fn run(self, hub: &Hub) -> Result<serde_json::Value, ApiError> {
        let params = serde_json::json!({ "uri": self.uri });
        hub.request_by_hand("resources/read", &params).await
    }
}
