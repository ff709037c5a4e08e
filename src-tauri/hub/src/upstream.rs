//! Server sessions: one live connection to each server, started when it is needed, ended when it is idle.
//!
//! [`state`] is the pure machine; [`session`] drives it; [`Pool`] holds a session a server.

mod connection;
mod error;
mod following;
mod handshake;
mod in_flight;
mod link;
pub mod session;
pub mod state;
mod visits;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::join_all;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};

pub use error::{SIGN_IN, UpstreamError};
pub use handshake::Known;
pub use link::{Linked, Linker};
pub use session::{Outgoing, ServerSession, Status};

use crate::model::{
    ids::{ClientName, ServerId},
    spec::{Isolation, Registered},
};

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
    announcements: mpsc::Sender<Announced>,
}

/// What a server says of a resource or a task, whoever it concerns.
#[derive(Debug)]
pub struct Announced {
    pub server: ServerId,
    pub method: String,
    pub params: Box<RawValue>,
}

impl Mailbox {
    /// The mailbox, and where its announcements arrive. A flood of them is thinned.
    pub fn new() -> (Self, mpsc::Receiver<Announced>) {
        let (announcements, arrived) = mpsc::channel(MAX_ANNOUNCED);
        (Self { list_changes: ListChanges::default(), announcements }, arrived)
    }

    fn announce(&self, server: &ServerId, method: &str, params: Box<RawValue>) {
        let announced = Announced { server: server.clone(), method: method.to_owned(), params };
        let _ = self.announcements.try_send(announced);
    }
}

/// Announcements that may wait.
const MAX_ANNOUNCED: usize = 1024;

/// The sessions of all servers. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    linker: Linker,
    mailbox: Mailbox,
    sessions: Arc<Mutex<Sessions>>,
}

type Key = (ServerId, Option<ClientName>);

#[derive(Default)]
struct Sessions {
    /// By server and, for one that is not shared, by client.
    by_key: BTreeMap<Key, Arc<ServerSession>>,
    /// The hub is ending: nothing is started any more.
    closed: bool,
}

impl Pool {
    pub fn new(linker: Linker, mailbox: Mailbox) -> Self {
        Self { linker, mailbox, sessions: Arc::default() }
    }

    /// The session of a server, made where there is none: a client's own where the server is not shared. One that was
    /// made from another spec is ended.
    pub fn session(&self, server: &Arc<Registered>, client: Option<&ClientName>) -> Arc<ServerSession> {
        let client = client.filter(|_| server.spec.isolation == Isolation::PerClient);
        let key = (server.id.clone(), client.cloned());
        let mut sessions = self.lock();
        if let Some(session) = sessions.by_key.get(&key) {
            let (now, made_from) = (&server.spec, &session.server().spec);
            let is_same = now.timeouts == made_from.timeouts && now.isolation == made_from.isolation;
            if session.server().identity == server.identity && is_same {
                return session.clone();
            }
            let old = session.clone();
            tokio::spawn(async move { old.retire("its spec changed").await });
        }
        let session = ServerSession::new(server.clone(), self.linker.clone(), self.mailbox.clone(), sessions.closed);
        sessions.by_key.insert(key, session.clone());
        session
    }

    /// How the session of a server stands, or that of a client with it; nothing where it has had none.
    pub fn status(&self, id: &ServerId) -> Option<Status> {
        let sessions = self.lock();
        let mut all = sessions.by_key.iter().filter(|((of, _), _)| of == id).map(|(_, session)| session);
        let first = all.next()?;
        let active = std::iter::once(first).chain(all).find(|session| session.is_active());
        Some(active.unwrap_or(first).status())
    }

    /// Ends the sessions of a server that may not run any more, and forgets them.
    pub async fn remove(&self, id: &ServerId, why: &str) {
        let removed = {
            let mut sessions = self.lock();
            let (removed, kept) = std::mem::take(&mut sessions.by_key).into_iter().partition(|((of, _), _)| of == id);
            sessions.by_key = kept;
            let removed: BTreeMap<Key, _> = removed;
            removed
        };
        join_all(removed.values().map(|session| session.retire(why))).await;
    }

    /// The sessions that run now.
    pub fn active(&self) -> Vec<Arc<ServerSession>> {
        self.lock().by_key.values().filter(|session| session.is_active()).cloned().collect()
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
            std::mem::take(&mut sessions.by_key)
        };
        join_all(ended.values().map(|session| session.retire("Drawbridge is ending"))).await;
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
