//! The resources to which client sessions are subscribed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use drawbridge_model::ids::{ClientName, ServerId, SessionId};
use drawbridge_sessions::ClientSession;

use super::Router;
use crate::policy::PermittedRequest;

type SubscriptionKey = (ServerId, String);

/// The most resources to which one session may be subscribed.
const MAX_PER_SESSION: usize = 1_000;

/// Subscriptions by server and URI. Subscriptions of dropped sessions are ignored. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Subscriptions(Arc<Mutex<SubscriptionTable>>);

#[derive(Default)]
struct SubscriptionTable {
    subscribers: HashMap<SubscriptionKey, HashMap<SessionId, Weak<ClientSession>>>,
    /// The subscriptions of each session. For each session in this map, a Tokio task waits for the
    /// session's end.
    by_session: HashMap<SessionId, HashSet<SubscriptionKey>>,
}

impl Subscriptions {
    /// Adds a subscription. Returns `true` for the first subscription of a session: the caller then
    /// has to wait for the end of the session and remove its subscriptions.
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

    /// Returns whether a session may subscribe to one more resource.
    pub(super) fn has_room(&self, session: &ClientSession) -> bool {
        self.lock()
            .by_session
            .get(&session.id)
            .is_none_or(|keys| keys.len() < MAX_PER_SESSION)
    }

    /// Returns the server at which a session is subscribed to this URI.
    pub(super) fn server_of(&self, uri: &str, session: &ClientSession) -> Option<ServerId> {
        let all = self.lock();
        let mut keys = all.by_session.get(&session.id)?.iter();
        keys.find(|(_, subscribed)| subscribed == uri)
            .map(|(server, _)| server.clone())
    }

    /// Removes a subscription. Returns whether other sessions are still subscribed to the resource.
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
        let has_subscribers = !subscribers.is_empty();
        if !has_subscribers {
            all.subscribers.remove(&key);
        }
        has_subscribers
    }

    /// Takes the list of subscriptions of a session that has ended. The caller then has to
    /// [`Self::remove`] each subscription.
    pub(super) fn take_session(&self, session: &ClientSession) -> HashSet<SubscriptionKey> {
        self.lock()
            .by_session
            .remove(&session.id)
            .unwrap_or_default()
    }

    fn subscribers(&self, server: &ServerId, uri: &str) -> Vec<Arc<ClientSession>> {
        let all = self.lock();
        let subscribers = all.subscribers.get(&(server.clone(), uri.to_owned()));
        subscribers
            .into_iter()
            .flat_map(HashMap::values)
            .filter_map(Weak::upgrade)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, SubscriptionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Router {
    /// Returns the client sessions that are subscribed to a resource, and may still use its server.
    pub fn subscribers(&self, server: &ServerId, uri: &str) -> Vec<Arc<ClientSession>> {
        let mut subscribers = self.subscriptions.subscribers(server, uri);
        // The client's profile may have changed since the subscription.
        subscribers.retain(|session| self.catalog.can_use_resources(session, server));
        subscribers
    }

    /// Returns the client sessions in which a task began at the server, each with the call that
    /// started the task.
    pub fn task_sessions(
        &self,
        server: &ServerId,
        task: &str,
    ) -> Vec<(Arc<ClientSession>, PermittedRequest)> {
        self.tasks.task_sessions(server, task)
    }

    /// Drops the cached results of a server, because one of its resources has changed.
    pub fn drop_cached_results(&self, server: &ServerId) {
        self.result_cache.remove_server(server);
    }

    /// Drops the cached results of a client.
    pub fn drop_client_results(&self, client: &ClientName) {
        self.result_cache.remove_client(client);
    }
}

#[cfg(test)]
mod tests;
