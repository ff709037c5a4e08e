//! The servers that the official registry publishes.

use serde::{Deserialize, Serialize};

/// How a published server is installed or reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PublishedKind {
    /// A package of npm.
    Npm,
    /// A package of the Python Package Index.
    Pypi,
    /// A container image.
    Oci,
    /// A package of `NuGet`.
    Nuget,
    /// An MCP bundle (`.mcpb`).
    Mcpb,
    /// A URL.
    Remote,
    /// A package of any other registry.
    Other,
}

impl PublishedKind {
    pub const ALL: [Self; 7] = [
        Self::Npm,
        Self::Pypi,
        Self::Oci,
        Self::Nuget,
        Self::Mcpb,
        Self::Remote,
        Self::Other,
    ];

    /// Returns the kind of a package by the `registryType` of a `server.json`.
    pub fn from_registry_type(registry_type: &str) -> Self {
        match registry_type {
            "npm" => Self::Npm,
            "pypi" => Self::Pypi,
            "oci" | "docker" => Self::Oci,
            "nuget" => Self::Nuget,
            "mcpb" | "dxt" => Self::Mcpb,
            _ => Self::Other,
        }
    }

    /// Returns the name under which the kind is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Oci => "oci",
            Self::Nuget => "nuget",
            Self::Mcpb => "mcpb",
            Self::Remote => "remote",
            Self::Other => "other",
        }
    }
}
