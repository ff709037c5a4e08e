//! A profile: which servers and tools a client sees.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ids::ServerId;

/// What a client with this profile sees, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Profile {
    pub name: String,
    /// By server its tools, by the server's own names; null for all of them, also later ones.
    pub servers: BTreeMap<ServerId, Option<Vec<String>>>,
}

impl Profile {
    /// Whether a server is in it at all.
    pub fn has(&self, server: &ServerId) -> bool {
        self.servers.contains_key(server)
    }

    /// Whether a tool of a server is in it.
    pub fn has_tool(&self, server: &ServerId, tool: &str) -> bool {
        let tools = self.servers.get(server);
        tools.is_some_and(|tools| {
            tools
                .as_ref()
                .is_none_or(|tools| tools.iter().any(|one| one == tool))
        })
    }
}
