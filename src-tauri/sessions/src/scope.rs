//! The scope of a client session.

use std::path::PathBuf;

use drawbridge_model::ids::ServerId;

/// The part of the hub that a client session covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientScope {
    pub servers: ServerScope,
    /// The project folder in which the client works, if it is known to work in the folder of a
    /// profile.
    pub project: Option<PathBuf>,
}

/// The servers that an endpoint covers: `/mcp`, or `/mcp/{server}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ServerScope {
    /// All servers, with names that tell them apart.
    All,
    /// One server, with its own names.
    One(ServerId),
}

impl ClientScope {
    /// All servers, in no project.
    pub const ALL: Self = Self {
        servers: ServerScope::All,
        project: None,
    };

    /// Returns the scope of one server, in no project.
    pub fn one(server: ServerId) -> Self {
        Self {
            servers: ServerScope::One(server),
            project: None,
        }
    }

    /// Returns the scope of all servers in the same project.
    pub fn with_all_servers(&self) -> Self {
        Self {
            servers: ServerScope::All,
            project: self.project.clone(),
        }
    }

    /// Returns whether the endpoint covers a server.
    pub fn includes(&self, server: &ServerId) -> bool {
        match &self.servers {
            ServerScope::All => true,
            ServerScope::One(only) => only == server,
        }
    }
}
