//! Limits how often the arguments of a client's denied requests are stored, so that a client whose
//! requests are denied cannot fill the disk. The digests of the arguments are always stored.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use drawbridge_model::ids::ClientName;
use tokio::time::Instant;

/// How many denied requests of a client are stored with their arguments in a minute, at most.
const MAX_STORED: u32 = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// From this number of clients on, the entries of clients whose minute is over are dropped.
const CLEANUP_THRESHOLD: usize = 100;

/// Counts the denied requests of each client.
#[derive(Default)]
pub(super) struct DeniedArgumentsLimit(Mutex<HashMap<ClientName, DeniedMinute>>);

struct DeniedMinute {
    began: Instant,
    denied: u32,
}

impl DeniedArgumentsLimit {
    /// Counts a denied request of a client. Returns whether the request's arguments may be stored.
    pub(super) fn try_acquire(&self, client: &ClientName) -> bool {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= CLEANUP_THRESHOLD {
            clients.retain(|_, minute| minute.began.elapsed() < MINUTE);
        }
        let now = Instant::now();
        let new = || DeniedMinute {
            began: now,
            denied: 0,
        };
        let minute = clients.entry(client.clone()).or_insert_with(new);
        if minute.began.elapsed() >= MINUTE {
            *minute = new();
        }
        minute.denied = minute.denied.saturating_add(1);
        minute.denied <= MAX_STORED
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn arguments_are_stored_for_ten_denied_requests_per_client_and_minute() {
        let limit = DeniedArgumentsLimit::default();
        let (first, second) = (ClientName::new("first"), ClientName::new("second"));
        let count = |client| (0..1_000).filter(|_| limit.try_acquire(client)).count();
        assert_eq!((count(&first), count(&second)), (10, 10));
        assert_eq!(count(&first), 0);
        advance(MINUTE).await;
        assert_eq!(count(&first), 10);
    }
}
