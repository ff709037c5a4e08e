//! Pages that a server has sent a person to: who is told when the person is done there.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use serde_json::value::RawValue;

use crate::{model::json::RawObject, protocol::input::InputRequest, sessions::ClientSession};

/// Visits that are remembered; then the oldest is forgotten.
const MAX: usize = 256;

/// The visits, by the server's ids of its elicitations.
#[derive(Default)]
pub(super) struct Visits(Mutex<VecDeque<(String, Weak<ClientSession>)>>);

impl Visits {
    /// Notes whom a server asks to have a page visited.
    pub(super) fn note(&self, request: &InputRequest, session: &Arc<ClientSession>) {
        if let Some(id) = request.params.as_deref().and_then(elicitation_id) {
            let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if visits.len() == MAX {
                visits.pop_front();
            }
            visits.push_back((id, Arc::downgrade(session)));
        }
    }

    /// Whom it concerns that a visit is over; it is over once.
    pub(super) fn done(&self, params: &RawValue) -> Option<Arc<ClientSession>> {
        let id = elicitation_id(params)?;
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = visits.iter().position(|(known, _)| *known == id)?;
        visits.remove(at)?.1.upgrade()
    }
}

fn elicitation_id(params: &RawValue) -> Option<String> {
    RawObject::parse(params).ok()?.string("elicitationId")
}
