//! Server sessions: one live connection to each server, started when it is needed, ended when it is idle.
//!
//! [`state`] is the pure machine; [`session`] drives it; [`Pool`] holds a session a server.

mod error;
mod in_flight;
mod link;
pub mod session;
pub mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::join_all;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};

pub use error::{SIGN_IN, UpstreamError};
pub use link::{Linked, Linker};
pub use session::{Outgoing, ServerSession, Status};

use crate::model::{ids::ServerId, spec::Registered};

/// What has changed, for somebody who follows. However often the same is told, it is noted once.
pub struct Noted<T>(Arc<(Mutex<BTreeSet<T>>, Notify)>);

/// The servers that said that one of their lists has changed.
pub type ListChanges = Noted<ServerId>;

impl<T> Clone for Noted<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Noted<T> {
    fn default() -> Self {
        Self(Arc::new((Mutex::new(BTreeSet::new()), Notify::new())))
    }
}

impl<T: Ord> Noted<T> {
    pub fn tell(&self, what: T) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
        self.0.1.notify_one();
    }

    /// Waits until there is something.
    pub async fn wait(&self) {
        self.0.1.notified().await;
    }

    /// What was noted since the last time.
    pub fn take(&self) -> BTreeSet<T> {
        std::mem::take(&mut *self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the sessions tell the rooms above. Cheap to clone.
#[derive(Clone)]
pub struct Mailbox {
    pub list_changes: ListChanges,
    updates: mpsc::Sender<Updated>,
}

/// A resource of a server has changed: the params of `notifications/resources/updated`.
#[derive(Debug)]
pub struct Updated {
    pub server: ServerId,
    pub params: Box<RawValue>,
}

impl Mailbox {
    /// The mailbox, and where its updates of resources arrive. A flood of updates is thinned.
    pub fn new() -> (Self, mpsc::Receiver<Updated>) {
        let (updates, arrived) = mpsc::channel(MAX_UPDATES);
        (Self { list_changes: ListChanges::default(), updates }, arrived)
    }

    fn updated(&self, server: &ServerId, params: Option<&RawValue>) {
        if let Some(params) = params {
            let _ = self.updates.try_send(Updated { server: server.clone(), params: params.to_owned() });
        }
    }
}

/// Updates of resources that may wait.
const MAX_UPDATES: usize = 1024;

/// The sessions of all servers. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    linker: Linker,
    mailbox: Mailbox,
    sessions: Arc<Mutex<Sessions>>,
}

#[derive(Default)]
struct Sessions {
    by_id: BTreeMap<ServerId, Arc<ServerSession>>,
    /// The hub is ending: nothing is started any more.
    closed: bool,
}

impl Pool {
    pub fn new(linker: Linker, mailbox: Mailbox) -> Self {
        Self { linker, mailbox, sessions: Arc::default() }
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
        let session = ServerSession::new(server.clone(), self.linker.clone(), self.mailbox.clone(), sessions.closed);
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

    /// The sessions that run now.
    pub fn active(&self) -> Vec<Arc<ServerSession>> {
        self.lock().by_id.values().filter(|session| session.is_active()).cloned().collect()
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
