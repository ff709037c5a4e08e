//! The servers that are built into Drawbridge. Each has one switch, and no spec file.

use serde::{Deserialize, Serialize};

use super::ids::ServerId;

/// A server that is built into Drawbridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum BuiltIn {
    Memory,
    /// Shares the files of chosen folders.
    Folders,
    /// Converts documents with the server `docling`.
    Docling,
}

impl BuiltIn {
    pub const ALL: [Self; 3] = [Self::Memory, Self::Folders, Self::Docling];

    /// Returns whether the server is enabled until a person decides otherwise.
    pub fn is_on_by_default(self) -> bool {
        match self {
            Self::Memory => true,
            // Sharing the first folder enables the server.
            Self::Folders => false,
            // Enabling the server installs a large package.
            Self::Docling => false,
        }
    }

    /// Returns the id of the server, which no spec file can have.
    pub fn id(self) -> ServerId {
        ServerId::new(match self {
            Self::Memory => "memory",
            Self::Folders => "folders",
            // The id `docling` belongs to the server that converts the documents, and that has a
            // spec file.
            Self::Docling => "docling-tools",
        })
    }

    /// Returns the built-in server with this id.
    pub fn from_id(id: &ServerId) -> Option<Self> {
        Self::ALL.into_iter().find(|built_in| built_in.id() == *id)
    }
}
