//! Who wants to hear when a resource changes.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::Router;
use crate::{
    model::{
        ids::{ServerId, SessionId},
        json::RawObject,
    },
    sessions::{Back, ClientSession},
    upstream::Announced,
};

type Key = (ServerId, String);

/// Resources that a session may be subscribed to.
const MAX_PER_SESSION: usize = 1_000;

/// Subscriptions by server and URI. One of a session that is gone counts no more. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Subscriptions(Arc<Mutex<All>>);

#[derive(Default)]
struct All {
    subscribers: HashMap<Key, HashMap<SessionId, Weak<ClientSession>>>,
    /// What each session is subscribed to. Its end is waited for.
    by_session: HashMap<SessionId, HashSet<Key>>,
}

impl Subscriptions {
    /// Adds one; whether the end of its session is not waited for yet. From now on it counts as waited for.
    pub(super) fn add(&self, server: &ServerId, uri: &str, session: &Arc<ClientSession>) -> bool {
        let mut all = self.lock();
        let key = (server.clone(), uri.to_owned());
        all.subscribers
            .entry(key.clone())
            .or_default()
            .insert(session.id.clone(), Arc::downgrade(session));
        let is_new = !all.by_session.contains_key(&session.id);
        all.by_session
            .entry(session.id.clone())
            .or_default()
            .insert(key);
        is_new
    }

    /// Whether a session may subscribe to one more resource.
    pub(super) fn has_room(&self, session: &ClientSession) -> bool {
        self.lock()
            .by_session
            .get(&session.id)
            .is_none_or(|keys| keys.len() < MAX_PER_SESSION)
    }

    /// Returns the server at which a session is subscribed to that URI.
    pub(super) fn server_of(&self, uri: &str, session: &ClientSession) -> Option<ServerId> {
        let all = self.lock();
        let mut keys = all.by_session.get(&session.id)?.iter();
        keys.find(|(_, subscribed)| subscribed == uri)
            .map(|(server, _)| server.clone())
    }

    /// Removes one; whether others are left.
    pub(super) fn remove(&self, server: &ServerId, uri: &str, session: &ClientSession) -> bool {
        let mut all = self.lock();
        let key = (server.clone(), uri.to_owned());
        if let Some(keys) = all.by_session.get_mut(&session.id) {
            keys.remove(&key);
        }
        let Some(subscribers) = all.subscribers.get_mut(&key) else {
            return false;
        };
        subscribers.remove(&session.id);
        subscribers.retain(|_, session| session.strong_count() > 0);
        let left = !subscribers.is_empty();
        if !left {
            all.subscribers.remove(&key);
        }
        left
    }

    /// What a session that has ended was subscribed to.
    pub(super) fn left_by(&self, session: &ClientSession) -> HashSet<Key> {
        self.lock()
            .by_session
            .remove(&session.id)
            .unwrap_or_default()
    }

    fn of(&self, server: &ServerId, uri: &str) -> Vec<Arc<ClientSession>> {
        let all = self.lock();
        let subscribers = all.subscribers.get(&(server.clone(), uri.to_owned()));
        subscribers
            .into_iter()
            .flat_map(HashMap::values)
            .filter_map(Weak::upgrade)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Router {
    /// A server says by itself that something has changed: those whom it concerns hear of it.
    pub fn announce(&self, announced: &Announced) {
        let Announced {
            server,
            method,
            params,
        } = announced;
        let Ok(object) = RawObject::parse(params) else {
            return;
        };
        let sessions = match (
            method.as_str(),
            object.string("uri"),
            object.string("taskId"),
        ) {
            ("notifications/resources/updated", Some(uri), _) => {
                self.results.forget_of(server);
                let mut subscribers = self.subscriptions.of(server, &uri);
                // Its profile may have changed since.
                subscribers.retain(|session| self.catalog.reaches_resources(session, server));
                subscribers
            }
            (_, _, Some(task)) => self.tasks.sessions(server, &task),
            _ => Vec::new(),
        };
        for session in sessions {
            Back::at_any_time(session).notify(method, Some(params));
        }
    }
}

#[cfg(test)]
mod tests;
