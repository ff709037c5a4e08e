//! How much of the hub a client session reaches.

use crate::model::ids::ServerId;

/// What a client reaches: `/mcp`, or `/mcp/{server}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reach {
    /// All servers, with names that tell them apart.
    All,
    /// One server alone, with its own names.
    One(ServerId),
}
