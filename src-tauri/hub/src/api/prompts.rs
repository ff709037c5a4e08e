//! Prompts: gets a prompt by hand.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::hub::Hub;

/// `prompts.get`: gets a prompt by hand, as a client named `command-line`. The policy applies as
/// for any other client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GetPrompt {
    /// The exposed name.
    pub name: String,
    /// A JSON object whose values are texts.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub arguments: serde_json::Value,
}

impl Verb for GetPrompt {
    /// The result of `prompts/get` as the server sent it.
    type Answer = serde_json::Value;

    async fn run(self, hub: &Hub) -> Result<serde_json::Value, ApiError> {
        let values = self.arguments.as_object().map(|object| object.values());
        if !values.is_some_and(|mut values| values.all(serde_json::Value::is_string)) {
            return Err(ApiError::invalid(
                "'arguments' must be a JSON object whose values are texts",
            ));
        }
        let params = serde_json::json!({ "name": self.name, "arguments": self.arguments });
        hub.request_by_hand("prompts/get", &params).await
    }
}
