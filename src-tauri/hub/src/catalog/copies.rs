//! The catalog's copies of the servers' lists, and which client sees which copy.
//!
//! Drawbridge reads each server's lists for itself. If the server declares one of its lists private
//! (`cacheScope`, revision 2026-07-28), Drawbridge also reads the lists on behalf of each client,
//! in the client's own session with the server if there is such a session. A client sees
//! Drawbridge's copy until the client's own copy is read. No client sees another client's copy.
//!
//! A person accepts definitions for the server, not for a client: if a definition differs for
//! another client, it counts as changed and waits for a person.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use drawbridge_model::{
    acceptance::{AcceptanceState, DefinitionId, DefinitionKind},
    ids::{ClientName, ServerId},
    spec::RegisteredServer,
};
use drawbridge_sessions::ClientSession;

use super::{
    Definition, ServerCopy,
    acceptance::{AcceptedDefinitions, definition_id},
};

/// Identifies a copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CopyKey {
    pub(super) server: ServerId,
    /// The client to which the copy belongs, or `None` for Drawbridge's own copy.
    pub(super) client: Option<ClientName>,
}

impl CopyKey {
    pub(super) fn own(server: &ServerId) -> Self {
        Self {
            server: server.clone(),
            client: None,
        }
    }

    pub(super) fn of_client(server: &ServerId, client: &ClientName) -> Self {
        Self {
            server: server.clone(),
            client: Some(client.clone()),
        }
    }
}

/// All copies.
#[derive(Default)]
pub(super) struct Copies(BTreeMap<CopyKey, ServerCopy>);

impl Copies {
    pub(super) fn get(&self, key: &CopyKey) -> Option<&ServerCopy> {
        self.0.get(key)
    }

    /// Returns Drawbridge's own copy of a server.
    pub(super) fn own(&self, server: &ServerId) -> Option<&ServerCopy> {
        self.get(&CopyKey::own(server))
    }

    /// Returns Drawbridge's own copy of a server if it was read from the server with this identity.
    pub(super) fn current(&self, server: &RegisteredServer) -> Option<&ServerCopy> {
        self.own(&server.id)
            .filter(|copy| copy.identity == server.identity)
    }

    /// Returns the copy that a client sees: the client's own copy if the server has private lists
    /// and the copy has been read, otherwise Drawbridge's copy.
    pub(super) fn visible_to(
        &self,
        server: &RegisteredServer,
        client: &ClientName,
    ) -> Option<&ServerCopy> {
        let own = self.current(server)?;
        if !own.row.has_private_lists {
            return Some(own);
        }
        self.get(&CopyKey::of_client(&server.id, client))
            .filter(|copy| copy.identity == server.identity && copy.row.last_synced_at.is_some())
            .or(Some(own))
    }

    pub(super) fn insert(&mut self, key: CopyKey, copy: ServerCopy) {
        self.0.insert(key, copy);
    }

    /// Returns a copy that the caller may change. Adds Drawbridge's own copy if it is missing, but
    /// not a client's copy, because the client may have been revoked.
    pub(super) fn get_mut(&mut self, key: &CopyKey) -> Option<&mut ServerCopy> {
        if key.client.is_none() {
            return Some(self.get_or_insert(key));
        }
        self.0.get_mut(key)
    }

    fn get_or_insert(&mut self, key: &CopyKey) -> &mut ServerCopy {
        self.0
            .entry(key.clone())
            .or_insert_with(|| ServerCopy::empty(key.server.clone()))
    }

    /// Returns all copies of a server, Drawbridge's own copy first.
    pub(super) fn of_server(
        &self,
        server: &ServerId,
    ) -> impl Iterator<Item = (&CopyKey, &ServerCopy)> {
        self.0
            .range(CopyKey::own(server)..)
            .take_while(move |(key, _)| key.server == *server)
    }

    /// Returns the copies of a server that were read with the same identity as Drawbridge's own
    /// copy.
    fn of_current_identity(
        &self,
        server: &ServerId,
    ) -> impl Iterator<Item = (&CopyKey, &ServerCopy)> {
        let own = self.own(server);
        self.of_server(server)
            .filter(move |(_, copy)| own.is_some_and(|own| own.identity == copy.identity))
    }

