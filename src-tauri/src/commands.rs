//! The Tauri commands: one per verb, one file per noun. Each command passes a typed request to the
//! hub and returns its answer. The hub implements the verbs.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod calls;
pub(crate) mod clients;
pub(crate) mod drawbridge;
pub(crate) mod health;
pub(crate) mod logs;
pub(crate) mod policy;
pub(crate) mod profiles;
pub(crate) mod screens;
pub(crate) mod secrets;
pub(crate) mod servers;
pub(crate) mod settings;
pub(crate) mod tools;

use drawbridge_hub::api::{ApiError, Verb};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error};

/// The answer of a verb, as a window receives it.
pub(crate) type Answer<V> = Result<<V as Verb>::Answer, ApiError>;

/// A window's request. The request is converted to text and parsed from there, because raw JSON
/// cannot be deserialized from the values that Tauri passes.
pub(crate) struct Request<T>(pub(crate) T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Request<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = serde_json::Value::deserialize(deserializer)?.to_string();
        serde_json::from_str(&text)
            .map(Self)
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_hub::{api::approvals::PreviewVerdict, model::approval::Verdict};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_window_can_ask_for_a_rule_with_a_value_in_it() {
        let when = json!([{"pointer": "/n", "is": {"equals": 2}}]);
        let arguments =
            json!({"id": "a", "verdict": {"kind": "approve_always", "conditions": when}});
        let Request(verb) =
            serde_json::from_value::<Request<PreviewVerdict>>(arguments).expect("a request");
        assert!(
            matches!(verb.verdict, Verdict::ApproveAlways { conditions } if conditions.len() == 1)
        );
    }
}
