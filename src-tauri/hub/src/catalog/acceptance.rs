//! Which definitions of a server's tools a person has accepted. What is not accepted is neither listed nor callable.
//!
//! With a server its tools are accepted as they are at its first sync, and what it adds in the minute after that (some
//! tell of more tools only once they know their client). What it offers or changes later waits, unless its spec says
//! that it is trusted.

use std::collections::{BTreeMap, BTreeSet};

use super::Definition;
use crate::model::tool::Standing;

/// The accepted definitions of a server: their digests by the tools' own names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Accepted(BTreeMap<String, BTreeSet<String>>);

impl Accepted {
    pub(super) fn insert(&mut self, name: &str, digest: &str) {
        self.0
            .entry(name.to_owned())
            .or_default()
            .insert(digest.to_owned());
    }

    /// How a tool stands. One that was accepted before is accepted when it comes back.
    pub(super) fn standing(&self, tool: &Definition) -> Standing {
        match self.0.get(&tool.name) {
            Some(digests) if digests.contains(&tool.digest) => Standing::Accepted,
            Some(_) => Standing::Changed,
            None => Standing::New,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn holds(&self, tool: &Definition) -> bool {
        self.standing(tool) == Standing::Accepted
    }
}
