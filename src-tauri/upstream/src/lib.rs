//! Server sessions. A session connects to its server when somebody needs the server, and closes the
//! connection when nobody has used it for a while.
//!
//! [`state`] is the pure state machine, [`session`] drives it, and [`Pool`] holds all sessions.
//! [`transport`] is one live connection, and [`oauth`] signs in to remote servers.

mod client_extensions;
mod client_requests;
mod connection;
mod connection_change;
mod connector;
mod dirty_set;
mod download;
mod error;
mod handshake;
mod history;
pub mod http;
mod in_flight;
pub mod lines;
pub mod oauth;
mod server_request;
mod server_subscriptions;
pub mod session;
pub mod state;
mod timeouts;
pub mod transport;
mod url_elicitations;
mod webhook;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drawbridge_model::{
    ids::{ClientName, ServerId},
    protocol::Extensions,
    spec::{Isolation, Lifecycle, RegisteredServer},
};
use futures_util::future::join_all;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

pub use client_requests::{ClientRequestGate, Respondent, ServerQuestion};
pub use connection::Connection;
pub use connection_change::{ConnectionChange, ConnectionChangeKind, EndedSession};
pub use connector::{Acceptances, AccessRecorder, BuiltIns, Connected, Connector};
pub use dirty_set::DirtySet;
pub use download::{DownloadError, Downloader};
pub use error::{ProtocolFault, SIGN_IN_REMEDY, TimeoutReason, UnreachableReason, UpstreamError};
pub use handshake::{NegotiationCache, package_name};
pub use history::{History, SessionCounts};
pub use server_request::{ProgressObserver, RequestSpan, SentRequest, ServerRequest};
pub use session::{ServerSession, Status};
pub use timeouts::RequestTimeouts;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use transport::fuzzing;
pub use webhook::{WebhookClient, WebhookError, check_header_name};

/// Makes *ring* the TLS provider of this process. Call this before the first HTTP client is
/// created.
pub fn install_tls() {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The servers whose lists have to be read again, for example because a server has announced a
/// change of a list.
pub type ListChanges = DirtySet<ServerId>;

/// Passes events of the sessions on to the hub. Cheap to clone.
#[derive(Clone)]
pub struct SessionEvents {
    pub list_changes: ListChanges,
    pub(crate) history: History,
    notifications: mpsc::Sender<ServerNotification>,
    connection_changes: mpsc::Sender<ConnectionChange>,
}

/// The receivers of the events that sessions pass on.
pub struct SessionEventReceivers {
    pub notifications: mpsc::Receiver<ServerNotification>,
    pub connection_changes: mpsc::Receiver<ConnectionChange>,
}

/// A server's notification about a resource or a task, for the clients that it concerns.
#[derive(Debug)]
pub struct ServerNotification {
    pub server: ServerId,
    pub method: String,
    pub params: Box<RawValue>,
}

impl SessionEvents {
    /// Returns the senders and their receivers. If a queue is full, further events are dropped,
    /// except changes of lists, which need no queue.
    pub fn channel() -> (Self, SessionEventReceivers) {
        let (notifications, received_notifications) = mpsc::channel(MAX_QUEUED_NOTIFICATIONS);
        let (connection_changes, received_changes) = mpsc::channel(MAX_QUEUED_CHANGES);
        (
            Self {
                list_changes: ListChanges::default(),
                history: History::default(),
                notifications,
                connection_changes,
            },
            SessionEventReceivers {
                notifications: received_notifications,
                connection_changes: received_changes,
            },
        )
    }

    fn send_notification(&self, server: &ServerId, method: &str, params: Box<RawValue>) {
        let notification = ServerNotification {
            server: server.clone(),
            method: method.to_owned(),
            params,
        };
        let _ = self.notifications.try_send(notification);
    }

    fn send_connection_change(&self, change: ConnectionChange) {
        let server = change.server.clone();
        if self.connection_changes.try_send(change).is_err() {
            tracing::warn!(
                "server {server}: the hooks miss a change of its connection, because too many changes wait"
            );
        }
    }
}

/// The most notifications that may wait to be received.
const MAX_QUEUED_NOTIFICATIONS: usize = 1024;
/// The most changes of connections that may wait to be received.
const MAX_QUEUED_CHANGES: usize = 256;

/// The sessions of all servers. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    connector: Connector,
    session_events: SessionEvents,
    client_requests: Arc<dyn ClientRequestGate>,
    sessions: Arc<Mutex<Sessions>>,
}

