//! Limits how many arguments of denied requests are stored, so that a client whose requests are
//! denied cannot fill the disk. The digests of the arguments are always stored.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use drawbridge_model::ids::ClientName;
use tokio::time::Instant;

/// The most denied requests of a client in a minute whose arguments are stored.
const MAX_STORED: u32 = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// From this number of clients on, the entries of clients whose minute is over are dropped.
const MAX_CLIENTS: usize = 100;

/// Counts the denied requests of each client.
#[derive(Default)]
pub(super) struct DeniedArguments(Mutex<HashMap<ClientName, DeniedMinute>>);

struct DeniedMinute {
    began: Instant,
    stored: u32,
}

impl DeniedArguments {
    /// Counts a denied request of a client. Returns whether the request's arguments may be stored.
    pub(super) fn count(&self, client: &ClientName) -> bool {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MAX_CLIENTS {
            clients.retain(|_, minute| minute.began.elapsed() < MINUTE);
        }
        let now = Instant::now();
        let new = || DeniedMinute {
            began: now,
            stored: 0,
        };
        let minute = clients.entry(client.clone()).or_insert_with(new);
        if minute.began.elapsed() >= MINUTE {
            *minute = new();
        }
        minute.stored += u32::from(minute.stored < MAX_STORED + 1);
        minute.stored <= MAX_STORED
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_the_first_arguments_of_a_minute_are_stored_for_each_client() {
        let denied = DeniedArguments::default();
        let (first, second) = (ClientName::new("first"), ClientName::new("second"));
        let count = |client| (0..1_000).filter(|_| denied.count(client)).count();
        assert_eq!((count(&first), count(&second)), (10, 10));
        assert_eq!(count(&first), 0);
        advance(MINUTE).await;
        assert_eq!(count(&first), 10);
    }
}
