//! The parts of a tool's definition that Drawbridge reads for screens and decisions. The definition
//! itself is forwarded as the server sent it.

use serde::{Deserialize, Serialize};

/// A server's hints about its tool (`ToolAnnotations` of MCP 2025-03-26). They are unverified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
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

impl Annotations {
    /// No hints at all.
    pub const NONE: Self = Self {
        read_only: None,
        destructive: None,
        idempotent: None,
        open_world: None,
    };
}