/// Identifies a session by its server, by its client if the server is not shared, and by its call
/// if the server is started for each call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SessionKey {
    server: ServerId,
    client: Option<ClientName>,
    call: Option<u64>,
}

#[derive(Default)]
struct Sessions {
    by_key: BTreeMap<SessionKey, Arc<ServerSession>>,
    /// For servers that are started for each call: the final status of the last call's session.
    ended: BTreeMap<ServerId, Status>,
    /// The number of the latest session for a single call.
    last_call: u64,
    /// Whether the hub is shutting down. If so, a new session never starts its server.
    closed: bool,
}

/// A handle to a session. If the session belongs to one call, dropping the handle ends the session.
pub struct Lease {
    session: Arc<ServerSession>,
    per_call: Option<(Pool, SessionKey)>,
}

impl std::ops::Deref for Lease {
    type Target = Arc<ServerSession>;

    fn deref(&self) -> &Arc<ServerSession> {
        &self.session
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some((pool, key)) = self.per_call.take() {
            let mut sessions = pool.lock();
            // The server itself may have been removed.
            if sessions.by_key.remove(&key).is_some() {
                sessions.ended.insert(key.server, self.session.status());
            }
            drop(sessions);
            let session = self.session.clone();
            tokio::spawn(async move { session.retire("its call has ended").await });
        }
    }
}

impl Pool {
    /// Returns a pool without sessions. `client_requests` decides which requests servers may send
    /// to clients.
    pub fn new(
        connector: Connector,
        session_events: SessionEvents,
        client_requests: Arc<dyn ClientRequestGate>,
    ) -> Self {
        Self {
            connector,
            session_events,
            client_requests,
            sessions: Arc::default(),
        }
    }

    /// Returns the session of a server, and creates a session if there is none. If the server is
    /// not shared, each client has a session of its own. If the server is started for each call,
    /// the session is always new. Ends and replaces a session that was made from another spec.
    pub fn session(&self, server: &Arc<RegisteredServer>, client: Option<&ClientName>) -> Lease {
        let client = client
            .filter(|_| server.spec.isolation == Isolation::PerClient)
            .cloned();
        let mut sessions = self.lock();
        let is_per_call = server.spec.lifecycle == Lifecycle::Transient;
        sessions.last_call += u64::from(is_per_call);
        let key = SessionKey {
            server: server.id.clone(),
            client,
            call: is_per_call.then_some(sessions.last_call),
        };
        if let Some(session) = sessions.by_key.get(&key) {
            if session.matches_spec(server) {
                return Lease {
                    session: session.clone(),
                    per_call: None,
                };
            }
            let old = session.clone();
            tokio::spawn(async move { old.retire("its spec has changed").await });
        }
        let (connector, session_events) = (self.connector.clone(), self.session_events.clone());
        let session = ServerSession::new(
            server.clone(),
            key.client.clone(),
            connector,
            session_events,
            self.client_requests.clone(),
            sessions.closed,
        );
        sessions.by_key.insert(key.clone(), session.clone());
        Lease {
            session,
            per_call: is_per_call.then(|| (self.clone(), key)),
        }
    }

    /// Returns the status of a server's session. If the server has several sessions, an active
    /// session takes precedence. If the server has no session, returns the final status of its last
    /// session for a single call, or `None` if the pool has none.
    pub fn status(&self, id: &ServerId) -> Option<Status> {
        let sessions = self.lock();
        let mut server_sessions = sessions
            .by_key
            .iter()
            .filter(|(key, _)| key.server == *id)
            .map(|(_, session)| session);
        let Some(first) = server_sessions.next() else {
            return sessions.ended.get(id).cloned();
        };
        let active = std::iter::once(first)
            .chain(server_sessions)
            .find(|session| session.is_active());
        Some(active.unwrap_or(first).status())
    }

