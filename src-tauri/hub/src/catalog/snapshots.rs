//! The snapshots of the catalog: one for people and most clients, and one for each client with
//! copies of private lists.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_model::{capability::CapabilityKind, ids::ClientName, spec::RegisteredServer};

use super::{Offered, Snapshot, copies::Copies};

/// A change of an exposed list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KindChange {
    pub kind: CapabilityKind,
    /// The client whose list has changed, or `None` if the lists of all clients may have changed.
    pub client: Option<ClientName>,
}

/// The current snapshots.
#[derive(Default)]
pub(super) struct Snapshots {
    /// All lists as Drawbridge reads them for itself. This is the snapshot for people, and for
    /// clients without copies of private lists.
    pub(super) own: Arc<Snapshot>,
    /// The snapshot of each client that has copies of private lists.
    by_client: BTreeMap<ClientName, Arc<Snapshot>>,
}

impl Snapshots {
    /// Builds the snapshots from `servers`, which are in the order of their acceptance. Reuses each
    /// old snapshot that is still valid, because its lists are already rendered and indexed.
    pub(super) fn build(old: &Self, servers: &[&Arc<RegisteredServer>], copies: &Copies) -> Self {
        let merge = |old: &Arc<Snapshot>, offered: Vec<(Arc<RegisteredServer>, &Offered)>| {
            if old.is_merged_from(&offered) {
                old.clone()
            } else {
                Arc::new(Snapshot::merge(&offered))
            }
        };
        let own = servers.iter().filter_map(|server| {
            let copy = copies.current(server)?;
            Some(((*server).clone(), copy.visible(server)))
        });
        let own = merge(&old.own, own.collect());
        let by_client = copies.clients().into_iter().map(|client| {
            let offered = servers.iter().filter_map(|server| {
                let copy = copies.visible_to(server, client)?;
                Some(((*server).clone(), copy.visible(server)))
            });
            let snapshot = merge(old.visible_to(client), offered.collect());
            (client.clone(), snapshot)
        });
        Self {
            by_client: by_client.collect(),
            own,
        }
    }

    pub(super) fn visible_to(&self, client: &ClientName) -> &Arc<Snapshot> {
        self.by_client.get(client).unwrap_or(&self.own)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.own, &other.own)
            && self.by_client.len() == other.by_client.len()
            && self
                .by_client
                .iter()
                .zip(&other.by_client)
                .all(|(left, right)| left.0 == right.0 && Arc::ptr_eq(left.1, right.1))
    }

    /// Returns the changes of the exposed lists since `old`.
    pub(super) fn list_changes(&self, old: &Self) -> Vec<KindChange> {
        let clients: BTreeSet<_> = self.by_client.keys().chain(old.by_client.keys()).collect();
        let views = clients
            .into_iter()
            .map(|client| {
                (
                    Some(client),
                    old.visible_to(client),
                    self.visible_to(client),
                )
            })
            .chain([(None, &old.own, &self.own)]);
        views
            .filter(|(_, old, new)| !Arc::ptr_eq(old, new))
            .flat_map(|(client, old, new)| {
                let has_changed =
                    |kind: &CapabilityKind| !old.all().has_same_entries(new.all(), *kind);
                CapabilityKind::ALL
                    .into_iter()
                    .filter(has_changed)
                    .map(move |kind| KindChange {
                        kind,
                        client: client.cloned(),
                    })
            })
            .collect()
    }
}
