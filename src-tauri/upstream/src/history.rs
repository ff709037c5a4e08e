//! The latest transitions of each server's sessions, kept while the hub runs.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use drawbridge_model::{ids::ServerId, server::Transition};

/// The most transitions that are kept for each server. After that, each new one replaces the oldest
/// one.
const MAX: usize = 50;

/// The transitions by server, the latest last. Cheap to clone.
#[derive(Clone, Default)]
pub struct History(Arc<Mutex<BTreeMap<ServerId, VecDeque<Transition>>>>);

impl History {
    pub(super) fn record(&self, id: &ServerId, transition: Transition) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = all.entry(id.clone()).or_default();
        if steps.len() == MAX {
            steps.pop_front();
        }
        steps.push_back(transition);
    }

    /// Returns the transitions of a server, the latest last.
    pub fn transitions(&self, id: &ServerId) -> Vec<Transition> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(id)
            .map(|steps| steps.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Deletes the transitions of a server that was removed.
    pub fn remove(&self, id: &ServerId) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id);
    }
}
