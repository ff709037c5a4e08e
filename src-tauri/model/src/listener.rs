//! The listeners of the endpoint.

use serde::{Deserialize, Serialize};

/// The state of a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ListenerHealth {
    /// `http` or `local`.
    pub name: String,
    /// The URL of `http`, or the path of the socket of `local`.
    pub address: String,
    pub listening: bool,
    /// Why the listener does not listen; empty if it does.
    pub error: String,
}
