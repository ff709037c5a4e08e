//! Server sessions: one live connection to each server, started when it is needed, ended when it is idle.
//!
//! [`state`] is the pure machine; [`session`] drives it; [`Pool`] holds a session a server.

mod error;
mod link;
pub mod session;
pub mod state;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::join_all;
use tokio::sync::mpsc;

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

/// What the sessions tell the catalog: that server's list of tools has changed.
pub type ListChanged = mpsc::UnboundedSender<ServerId>;

/// The sessions of all servers. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    linker: Linker,
    list_changed: ListChanged,
    sessions: Arc<Mutex<BTreeMap<ServerId, Arc<ServerSession>>>>,
}

impl Pool {
    pub fn new(events: Events, logs: Logs, secrets: Secrets, guard: Guard, list_changed: ListChanged) -> Self {
        let linker = Linker::new(events, logs, secrets, guard);
        Self { linker, list_changed, sessions: Arc::default() }
    }

    /// The session of a server, made where there is none. One that was made from another identity is ended.
    pub fn session(&self, server: &Arc<Registered>) -> Arc<ServerSession> {
        let mut sessions = self.lock();
        if let Some(session) = sessions.get(&server.id) {
            if session.server().identity == server.identity && session.server().spec.timeouts == server.spec.timeouts {
                return session.clone();
            }
            let old = session.clone();
            tokio::spawn(async move { old.close("its spec changed").await });
        }
        let session = ServerSession::new(server.clone(), self.linker.clone(), self.list_changed.clone());
        sessions.insert(server.id.clone(), session.clone());
        session
    }

    /// How the session of a server stands; nothing where it has had none.
    pub fn status(&self, id: &ServerId) -> Option<Status> {
        self.lock().get(id).map(|session| session.status())
    }

    /// Ends the session of a server that may not run any more, and forgets it.
    pub async fn remove(&self, id: &ServerId, why: &str) {
        let session = self.lock().remove(id);
        if let Some(session) = session {
            session.close(why).await;
        }
    }

    /// Connects a server apart from its session, for a look.
    pub fn linker(&self) -> &Linker {
        &self.linker
    }

    /// Ends all sessions, side by side.
    pub async fn close(&self) {
        let sessions = std::mem::take(&mut *self.lock());
        join_all(sessions.values().map(|session| session.close("Drawbridge is ending"))).await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerId, Arc<ServerSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
