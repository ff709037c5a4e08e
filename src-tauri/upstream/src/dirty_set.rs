//! Changes that wait for the one task that processes them.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

/// A set of changed items, with a notification for the one task that processes them. If an item is
/// inserted again before it is taken, nothing changes.
pub struct DirtySet<T>(Arc<(Mutex<BTreeSet<T>>, Notify)>);

impl<T> Clone for DirtySet<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for DirtySet<T> {
    fn default() -> Self {
        Self(Arc::new((Mutex::new(BTreeSet::new()), Notify::new())))
    }
}

impl<T: Ord> DirtySet<T> {
    pub fn insert(&self, item: T) {
        self.0
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(item);
        self.0.1.notify_one();
    }

    /// Waits until an item has been inserted since the last wait.
    pub async fn wait(&self) {
        self.0.1.notified().await;
    }

    /// Takes the items that were inserted since the last call.
    pub fn take(&self) -> BTreeSet<T> {
        std::mem::take(&mut *self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
