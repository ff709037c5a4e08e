//! Client sessions: the connected clients, the handles that reach them, the requests that wait for
//! their input, and the limits of their sessions and requests. This crate performs no I/O.

mod client_handle;
mod client_request;
mod in_flight;
mod input_required;
mod issued_uris;
mod message_queue;
mod opening_limit;
mod request_budget;
mod scope;
mod subscription;
mod token_bucket;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    event::{Event, Events},
    ids::{ClientName, SessionId},
    protocol::{ClientHello, Era, LogLevel},
    random,
};
use opening_limit::OpeningLimit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use client_handle::{ClientHandle, PendingQuestion};
pub use client_request::ClientRequest;
pub use in_flight::{Aborted, InFlightRequest, NotBegun};
pub use input_required::{ParkedRequests, StatelessRequest};
pub use message_queue::{
    MAX_WAITING_BYTES, MessageReader, MessageSender, Undelivered, message_stream,
};
pub use opening_limit::TooManyOpened;
pub use request_budget::{BudgetExceeded, RequestBudget, RequestPermit};
pub use scope::{ClientScope, ServerScope};
pub use subscription::Subscription;
pub use token_bucket::{TokenBucket, round_up_to_seconds};

/// The most sessions that a client may have open. If a client opens more, its oldest session ends.
const MAX_PER_CLIENT: usize = 1_000;
/// A modern client without a request for this long counts as disconnected.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// A client that has not read its changed tools for this long counts as ignoring `list_changed`.
const LIST_CHANGE_TIMEOUT: Duration = Duration::from_secs(60);

/// A live connection of a client. The protocol gives a modern client no session. Drawbridge opens a
/// session for the client, so that a decision "for this session" can apply. The session lasts as
/// long as the client introduces itself in the same way and is not idle for too long.
#[derive(Debug)]
pub struct ClientSession {
    pub id: SessionId,
    pub client: ClientName,
    /// The client's description of itself: name, version, capabilities and era.
    pub hello: ClientHello,
    /// The part of the catalog that the client can see.
    pub scope: ClientScope,
    /// The subscription, if the session exists only to receive notifications.
    pub subscription: Option<Subscription>,
    /// Cancelled when the session ends. The requests in flight then end too.
    pub ended: CancellationToken,
    log_level: Mutex<Option<LogLevel>>,
    in_flight: in_flight::AbortHandles,
    outbox: client_handle::Outbox,
    hub_requests: client_handle::HubRequests,
    /// Shared with the subscriptions of the same modern client.
    issued_uris: Arc<issued_uris::IssuedUris>,
    /// The position of the session in the order in which sessions were opened.
    number: u64,
    last_used: Mutex<Instant>,
    /// When the client was first notified of a change of its tools, if it has not read them since.
    unread_tool_change: Mutex<Option<Instant>>,
}

