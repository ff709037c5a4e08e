//! Server sessions: one live connection to each server, started when it is needed, ended when it is idle.
//!
//! [`state`] is the pure machine; [`session`] drives it; [`Pool`] holds a session a server.

mod error;
mod link;
pub mod session;
pub mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::join_all;
use tokio::sync::Notify;

pub use error::UpstreamError;
pub use link::{Linked, Linker};
pub use session::{ServerSession, Status};

use crate::{
    events::Events,
    logs::Logs,
    model::{ids::ServerId, spec::Registered},
    secrets::Secrets,
    transport::process::guard::Guard,
};

/// What the sessions tell the catalog: which servers' lists have changed. However often one says so, it is
/// noted once.
#[derive(Clone, Default)]
pub struct ListChanges(Arc<(Mutex<BTreeSet<ServerId>>, Notify)>);

impl ListChanges {
    pub(crate) fn tell(&self, id: &ServerId) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        self.0.1.notify_one();
    }

    /// Waits until there is a change.
    pub async fn wait(&self) {
        self.0.1.notified().await;
    }

    /// Those noted since the last time.
    pub fn take(&self) -> BTreeSet<ServerId> {
        std::mem::take(&mut *self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The sessions of all servers. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    linker: Linker,
    list_changes: ListChanges,
    sessions: Arc<Mutex<Sessions>>,
}

#[derive(Default)]
struct Sessions {
    by_id: BTreeMap<ServerId, Arc<ServerSession>>,
    /// The hub is ending: nothing is started any more.
    closed: bool,
}

impl Pool {
    pub fn new(events: Events, logs: Logs, secrets: Secrets, guard: Guard, list_changes: ListChanges) -> Self {
        let linker = Linker::new(events, logs, secrets, guard);
        Self { linker, list_changes, sessions: Arc::default() }
    }

    /// The session of a server, made where there is none. One that was made from another spec is ended.
    pub fn session(&self, server: &Arc<Registered>) -> Arc<ServerSession> {
        let mut sessions = self.lock();
        if let Some(session) = sessions.by_id.get(&server.id) {
            if session.server().identity == server.identity && session.server().spec.timeouts == server.spec.timeouts {
                return session.clone();
            }
            let old = session.clone();
            tokio::spawn(async move { old.retire("its spec changed").await });
        }
        let session =
            ServerSession::new(server.clone(), self.linker.clone(), self.list_changes.clone(), sessions.closed);
        sessions.by_id.insert(server.id.clone(), session.clone());
        session
    }

    /// How the session of a server stands; nothing where it has had none.
    pub fn status(&self, id: &ServerId) -> Option<Status> {
        self.lock().by_id.get(id).map(|session| session.status())
    }

    /// Ends the session of a server that may not run any more, and forgets it.
    pub async fn remove(&self, id: &ServerId, why: &str) {
        let session = self.lock().by_id.remove(id);
        if let Some(session) = session {
            session.retire(why).await;
        }
    }

    /// Connects a server apart from its session, for a look.
    pub fn linker(&self) -> &Linker {
        &self.linker
    }

    /// Ends all sessions, side by side. None begins after that.
    pub async fn close(&self) {
        let ended = {
            let mut sessions = self.lock();
            sessions.closed = true;
            std::mem::take(&mut sessions.by_id)
        };
        join_all(ended.values().map(|session| session.retire("Drawbridge is ending"))).await;
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
