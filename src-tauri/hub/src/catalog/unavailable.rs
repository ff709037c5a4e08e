//! Tools and prompts that a client cannot use now, although their server may offer them: a person
//! has not accepted them, or the server's lists have not been read yet.

use std::fmt;

use drawbridge_model::{acceptance::AcceptanceState, capability::CapabilityKind};
use drawbridge_sessions::ClientSession;

use super::{Catalog, merge};

/// A tool or a prompt that a client cannot use now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    kind: CapabilityKind,
    exposed_name: String,
    /// The server's name.
    server: String,
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// The server added the entry, and no person has accepted it.
    Added,
    /// The server changed the entry, and no person has accepted the change.
    Changed,
    /// The server's lists have not been read since it was added or its spec was changed.
    Unread,
}

/// The text is for a model.
impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noun, name, server) = (self.kind.noun(), &self.exposed_name, &self.server);
        write!(f, "The {noun} '{name}' cannot be used now: ")?;
        let change = match self.reason {
            Reason::Added => "added",
            Reason::Changed => "changed",
            Reason::Unread => {
                return write!(
                    f,
                    "the {noun}s of the server '{server}' are not known yet, because it is still starting or cannot be reached. \
                     Try again in a minute. If that fails, ask the user to check '{server}' on the Servers screen of Drawbridge."
                );
            }
        };
        write!(
            f,
            "the server '{server}' {change} it, and the user has not accepted that yet. \
             Ask the user to check '{server}' on the Servers screen of Drawbridge. Do not retry until the user has accepted it."
        )
    }
}

impl Catalog {
    /// Returns the tool or prompt with this exposed name if it waits for acceptance. If a
    /// server's lists have not been read yet, any name with the server's prefix counts as
    /// unavailable.
    pub fn find_unavailable(
        &self,
        session: &ClientSession,
        kind: CapabilityKind,
        exposed_name: &str,
    ) -> Option<Unavailable> {
        let profiles = self.profiles.in_scope(&session.client, &session.scope);
        let copies = self.lock();
        let specs = self.registry.specs();
        let servers = specs
            .servers
            .values()
            .filter(|server| session.scope.includes(&server.id) && self.registry.may_run(server));
        servers.into_iter().find_map(|server| {
            let reason = match copies.visible_to(server, &session.client) {
                Some(copy) if copy.row.last_synced_at.is_some() => {
                    let (state, _) = copy.unaccepted().find(|(_, definition)| {
                        let (name, scope) = (&definition.name, &session.scope);
                        definition.kind == kind.into()
                            && merge::may_be_exposed_as(kind, scope, server, name, exposed_name)
                            && profiles.permit(kind, &server.id, name)
                    })?;
                    if state == AcceptanceState::New {
                        Reason::Added
                    } else {
                        Reason::Changed
                    }
                }
                Some(_) | None => merge::has_prefix_of(&session.scope, server, exposed_name)
                    .then_some(Reason::Unread)?,
            };
            Some(Unavailable {
                kind,
                exposed_name: exposed_name.to_owned(),
                server: server.name().to_owned(),
                reason,
            })
        })
    }
}