    fn of_server_mut(&mut self, server: &ServerId) -> impl Iterator<Item = &mut ServerCopy> {
        self.0
            .range_mut(CopyKey::own(server)..)
            .take_while(move |(key, _)| key.server == *server)
            .map(|(_, copy)| copy)
    }

    /// Adds a copy for the session's client if there is none, and notes that it is read in this
    /// session. Does nothing if the session has ended, because the client may have been revoked.
    pub(super) fn add_client_copy(&mut self, server: &ServerId, session: &Arc<ClientSession>) {
        if !session.ended.is_cancelled() {
            let copy = self.get_or_insert(&CopyKey::of_client(server, &session.client));
            copy.client_session = Arc::downgrade(session);
        }
    }

    /// Notes in a client's copies that the client last refreshed the catalog in this session.
    pub(super) fn note_session(&mut self, session: &Arc<ClientSession>) {
        let copies = self.0.iter_mut();
        copies
            .filter(|(key, _)| key.client.as_ref() == Some(&session.client))
            .for_each(|(_, copy)| copy.client_session = Arc::downgrade(session));
    }

    /// Notes that the server's lists may have changed since this copy was read.
    pub(super) fn mark_outdated(&mut self, key: &CopyKey) {
        if let Some(copy) = self.get_mut(key) {
            copy.is_outdated = true;
        }
    }

    /// Returns the clients that have copies of their own.
    pub(super) fn clients(&self) -> BTreeSet<&ClientName> {
        self.0
            .keys()
            .filter_map(|key| key.client.as_ref())
            .collect()
    }

    /// Gives all copies of a server the same accepted definitions.
    pub(super) fn share_accepted(&mut self, server: &ServerId, accepted: &AcceptedDefinitions) {
        for copy in self.of_server_mut(server) {
            if copy.accepted != *accepted {
                copy.accepted = accepted.clone();
                copy.recompute_visible();
            }
        }
    }

    /// Returns the versions of a server's tool in the copy of `client`, or in the copies of all
    /// clients if `client` is `None`. If these copies do not contain the tool, returns Drawbridge's
    /// own version.
    pub(super) fn tool_versions(
        &self,
        server: &ServerId,
        name: &str,
        client: Option<&ClientName>,
    ) -> Vec<Arc<Definition>> {
        let (own, of_clients): (Vec<_>, Vec<_>) = self
            .of_current_identity(server)
            .filter(|(key, _)| {
                key.client
                    .as_ref()
                    .is_none_or(|owner| client.is_none_or(|client| client == owner))
            })
            .filter_map(|(key, copy)| {
                Some((key, copy.tools().iter().find(|tool| tool.name == name)?))
            })
            .partition(|(key, _)| key.client.is_none());
        let found = if of_clients.is_empty() {
            own
        } else {
            of_clients
        };
        found.into_iter().map(|(_, tool)| tool.clone()).collect()
    }

    /// Returns the definitions that need acceptance, from all current copies of a server, each
    /// version once.
    pub(super) fn definitions(&self, server: &ServerId) -> Vec<(DefinitionKind, &Arc<Definition>)> {
        let mut distinct = HashSet::new();
        self.of_current_identity(server)
            .flat_map(|(_, copy)| copy.definitions())
            .filter(|(kind, definition)| distinct.insert(definition_id(*kind, definition)))
            .collect()
    }

    /// Returns the new and changed definitions in all current copies of a server.
    pub(super) fn unaccepted(&self, server: &ServerId) -> Vec<(AcceptanceState, DefinitionId)> {
        let mut distinct = HashSet::new();
        self.of_current_identity(server)
            .flat_map(|(_, copy)| copy.unaccepted())
            .filter(|(_, id)| distinct.insert(id.clone()))
            .collect()
    }

    pub(super) fn remove_server(&mut self, server: &ServerId) {
        self.0.retain(|key, _| key.server != *server);
    }

    /// Removes the clients' copies of a server.
    pub(super) fn remove_client_copies(&mut self, server: &ServerId) {
        self.0
            .retain(|key, _| key.server != *server || key.client.is_none());
    }

    /// Removes the copies of a client.
    pub(super) fn remove_client(&mut self, client: &ClientName) {
        self.0.retain(|key, _| key.client.as_ref() != Some(client));
    }
}