impl ClientSession {
    /// Returns the minimum level of log messages, if the client has set one.
    pub fn log_level(&self) -> Option<LogLevel> {
        *self
            .log_level
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_log_level(&self, level: LogLevel) {
        *self
            .log_level
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Records that the client uses the session.
    fn touch(&self) {
        *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Records that the client was notified that its tools have changed.
    pub fn record_tool_change(&self) {
        self.unread_tool_change().get_or_insert_with(Instant::now);
    }

    /// Records that the client reads its tools.
    pub fn record_tools_read(&self) {
        *self.unread_tool_change() = None;
    }

    /// Returns whether the client was notified of changed tools more than a minute ago, and has
    /// not read them since.
    pub fn ignores_tool_changes(&self) -> bool {
        self.unread_tool_change()
            .is_some_and(|at| at.elapsed() > LIST_CHANGE_TIMEOUT)
    }

    fn unread_tool_change(&self) -> MutexGuard<'_, Option<Instant>> {
        self.unread_tool_change
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        let last_used = *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        last_used.elapsed() > IDLE_TIMEOUT
    }
}

/// The open client sessions.
pub struct ClientSessions {
    events: Events,
    budget: RequestBudget,
    opening_limit: OpeningLimit,
    table: Mutex<SessionTable>,
}

/// A client, its scope, and its description of itself (see [`stateless_key`]).
type StatelessKey = (ClientName, ClientScope, String);

fn stateless_key(client: &ClientName, hello: &ClientHello, scope: &ClientScope) -> StatelessKey {
    let description = format!(
        "{}{}",
        hello.capabilities.raw(),
        hello.info.as_ref().map_or("", |info| info.get())
    );
    (client.clone(), scope.clone(), description)
}

#[derive(Default)]
struct SessionTable {
    sessions: HashMap<SessionId, Arc<ClientSession>>,
    /// The sessions of modern clients, by client, scope and description.
    stateless: HashMap<StatelessKey, SessionId>,
    /// The number of sessions that were opened so far.
    opened: u64,
}

impl ClientSessions {
    pub fn new(events: Events) -> Self {
        Self {
            events,
            budget: RequestBudget::default(),
            opening_limit: OpeningLimit::default(),
            table: Mutex::default(),
        }
    }

    /// Returns the limits of all requests in flight.
    pub fn budget(&self) -> &RequestBudget {
        &self.budget
    }

    /// Opens a session with an id that cannot be guessed.
    ///
    /// # Errors
    /// Returns an error if the client opens sessions too fast.
    pub fn open(
        &self,
        client: ClientName,
        hello: ClientHello,
        scope: ClientScope,
    ) -> Result<Arc<ClientSession>, TooManyOpened> {
        self.opening_limit.count(&client)?;
        let session = self.lock().open(client, hello, scope, None, Arc::default());
        self.events.publish(Event::ClientsChanged);
        Ok(session)
    }

    /// Opens a session that only receives notifications. The caller has to close it.
    ///
    /// # Errors
    /// Returns an error if the client opens sessions too fast.
    pub fn open_subscription(
        &self,
        client: ClientName,
        hello: ClientHello,
        scope: ClientScope,
        subscription: Subscription,
    ) -> Result<Arc<ClientSession>, TooManyOpened> {
        self.opening_limit.count(&client)?;
        let key = stateless_key(&client, &hello, &scope);
        let mut table = self.lock();
        let request_session = table
            .stateless
            .get(&key)
            .and_then(|id| table.sessions.get(id));
        let issued_uris = request_session
            .map(|session| session.issued_uris.clone())
            .unwrap_or_default();
        Ok(table.open(client, hello, scope, Some(subscription), issued_uris))
    }

    /// Returns the session of a modern client, and whether the session is new.
    ///
    /// # Errors
    /// Returns an error if the client opens sessions too fast.
    pub fn get_or_open_stateless(
        &self,
        client: &ClientName,
        hello: &ClientHello,
        scope: &ClientScope,
    ) -> Result<(Arc<ClientSession>, bool), TooManyOpened> {
        let key = stateless_key(client, hello, scope);
        let mut table = self.lock();
        if let Some(session) = table
            .stateless
            .get(&key)
            .and_then(|id| table.sessions.get(id))
            // If the session was idle for too long, its approvals have ended, even if the client
            // returns.
            && (!session.is_idle() || session.has_in_flight())
        {
            session.touch();
            return Ok((session.clone(), false));
        }
        self.opening_limit.count(client)?;
        table.end_idle();
        let session = table.open(
            client.clone(),
            hello.clone(),
            scope.clone(),
            None,
            Arc::default(),
        );
        table.stateless.insert(key, session.id.clone());
        drop(table);
        self.events.publish(Event::ClientsChanged);
        Ok((session, true))
    }

    pub fn get(&self, id: &str) -> Option<Arc<ClientSession>> {
        self.lock().sessions.get(id).cloned()
    }

    /// Ends a session. Returns whether the session existed.
    pub fn close(&self, id: &SessionId) -> bool {
        let closed = self.lock().sessions.remove(id);
        if let Some(session) = &closed {
            session.end();
            self.events.publish(Event::ClientsChanged);
        }
        closed.is_some()
    }

    /// Ends all sessions of a client.
    pub fn close_client(&self, client: &ClientName) {
        self.lock().sessions.retain(|_, session| {
            let stays = session.client != *client;
            if !stays {
                session.end();
            }
            stays
        });
        self.events.publish(Event::ClientsChanged);
    }

    /// Returns all open sessions.
    pub fn all(&self) -> Vec<Arc<ClientSession>> {
        self.lock().sessions.values().cloned().collect()
    }

    pub fn count(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Returns the number of sessions that were opened so far.
    pub fn count_opened(&self) -> u64 {
        self.lock().opened
    }

    pub fn count_for_client(&self, client: &ClientName) -> usize {
        self.lock().client_sessions(client).count()
    }

    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTable {
    fn open(
        &mut self,
        client: ClientName,
        hello: ClientHello,
        scope: ClientScope,
        subscription: Option<Subscription>,
        issued_uris: Arc<issued_uris::IssuedUris>,
    ) -> Arc<ClientSession> {
        self.make_room(&client);
        self.opened += 1;
        let session = Arc::new(ClientSession {
            id: SessionId::new(random::token()),
            client,
            hello,
            scope,
            subscription,
            ended: CancellationToken::new(),
            log_level: Mutex::default(),
            in_flight: in_flight::AbortHandles::default(),
            outbox: client_handle::Outbox::default(),
            hub_requests: client_handle::HubRequests::default(),
            issued_uris,
            number: self.opened,
            last_used: Mutex::new(Instant::now()),
            unread_tool_change: Mutex::default(),
        });
        self.sessions.insert(session.id.clone(), session.clone());
        session
    }

    /// Ends the idle sessions of modern clients, which do not say when they disconnect.
    fn end_idle(&mut self) {
        self.sessions.retain(|_, session| {
            let stays = session.hello.era == Era::Legacy
                || session.subscription.is_some()
                || session.has_in_flight()
                || !session.is_idle();
            if !stays {
                session.end();
            }
            stays
        });
        self.stateless
            .retain(|_, id| self.sessions.contains_key(id));
    }

    fn client_sessions<'a>(
        &'a self,
        client: &ClientName,
    ) -> impl Iterator<Item = &'a Arc<ClientSession>> {
        self.sessions
            .values()
            .filter(move |session| session.client == *client)
    }

    fn make_room(&mut self, client: &ClientName) {
        if self.client_sessions(client).count() < MAX_PER_CLIENT {
            return;
        }
        let oldest = self
            .client_sessions(client)
            .min_by_key(|session| session.number)
            .map(|session| session.id.clone());
        if let Some(session) = oldest.and_then(|id| self.sessions.remove(&id)) {
            session.end();
        }
    }
}

#[cfg(test)]
mod tests;
