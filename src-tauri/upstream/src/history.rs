//! The latest transitions of each server's sessions, kept while the hub runs.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use drawbridge_model::{
    ids::ServerId,
    server::{ServerState, Transition},
};

/// The most transitions that are kept for each server. Each further transition replaces the oldest
/// transition.
const MAX_TRANSITIONS: usize = 50;

/// The transitions by server, the latest last. Cheap to clone.
#[derive(Clone, Default)]
pub struct History(Arc<Mutex<BTreeMap<ServerId, ServerHistory>>>);

#[derive(Default)]
struct ServerHistory {
    transitions: VecDeque<Transition>,
    counts: SessionCounts,
}

/// How often the sessions of a server became active (`created`), and how often a start failed or
/// the server crashed (`errors`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    pub created: u64,
    pub errors: u64,
}

impl History {
    pub(super) fn record(&self, id: &ServerId, transition: Transition, is_failure: bool) {
        let mut histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let history = histories.entry(id.clone()).or_default();
        history.counts.created += u64::from(transition.state == ServerState::Active);
        history.counts.errors += u64::from(is_failure);
        let transitions = &mut history.transitions;
        if transitions.len() == MAX_TRANSITIONS {
            transitions.pop_front();
        }
        transitions.push_back(transition);
    }

    /// Returns the transitions of a server, the latest last.
    pub fn transitions(&self, id: &ServerId) -> Vec<Transition> {
        let histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        histories
            .get(id)
            .map(|history| history.transitions.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Returns the counts of each server that had a transition.
    pub fn counts(&self) -> BTreeMap<ServerId, SessionCounts> {
        let histories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        histories
            .iter()
            .map(|(id, history)| (id.clone(), history.counts))
            .collect()
    }

    /// Deletes the transitions and the counts of a server that was removed.
    pub fn remove(&self, id: &ServerId) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id);
    }
}
