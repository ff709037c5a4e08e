//! The servers that a client may ask for a resource that is in no list and matches no template.

use drawbridge_model::{capability::CapabilityKind, ids::ServerId};
use drawbridge_sessions::{ClientSession, ServerScope};

use super::{Catalog, ServerCopy};

impl Catalog {
    /// Returns whether a client may use a server's resources, listed or not: the server may run,
    /// and the client's endpoint and profile include it.
    pub fn can_use_resources(&self, session: &ClientSession, server: &ServerId) -> bool {
        let profiles = self.profiles.in_scope(&session.client, &session.scope);
        session.scope.includes(server)
            && self.registry.get_runnable(server).is_ok()
            && profiles.permit_server(server)
    }

    /// Returns the only server in the client's scope that can have an unlisted resource: the server
    /// of a single-server endpoint, or the only server that offers resources. Returns `None` if no
    /// server or more than one server can have the resource.
    pub fn only_resource_server(&self, session: &ClientSession) -> Option<ServerId> {
        if let ServerScope::One(only) = &session.scope.servers {
            return Some(only.clone()).filter(|only| self.can_use_resources(session, only));
        }
        let copies = self.lock();
        let specs = self.registry.specs();
        let offers = |id: &&ServerId| {
            let server = specs.servers.get(*id);
            let copy = server.and_then(|server| copies.current(server));
            copy.is_some_and(ServerCopy::offers_resources)
        };
        let mut servers = specs
            .servers
            .keys()
            .filter(offers)
            .filter(|server| self.can_use_resources(session, server));
        let only = servers.next()?;
        servers.next().is_none().then(|| only.clone())
    }
}

impl ServerCopy {
    /// Returns whether the server announced resources. A copy that an older version of Drawbridge
    /// wrote does not record the announcement. The result is then whether the copy contains
    /// resources or templates.
    fn offers_resources(&self) -> bool {
        let has_any = || {
            [CapabilityKind::Resources, CapabilityKind::Templates]
                .iter()
                .any(|kind| self.offered.get(kind).is_some_and(|all| !all.is_empty()))
        };
        self.row.offers_resources.unwrap_or_else(has_any)
    }
}