    /// Returns whether a session of a server runs now.
    pub fn is_active(&self, id: &ServerId) -> bool {
        let sessions = self.lock();
        sessions
            .by_key
            .iter()
            .any(|(key, session)| key.server == *id && session.is_active())
    }

    /// Returns the latest transitions of the servers' sessions.
    pub fn history(&self) -> &History {
        &self.session_events.history
    }

    /// Ends and removes all sessions of a server. The next request creates a new session.
    pub async fn remove(&self, id: &ServerId, reason: &str) {
        self.lock().ended.remove(id);
        self.remove_where(|key| key.server == *id, reason).await;
    }

    /// Ends and removes a client's own sessions with servers that are not shared. No other client
    /// may use the state that a server keeps in such a session.
    pub async fn remove_client(&self, client: &ClientName, reason: &str) {
        self.remove_where(|key| key.client.as_ref() == Some(client), reason)
            .await;
    }

    async fn remove_where(&self, is_removed: impl Fn(&SessionKey) -> bool, reason: &str) {
        let removed: BTreeMap<SessionKey, _> = {
            let mut sessions = self.lock();
            let (removed, remaining) = std::mem::take(&mut sessions.by_key)
                .into_iter()
                .partition(|(key, _)| is_removed(key));
            sessions.by_key = remaining;
            removed
        };
        join_all(removed.values().map(|session| session.retire(reason))).await;
    }

    /// Records the extensions that a client declares. If some of them are new, requests a refresh of
    /// the lists of the running servers, because a server may list more for a client with these
    /// extensions. Drawbridge tells modern servers of the new extensions with the next request, and
    /// legacy servers only in the handshake. A session over which clients have requested only lists
    /// therefore connects again. Any other session waits for its next start, because the server may
    /// keep state.
    pub fn add_client_extensions(&self, client: &ClientName, declared: &Extensions) {
        if self.connector.client_extensions().add(client, declared) {
            for session in self.active_sessions() {
                self.session_events
                    .list_changes
                    .insert(session.server().id.clone());
            }
        }
    }

    /// Drops the extensions of a client that was revoked.
    pub fn remove_client_extensions(&self, client: &ClientName) {
        self.connector.client_extensions().remove(client);
    }

    /// After a change of a server's spec, ends the sessions that no later request will use. If
    /// each call now has a session of its own, these are the sessions that were not made for a
    /// single call. If all clients now share a session, these are the sessions of single clients.
    pub async fn end_unused_sessions(&self, server: &RegisteredServer, reason: &str) {
        let is_unused = |key: &SessionKey| {
            key.server == server.id
                && key.call.is_none()
                && (server.spec.lifecycle == Lifecycle::Transient
                    || server.spec.isolation == Isolation::Shared && key.client.is_some())
        };
        let ended: Vec<_> = {
            let mut sessions = self.lock();
            let ended = sessions.by_key.extract_if(.., |key, _| is_unused(key));
            ended.map(|(_, session)| session).collect()
        };
        join_all(ended.iter().map(|session| session.retire(reason))).await;
    }

    /// Returns the sessions that run now.
    pub fn active_sessions(&self) -> Vec<Arc<ServerSession>> {
        self.lock()
            .by_key
            .values()
            .filter(|session| session.is_active())
            .cloned()
            .collect()
    }

    /// Returns the process ids of the local servers that run now.
    pub fn server_processes(&self) -> Vec<(ServerId, u32)> {
        self.lock()
            .by_key
            .iter()
            .filter_map(|(key, session)| Some((key.server.clone(), session.status().pid?)))
            .collect()
    }

    /// Returns the connector, which can also verify a server in a separate session.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// Ends all sessions concurrently. No server starts afterwards.
    pub async fn close(&self) {
        let ended = {
            let mut sessions = self.lock();
            sessions.closed = true;
            std::mem::take(&mut sessions.by_key)
        };
        join_all(
            ended
                .values()
                .map(|session| session.retire("Drawbridge is shutting down")),
        )
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
