//! Client sessions: who is connected now, and the way back to them.

mod back;
mod in_flight;
mod issued;
mod reach;
mod rounds;
mod subscription;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

pub use back::{Ask, Back};
pub use in_flight::{Cut, Flight};
pub use reach::Reach;
pub use rounds::{Rounds, Try};
pub use subscription::Subscription;

use crate::{
    events::Events,
    model::{
        event::Event,
        ids::{ClientName, SessionId},
    },
    protocol::{ClientHello, Era, LogLevel},
    random,
};

/// Sessions a client may have open; the oldest makes room for one more.
const MAX_PER_CLIENT: usize = 1_000;
/// After that long without a request a client without sessions has left.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// One live connection of a client. One without sessions has one too, for as long as it says the same of itself: it is
/// what a decision "for this session" holds for.
#[derive(Debug)]
pub struct ClientSession {
    pub id: SessionId,
    pub client: ClientName,
    /// What the client says of itself.
    pub hello: ClientHello,
    /// What of the hub it sees.
    pub reach: Reach,
    /// What it wants to hear, where it is nothing but that.
    pub subscription: Option<Subscription>,
    /// Cancelled when the session ends, and with it what it has in flight.
    pub ended: CancellationToken,
    log_level: Mutex<Option<LogLevel>>,
    in_flight: in_flight::InFlight,
    outbox: back::Outbox,
    asked: back::Asked,
    /// Shared with what the same client listens to in sessions of its own.
    issued: Arc<issued::Issued>,
    number: u64,
    last_used: Mutex<Instant>,
}

impl ClientSession {
    /// The level of log messages that it has set.
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

    fn touch(&self) {
        *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        let last_used = *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        last_used.elapsed() > IDLE
    }
}

/// The open client sessions.
pub struct ClientSessions {
    events: Events,
    open: Mutex<Open>,
}

/// A client, what it sees, and what it says of itself.
type StatelessKey = (ClientName, Reach, String);

fn stateless_key(client: &ClientName, hello: &ClientHello, reach: &Reach) -> StatelessKey {
    let said = format!(
        "{}{}",
        hello.capabilities.raw(),
        hello.info.as_ref().map_or("", |info| info.get())
    );
    (client.clone(), reach.clone(), said)
}

#[derive(Default)]
struct Open {
    sessions: HashMap<SessionId, Arc<ClientSession>>,
    /// Those of clients without sessions, by what such a client says of itself.
    stateless: HashMap<StatelessKey, SessionId>,
    opened: u64,
}

impl ClientSessions {
    pub fn new(events: Events) -> Self {
        Self {
            events,
            open: Mutex::default(),
        }
    }

    /// Opens a session with an id that cannot be guessed.
    pub fn open(&self, client: ClientName, hello: ClientHello, reach: Reach) -> Arc<ClientSession> {
        let session = self.lock().open(client, hello, reach, None, Arc::default());
        self.events.tell(Event::ClientsChanged);
        session
    }

    /// Opens one that only listens; it is to be closed by whoever opened it.
    pub fn listen(
        &self,
        client: ClientName,
        hello: ClientHello,
        reach: Reach,
        subscription: Subscription,
    ) -> Arc<ClientSession> {
        let key = stateless_key(&client, &hello, &reach);
        let mut open = self.lock();
        let of_requests = open
            .stateless
            .get(&key)
            .and_then(|id| open.sessions.get(id));
        let issued = of_requests
            .map(|session| session.issued.clone())
            .unwrap_or_default();
        open.open(client, hello, reach, Some(subscription), issued)
    }

    /// The session of a client without sessions, and whether it is new.
    pub fn stateless(
        &self,
        client: &ClientName,
        hello: &ClientHello,
        reach: &Reach,
    ) -> (Arc<ClientSession>, bool) {
        let key = stateless_key(client, hello, reach);
        let mut open = self.lock();
        if let Some(session) = open
            .stateless
            .get(&key)
            .and_then(|id| open.sessions.get(id))
        {
            session.touch();
            return (session.clone(), false);
        }
        open.end_idle();
        let session = open.open(
            client.clone(),
            hello.clone(),
            reach.clone(),
            None,
            Arc::default(),
        );
        open.stateless.insert(key, session.id.clone());
        drop(open);
        self.events.tell(Event::ClientsChanged);
        (session, true)
    }

    pub fn get(&self, id: &str) -> Option<Arc<ClientSession>> {
        self.lock().sessions.get(id).cloned()
    }

    /// Ends it; whether there was one.
    pub fn close(&self, id: &SessionId) -> bool {
        let closed = self.lock().sessions.remove(id);
        if let Some(session) = &closed {
            session.end();
            self.events.tell(Event::ClientsChanged);
        }
        closed.is_some()
    }

    /// Ends all sessions of a client.
    pub fn close_all_of(&self, client: &ClientName) {
        self.lock().sessions.retain(|_, session| {
            let stays = session.client != *client;
            if !stays {
                session.end();
            }
            stays
        });
        self.events.tell(Event::ClientsChanged);
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<ClientSession>> {
        self.lock().sessions.values().cloned().collect()
    }

    pub fn count(&self) -> usize {
        self.lock().sessions.len()
    }

    pub fn count_of(&self, client: &ClientName) -> usize {
        self.lock().of(client).count()
    }

    /// Clients with at least one open session.
    pub fn count_clients(&self) -> usize {
        let open = self.lock();
        open.sessions
            .values()
            .map(|session| &session.client)
            .collect::<std::collections::HashSet<_>>()
            .len()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn open(
        &mut self,
        client: ClientName,
        hello: ClientHello,
        reach: Reach,
        subscription: Option<Subscription>,
        issued: Arc<issued::Issued>,
    ) -> Arc<ClientSession> {
        self.make_room(&client);
        self.opened += 1;
        let session = Arc::new(ClientSession {
            id: SessionId::new(random::token()),
            client,
            hello,
            reach,
            subscription,
            ended: CancellationToken::new(),
            log_level: Mutex::default(),
            in_flight: in_flight::InFlight::default(),
            outbox: back::Outbox::default(),
            asked: back::Asked::default(),
            issued,
            number: self.opened,
            last_used: Mutex::new(Instant::now()),
        });
        self.sessions.insert(session.id.clone(), session.clone());
        session
    }

    /// A client without sessions does not say when it leaves.
    fn end_idle(&mut self) {
        self.sessions.retain(|_, session| {
            let stays = session.hello.era == Era::Legacy
                || session.subscription.is_some()
                || !session.is_idle();
            if !stays {
                session.end();
            }
            stays
        });
        self.stateless
            .retain(|_, id| self.sessions.contains_key(id));
    }

    fn of<'a>(&'a self, client: &ClientName) -> impl Iterator<Item = &'a Arc<ClientSession>> {
        self.sessions
            .values()
            .filter(move |session| session.client == *client)
    }

    fn make_room(&mut self, client: &ClientName) {
        if self.of(client).count() < MAX_PER_CLIENT {
            return;
        }
        let oldest = self
            .of(client)
            .min_by_key(|session| session.number)
            .map(|session| session.id.clone());
        if let Some(session) = oldest.and_then(|id| self.sessions.remove(&id)) {
            session.end();
        }
    }
}
