//! The definitions of a server that need acceptance (its instructions, tools, prompts and
//! templates, and the texts of its resources), and their accepted versions. Clients see only
//! accepted versions.
//!
//! Accepting a server also accepts all definitions of its first sync, and the definitions that the
//! server adds in the grace period after this sync (some servers list more tools only after they
//! have identified their client). A definition that the server changes, or adds later, waits for a
//! person, unless the spec trusts the server's definitions. A definition that the content defence
//! flags always waits if the content defence of the spec is `ask`.
//!
//! Resources come and go all the time, so they are listed without acceptance. Only their names,
//! titles and descriptions wait, because models read them. A name that is a part of the URI does
//! not wait, because it adds nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_model::{
    acceptance::{AcceptanceState, DefinitionId, DefinitionKind},
    capability::CapabilityKind,
};

use super::{Definition, Offered};

/// All definitions of a server that need acceptance, by kind.
pub(super) type Definitions = BTreeMap<DefinitionKind, Vec<Arc<Definition>>>;

/// Returns the definitions that need acceptance, from the lists and the instructions of a server.
pub(super) fn list_definitions(offered: &Offered, instructions: Option<&str>) -> Definitions {
    let mut definitions: Definitions = offered
        .iter()
        .map(|(kind, offered)| {
            let definitions = match kind {
                CapabilityKind::Resources => offered
                    .iter()
                    .filter_map(|resource| resource.resource_texts())
                    .map(Arc::new)
                    .collect(),
                CapabilityKind::Tools | CapabilityKind::Prompts | CapabilityKind::Templates => {
                    offered.clone()
                }
            };
            (DefinitionKind::from(*kind), definitions)
        })
        .collect();
    let instructions = instructions.filter(|text| !text.trim().is_empty());
    definitions.insert(
        DefinitionKind::Instructions,
        instructions
            .map(|text| Arc::new(Definition::of_instructions(text)))
            .into_iter()
            .collect(),
    );
    definitions
}

pub(super) fn definition_id(kind: DefinitionKind, definition: &Definition) -> DefinitionId {
    DefinitionId {
        kind,
        name: definition.name.clone(),
        digest: definition.digest.clone(),
    }
}

/// The accepted definitions of a server: their digests, by kind and by the server's own names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AcceptedDefinitions(BTreeMap<DefinitionKind, BTreeMap<String, BTreeSet<String>>>);

impl AcceptedDefinitions {
    pub(super) fn insert(&mut self, id: DefinitionId) {
        self.0
            .entry(id.kind)
            .or_default()
            .entry(id.name)
            .or_default()
            .insert(id.digest);
    }

    /// Returns the acceptance state of a definition. A definition that was accepted earlier is
    /// accepted again if it returns.
    pub(super) fn acceptance_state(
        &self,
        kind: DefinitionKind,
        definition: &Definition,
    ) -> AcceptanceState {
        match self
            .0
            .get(&kind)
            .and_then(|names| names.get(&definition.name))
        {
            Some(digests) if digests.contains(&definition.digest) => AcceptanceState::Accepted,
            Some(_) => AcceptanceState::Changed,
            None => AcceptanceState::New,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, kind: DefinitionKind, definition: &Definition) -> bool {
        self.acceptance_state(kind, definition) == AcceptanceState::Accepted
    }
}
