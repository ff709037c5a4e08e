//! What may happen to a call, and which calls a rule is about.

use serde::{Deserialize, Serialize};

use super::ids::{ClientName, ServerId};

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Allow,
    Deny,
    Ask,
}

/// Which calls a rule is about. What is not given holds for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Scope {
    #[serde(default)]
    pub server: Option<ServerId>,
    /// The server's own name of the tool; only together with `server`.
    #[serde(default)]
    pub tool: Option<String>,
    #[serde(default)]
    pub client: Option<ClientName>,
}
