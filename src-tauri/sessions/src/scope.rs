//! The scope of a client session.

use drawbridge_model::ids::ServerId;

/// The part of the hub that a client session covers: `/mcp`, or `/mcp/{server}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClientScope {
    /// All servers, with names that tell them apart.
    All,
    /// One server, with its own names.
    One(ServerId),
}
