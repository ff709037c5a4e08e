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

/// Subscriptions by server and URI. One of a session that is gone counts no more. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Subscriptions(Arc<Mutex<All>>);

#[derive(Default)]
struct All {
    subscribers: HashMap<Key, HashMap<SessionId, Weak<ClientSession>>>,
    /// Sessions whose end is waited for.
    watched: HashSet<SessionId>,
}

impl Subscriptions {
    /// Adds one; whether the end of its session is not waited for yet. From now on it counts as waited for.
    pub(super) fn add(&self, server: &ServerId, uri: &str, session: &Arc<ClientSession>) -> bool {
        let mut all = self.lock();
        let subscribers = all.subscribers.entry((server.clone(), uri.to_owned())).or_default();
        subscribers.insert(session.id.clone(), Arc::downgrade(session));
        all.watched.insert(session.id.clone())
    }

    /// Removes one; whether others are left.
    pub(super) fn remove(&self, server: &ServerId, uri: &str, session: &ClientSession) -> bool {
        let mut all = self.lock();
        let key = (server.clone(), uri.to_owned());
        let Some(subscribers) = all.subscribers.get_mut(&key) else { return false };
        subscribers.remove(&session.id);
        subscribers.retain(|_, session| session.strong_count() > 0);
        let left = !subscribers.is_empty();
        if !left {
            all.subscribers.remove(&key);
        }
        left
    }

    /// What a session that has ended was subscribed to.
    pub(super) fn left_by(&self, session: &ClientSession) -> Vec<String> {
        let mut all = self.lock();
        all.watched.remove(&session.id);
        let theirs = all.subscribers.iter().filter(|(_, subscribers)| subscribers.contains_key(&session.id));
        theirs.map(|((_, uri), _)| uri.clone()).collect()
    }

    fn of(&self, server: &ServerId, uri: &str) -> Vec<Arc<ClientSession>> {
        let all = self.lock();
        let subscribers = all.subscribers.get(&(server.clone(), uri.to_owned()));
        subscribers.into_iter().flat_map(HashMap::values).filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Router {
    /// A server says by itself that something has changed: those whom it concerns hear of it.
    pub fn announce(&self, announced: &Announced) {
        let Announced { server, method, params } = announced;
        let Ok(object) = RawObject::parse(params) else { return };
        let sessions = match (method.as_str(), object.string("uri"), object.string("taskId")) {
            ("notifications/resources/updated", Some(uri), _) => {
                self.results.forget_of(server);
                self.subscriptions.of(server, &uri)
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
