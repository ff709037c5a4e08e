//! What Drawbridge itself understands of a tool's definition. The definition is forwarded
//! as the server sent it; this is read from it for screens and decisions.

use serde::{Deserialize, Serialize};

/// A server's hints about its tool (MCP 2025-03-26 `ToolAnnotations`). Hints, not facts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Annotations {
    #[serde(default, alias = "readOnlyHint")]
    pub read_only: Option<bool>,
    #[serde(default, alias = "destructiveHint")]
    pub destructive: Option<bool>,
    #[serde(default, alias = "idempotentHint")]
    pub idempotent: Option<bool>,
    #[serde(default, alias = "openWorldHint")]
    pub open_world: Option<bool>,
}

/// Whether a person has accepted a tool's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Accepted,
    /// The server offers it since it was accepted itself; it waits.
    New,
    /// It differs from what was accepted; it waits.
    Changed,
}
