//! Limits how often a client may open a session.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use drawbridge_model::ids::ClientName;

use crate::token_bucket::{TokenBucket, round_up_to_seconds};

/// The sessions that a client may open at once, and in each minute. Opening a session costs as much
/// as a few calls, adds a line to the log, and updates the list of clients on each screen. Even a
/// client that opens a session for each call opens only a few a second. Only a client that
/// reconnects in a loop opens 100 a second.
const SESSIONS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(6_000).expect("not zero");
const MINUTE: Duration = Duration::from_secs(60);

/// Limits the sessions that each client opens.
#[derive(Debug, Default)]
pub(crate) struct OpeningLimit(Mutex<HashMap<ClientName, TokenBucket>>);

/// A client opens sessions too fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this client opens more than {SESSIONS_PER_MINUTE} sessions a minute, which is the limit; wait {wait_s} s, and use one session for many requests"
)]
pub struct TooManyOpened {
    /// After how many seconds the client may open a session again.
    pub wait_s: u64,
}

impl OpeningLimit {
    /// Counts a session that a client opens.
    ///
    /// # Errors
    /// Returns an error if the client has opened too many sessions.
    pub(crate) fn count(&self, client: &ClientName) -> Result<(), TooManyOpened> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !clients.contains_key(client) {
            // Remove the clients that have opened no session for a while.
            clients.retain(|_, bucket| !bucket.is_full());
        }
        let bucket = clients
            .entry(client.clone())
            .or_insert_with(|| TokenBucket::new(SESSIONS_PER_MINUTE, MINUTE));
        bucket.try_take().map_err(|wait| TooManyOpened {
            wait_s: round_up_to_seconds(wait),
        })
    }
}
