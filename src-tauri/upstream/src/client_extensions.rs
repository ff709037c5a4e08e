//! The extensions that clients have declared. Drawbridge announces them to servers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drawbridge_model::{ids::ClientName, protocol::Extensions};

/// The extensions that each client has declared since the hub started. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct ClientExtensions(Arc<Mutex<BTreeMap<ClientName, Extensions>>>);

impl ClientExtensions {
    /// Adds the extensions of a client. Returns whether the client declares one of them for the
    /// first time.
    pub(super) fn add(&self, client: &ClientName, declared: &Extensions) -> bool {
        if declared.is_empty() {
            return false;
        }
        let mut clients = self.lock();
        let known = clients.entry(client.clone()).or_default();
        let is_new = !known.include(declared);
        known.merge(declared);
        is_new
    }

    pub(super) fn remove(&self, client: &ClientName) {
        self.lock().remove(client);
    }

    /// Returns the extensions of a client, or those of all clients together if `client` is `None`.
    pub(super) fn declared_by(&self, client: Option<&ClientName>) -> Extensions {
        let clients = self.lock();
        if let Some(client) = client {
            return clients.get(client).cloned().unwrap_or_default();
        }
        let mut extensions = Extensions::default();
        clients
            .values()
            .for_each(|declared| extensions.merge(declared));
        extensions
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClientName, Extensions>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
