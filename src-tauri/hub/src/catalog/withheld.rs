//! Tools and prompts that clients do not see until a person accepts them.

use std::fmt;

use drawbridge_model::{acceptance::AcceptanceState, capability::CapabilityKind};
use drawbridge_sessions::ClientSession;

use super::{Catalog, merge};

/// A tool or a prompt that a client would see if a person had accepted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    kind: CapabilityKind,
    exposed_name: String,
    /// The name of its server.
    server: String,
    is_new: bool,
}

/// The text tells a model what to do.
impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noun, name, server) = (self.kind.noun(), &self.exposed_name, &self.server);
        let change = if self.is_new { "added" } else { "changed" };
        write!(
            f,
            "The {noun} '{name}' cannot be used now: the server '{server}' {change} it, and the user has not accepted that yet. \
             Ask the user to check '{server}' on the Servers screen of Drawbridge, and do not retry before."
        )
    }
}

impl Catalog {
    /// Returns the tool or prompt that would have this exposed name in the client's catalog view if
    /// a person had accepted it.
    pub fn find_withheld(
        &self,
        session: &ClientSession,
        kind: CapabilityKind,
        exposed_name: &str,
    ) -> Option<Withheld> {
        let profiles = self.profiles.in_scope(&session.client, &session.scope);
        let copies = self.lock();
        let specs = self.registry.specs();
        let servers = specs
            .servers
            .values()
            .filter(|server| session.scope.includes(&server.id) && self.registry.may_run(server));
        servers.into_iter().find_map(|server| {
            let copy = copies.visible_to(server, &session.client)?;
            let (state, _) = copy.unaccepted().find(|(_, definition)| {
                let name = &definition.name;
                definition.kind == kind.into()
                    && merge::may_be_exposed_as(kind, &session.scope, server, name, exposed_name)
                    && profiles.permit(kind, &server.id, name)
            })?;
            Some(Withheld {
                kind,
                exposed_name: exposed_name.to_owned(),
                server: server.name().to_owned(),
                is_new: state == AcceptanceState::New,
            })
        })
    }
}
