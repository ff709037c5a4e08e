//! Profiles: the servers and tools that a client can see.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ids::ServerId;

/// A named selection of servers and tools. A client that has this profile, or that works in the
/// profile's folder, can see nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct Profile {
    pub name: String,
    /// The tools of each server, by the server's own names. `None` stands for all tools, including
    /// future tools.
    pub servers: BTreeMap<ServerId, Option<Vec<String>>>,
    /// The absolute path of the project folder to which the profile belongs, if it belongs to one.
    #[serde(default)]
    pub folder: Option<String>,
}

impl Profile {
    /// Returns whether the profile contains a server.
    pub fn has_server(&self, server: &ServerId) -> bool {
        self.servers.contains_key(server)
    }

    /// Returns whether the profile contains a tool of a server.
    pub fn has_tool(&self, server: &ServerId, tool: &str) -> bool {
        let tools = self.servers.get(server);
        tools.is_some_and(|tools| {
            tools
                .as_ref()
                .is_none_or(|tools| tools.iter().any(|name| name == tool))
        })
    }
}
