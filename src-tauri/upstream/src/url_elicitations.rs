//! URL elicitations: pages that a server has asked a person to visit. Remembers the client to
//! notify when an elicitation is complete.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use drawbridge_jsonrpc::json::RawObject;
use drawbridge_model::protocol::input::InputRequest;
use drawbridge_sessions::ClientSession;
use serde_json::value::RawValue;

/// The most elicitations that are remembered. Each further elicitation replaces the oldest.
const MAX_ELICITATIONS: usize = 256;

/// The server's ids of elicitations, each with the session of the client that was asked, the latest
/// last.
#[derive(Default)]
pub(super) struct UrlElicitations(Mutex<VecDeque<(String, Weak<ClientSession>)>>);

impl UrlElicitations {
    /// Records that a server has asked this client session to have a URL visited. Ignores requests
    /// without an elicitation id.
    pub(super) fn record(&self, request: &InputRequest, session: &Arc<ClientSession>) {
        if let Some(id) = request.params.as_deref().and_then(read_elicitation_id) {
            let mut elicitations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if elicitations.len() == MAX_ELICITATIONS {
                elicitations.pop_front();
            }
            elicitations.push_back((id, Arc::downgrade(session)));
        }
    }

    /// Removes an elicitation, and returns the client session to notify. Returns `None` if the
    /// elicitation is unknown or already complete, or if the session has ended.
    pub(super) fn complete(&self, params: &RawValue) -> Option<Arc<ClientSession>> {
        let id = read_elicitation_id(params)?;
        let mut elicitations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = elicitations.iter().position(|(other, _)| *other == id)?;
        elicitations.remove(index)?.1.upgrade()
    }
}

fn read_elicitation_id(params: &RawValue) -> Option<String> {
    RawObject::parse(params).ok()?.get_string("elicitationId")
}
