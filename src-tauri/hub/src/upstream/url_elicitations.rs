//! Pages that a server has asked a person to visit, and the client to notify when a visit is over.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use serde_json::value::RawValue;

use crate::{model::json::RawObject, protocol::input::InputRequest, sessions::ClientSession};

/// The most visits that are kept. After that, each new visit replaces the oldest one.
const MAX: usize = 256;

/// The visits, by the server's elicitation ids.
#[derive(Default)]
pub(super) struct UrlElicitations(Mutex<VecDeque<(String, Weak<ClientSession>)>>);

impl UrlElicitations {
    /// Notes which client a server has asked to have a page visited.
    pub(super) fn record(&self, request: &InputRequest, session: &Arc<ClientSession>) {
        if let Some(id) = request.params.as_deref().and_then(elicitation_id) {
            let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if visits.len() == MAX {
                visits.pop_front();
            }
            visits.push_back((id, Arc::downgrade(session)));
        }
    }

    /// Ends a visit, and returns the client session to notify. Returns `None` if the visit is
    /// unknown or has already ended.
    pub(super) fn complete(&self, params: &RawValue) -> Option<Arc<ClientSession>> {
        let id = elicitation_id(params)?;
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = visits.iter().position(|(known, _)| *known == id)?;
        visits.remove(at)?.1.upgrade()
    }
}

fn elicitation_id(params: &RawValue) -> Option<String> {
    RawObject::parse(params).ok()?.get_string("elicitationId")
}
