//! The acceptance states of servers and of their definitions.

use serde::{Deserialize, Serialize};

use super::capability::CapabilityKind;

/// Whether a person has accepted the current version of a definition or of a server. The version of
/// a server is its spec, together with what it starts or connects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum AcceptanceState {
    Accepted,
    /// Never accepted: a new server is not started, and a new definition is hidden.
    New,
    /// Differs from the accepted version: a changed server is not started, and a changed definition
    /// is hidden until it is accepted, unless the spec says otherwise.
    Changed,
}

/// The kind of a definition that a person accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    /// The text for models that a server sends when it is connected.
    Instructions,
    Tool,
    Prompt,
    Template,
    /// The name, the title and the description of a resource.
    Resource,
}

impl DefinitionKind {
    /// Returns the noun for one definition of this kind.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Tool => CapabilityKind::Tools.noun(),
            Self::Prompt => CapabilityKind::Prompts.noun(),
            Self::Template => CapabilityKind::Templates.noun(),
            Self::Resource => CapabilityKind::Resources.noun(),
        }
    }
}

impl From<CapabilityKind> for DefinitionKind {
    fn from(kind: CapabilityKind) -> Self {
        match kind {
            CapabilityKind::Tools => Self::Tool,
            CapabilityKind::Prompts => Self::Prompt,
            CapabilityKind::Templates => Self::Template,
            CapabilityKind::Resources => Self::Resource,
        }
    }
}

/// Names one version of a server's definition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct DefinitionId {
    pub kind: DefinitionKind,
    /// The server's own name of a tool or a prompt, the URI of a resource, the URI template, or
    /// `instructions`.
    pub name: String,
    /// The SHA-256 of the definition, in hex.
    pub digest: String,
}
