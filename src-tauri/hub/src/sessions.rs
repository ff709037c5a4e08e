//! Client sessions: who is connected now, and the way back to them.

mod back;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

pub use back::Back;

use crate::{
    events::Events,
    model::{
        event::Event,
        ids::{ClientName, SessionId},
    },
    protocol::{ClientCapabilities, Initialized},
    random,
};

/// Sessions a client may have open; the oldest makes room for one more.
const MAX_PER_CLIENT: usize = 1_000;

/// One live connection of a client.
#[derive(Debug)]
pub struct ClientSession {
    pub id: SessionId,
    pub client: ClientName,
    /// The protocol revision agreed on at `initialize`.
    pub protocol_version: String,
    /// What the client called itself, such as `claude-code 2.1.329`.
    pub software: Option<String>,
    /// What it can do for servers.
    pub capabilities: ClientCapabilities,
    /// Cancelled when the session ends, and with it what it has in flight.
    pub ended: CancellationToken,
    outbox: back::Outbox,
    asked: back::Asked,
    number: u64,
}

/// The open client sessions.
pub struct ClientSessions {
    events: Events,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    sessions: HashMap<SessionId, Arc<ClientSession>>,
    opened: u64,
}

impl ClientSessions {
    pub fn new(events: Events) -> Self {
        Self { events, open: Mutex::default() }
    }

    /// Opens a session with an id that cannot be guessed.
    pub fn open(&self, client: ClientName, hello: &Initialized) -> Arc<ClientSession> {
        let mut open = self.lock();
        open.make_room(&client);
        open.opened += 1;
        let id = SessionId::new(random::token());
        let session = Arc::new(ClientSession {
            id: id.clone(),
            client,
            protocol_version: hello.protocol_version.clone(),
            software: hello.software.clone(),
            capabilities: hello.capabilities.clone(),
            ended: CancellationToken::new(),
            outbox: back::Outbox::default(),
            asked: back::Asked::default(),
            number: open.opened,
        });
        open.sessions.insert(id, session.clone());
        drop(open);
        self.events.tell(Event::ClientsChanged);
        session
    }

    pub fn get(&self, id: &SessionId) -> Option<Arc<ClientSession>> {
        self.lock().sessions.get(id).cloned()
    }

    /// Ends it; whether there was one.
    pub fn close(&self, id: &SessionId) -> bool {
        let closed = self.lock().sessions.remove(id);
        if let Some(session) = &closed {
            session.ended.cancel();
            self.events.tell(Event::ClientsChanged);
        }
        closed.is_some()
    }

    /// Ends all sessions of a client.
    pub fn close_all_of(&self, client: &ClientName) {
        self.lock().sessions.retain(|_, session| {
            let stays = session.client != *client;
            if !stays {
                session.ended.cancel();
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
        open.sessions.values().map(|session| &session.client).collect::<std::collections::HashSet<_>>().len()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn of<'a>(&'a self, client: &ClientName) -> impl Iterator<Item = &'a Arc<ClientSession>> {
        self.sessions.values().filter(move |session| session.client == *client)
    }

    fn make_room(&mut self, client: &ClientName) {
        if self.of(client).count() < MAX_PER_CLIENT {
            return;
        }
        let oldest = self.of(client).min_by_key(|session| session.number).map(|session| session.id.clone());
        if let Some(session) = oldest.and_then(|id| self.sessions.remove(&id)) {
            session.ended.cancel();
        }
    }
}
