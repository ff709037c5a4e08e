//! The servers about which a person is told: servers that failed and are not started again soon,
//! and servers whose new or changed definitions wait for acceptance. After an alert about a
//! failure, the person is not told about another failure of this server until the server has
//! recovered. After an alert about definitions, the person is not told about more definitions of
//! this server until none of its definitions waits any more.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::{ids::ServerId, server::ServerState};

use crate::{
    overview::{Overview, ServerLine, Trouble},
    summary::display_server,
};

/// The reason why a person is told about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AlertKind {
    /// The server failed to start, or crashed too often.
    Failed,
    /// New or changed definitions of the server wait for acceptance.
    DefinitionsWait,
}

/// A fact that a person should know about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alert {
    pub(crate) kind: AlertKind,
    pub(crate) server: ServerId,
    /// The server's name, with its id if the two differ.
    pub(crate) name: String,
    /// Why the server failed; empty if its definitions wait.
    pub(crate) reason: String,
    /// How many definitions wait.
    pub(crate) waiting: usize,
}

/// The alerts that the person has not seen, and the alerts that need not be shown again.
#[derive(Debug, Default)]
pub(crate) struct Alerts {
    unseen: BTreeMap<(AlertKind, ServerId), Alert>,
    /// The alerts that still apply and are not reported again: the person was already told, or the
    /// definitions already waited when the app started.
    reported: BTreeSet<(AlertKind, ServerId)>,
    /// Whether an overview was read. The definitions that waited before the app started are listed
    /// on the Overview screen, and are no news.
    has_read: bool,
}

impl Alerts {
    /// Returns the alerts that the person has not seen, failures first.
    pub(crate) fn list(&self) -> impl Iterator<Item = &Alert> {
        self.unseen.values()
    }

    /// Updates the alerts from a new overview.
    pub(crate) fn update(&mut self, overview: &Overview) {
        if matches!(overview.trouble, Some(Trouble::NoAnswer { .. })) {
            return;
        }
        for server in &overview.servers {
            self.update_server(
                AlertKind::Failed,
                server,
                is_failed(server),
                has_recovered(server),
            );
            let waits = server.waiting > 0;
            self.update_server(AlertKind::DefinitionsWait, server, waits, !waits);
        }
        let exists = |id: &ServerId| overview.servers.iter().any(|server| server.id == *id);
        self.reported.retain(|(_, id)| exists(id));
        self.unseen.retain(|(_, id), _| exists(id));
        self.has_read = true;
    }

    /// Ends the alert of this kind about a server if it is over. Adds the alert if it applies, and
    /// was not reported yet.
    fn update_server(
        &mut self,
        kind: AlertKind,
        server: &ServerLine,
        applies: bool,
        is_over: bool,
    ) {
        let key = (kind, server.id.clone());
        if is_over {
            self.reported.remove(&key);
            self.unseen.remove(&key);
        } else if applies && self.reported.insert(key.clone()) {
            let is_news = self.has_read || kind == AlertKind::Failed;
            if is_news {
                self.unseen.insert(key, Alert::new(kind, server));
            }
        }
    }

    /// Clears the alerts, because the main window shows them to the person.
    pub(crate) fn clear(&mut self) {
        self.unseen.clear();
    }
}

impl Alert {
    fn new(kind: AlertKind, server: &ServerLine) -> Self {
        Self {
            kind,
            server: server.id.clone(),
            name: display_server(&server.name, &server.id),
            reason: match kind {
                AlertKind::Failed => server.reason.clone(),
                AlertKind::DefinitionsWait => String::new(),
            },
            waiting: server.waiting,
        }
    }
}

/// Returns whether the server failed and is not started again soon. A server that a person stopped
/// or disabled has not failed.
fn is_failed(server: &ServerLine) -> bool {
    server.state == ServerState::Error && (server.crashed_often || server.retry_at.is_none())
}

/// Returns whether an earlier failure of the server counts as over: the server runs, has ended
/// without a failure, is disabled, or waits for a person (for acceptance, a secret or a sign-in). If
/// the server is idle or starting, the failure is not over yet, because the server may fail again.
fn has_recovered(server: &ServerLine) -> bool {
    match server.state {
        ServerState::Active
        | ServerState::Closed
        | ServerState::Disabled
        | ServerState::NeedsAcceptance
        | ServerState::NeedsSecret
        | ServerState::NeedsSignIn => true,
        ServerState::Idle | ServerState::Initializing | ServerState::Error => false,
    }
}

#[cfg(test)]
mod tests;
