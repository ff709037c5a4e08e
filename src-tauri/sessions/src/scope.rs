//! The scope of a client session.

use std::path::PathBuf;

use drawbridge_model::ids::ServerId;

/// The servers that a client session covers, and the project in which its client works.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientScope {
    pub servers: ServerScope,
    /// The project folder in which the client works, if Drawbridge knows that the client works in
    /// the folder of a profile.
    pub project: Option<PathBuf>,
}

/// The servers that an endpoint covers: `/mcp`, or `/mcp/{server}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ServerScope {
    /// All servers. Exposed names tell their tools apart.
    All,
    /// One server. Its tools keep the server's own names.
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

    /// Returns whether the scope covers a server.
    pub fn includes(&self, server: &ServerId) -> bool {
        match &self.servers {
            ServerScope::All => true,
            ServerScope::One(only) => only == server,
        }
    }
}
