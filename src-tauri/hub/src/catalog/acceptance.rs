//! The definitions of a server's tools that a person has accepted. Other definitions are neither
//! listed nor callable.
//!
//! Accepting a server accepts its tools as they are at its first sync, and those that it adds in
//! the minute after that (some servers list more tools only after they have identified their
//! client). Tools that it changes, and those that it adds later, wait for a person, unless its spec
//! marks the server as trusted.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::acceptance::AcceptanceState;

use super::Definition;

/// The accepted definitions of a server: their digests, by the tools' own names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AcceptedDefinitions(BTreeMap<String, BTreeSet<String>>);

impl AcceptedDefinitions {
    pub(super) fn insert(&mut self, name: &str, digest: &str) {
        self.0
            .entry(name.to_owned())
            .or_default()
            .insert(digest.to_owned());
    }

    /// Returns the acceptance state of a tool. A definition that was accepted earlier is accepted
    /// again if it returns.
    pub(super) fn acceptance_state(&self, tool: &Definition) -> AcceptanceState {
        match self.0.get(&tool.name) {
            Some(digests) if digests.contains(&tool.digest) => AcceptanceState::Accepted,
            Some(_) => AcceptanceState::Changed,
            None => AcceptanceState::New,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, tool: &Definition) -> bool {
        self.acceptance_state(tool) == AcceptanceState::Accepted
    }
}
