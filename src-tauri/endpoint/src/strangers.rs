//! Connections whose client is unknown. They are limited in number, so that programs without a
//! token leave room for those with one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

/// The most connections on which no known token has been sent yet. If there are more, the oldest is
/// closed: a client sends its token with its first request, and is known a moment later.
const MAX_STRANGERS: usize = 128;

/// The connections of strangers, by their numbers. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Strangers(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    last_number: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

/// A connection that counts as that of a stranger until a known token is sent on it. An extension
/// of each request over TCP.
pub(crate) struct Stranger {
    strangers: Strangers,
    number: u64,
    closed: CancellationToken,
}

impl Strangers {
    /// Counts a connection. Closes the oldest one if there are too many.
    pub(crate) fn admit(&self) -> Stranger {
        let closed = CancellationToken::new();
        let mut table = self.lock();
        table.last_number += 1;
        let number = table.last_number;
        table.connections.insert(number, closed.clone());
        if table.connections.len() > MAX_STRANGERS
            && let Some((_, oldest)) = table.connections.pop_first()
        {
            oldest.cancel();
        }
        drop(table);
        Stranger {
            strangers: self.clone(),
            number,
            closed,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stranger {
    /// Notes that a known token was sent on this connection.
    pub(crate) fn introduce(&self) {
        self.strangers.lock().connections.remove(&self.number);
    }

    /// Resolves when the connection has to make room for another one.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.introduce();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_makes_room_and_a_known_client_stays() {
        let strangers = Strangers::default();
        let known = strangers.admit();
        known.introduce();
        let first = strangers.admit();
        let others: Vec<_> = (1..MAX_STRANGERS).map(|_| strangers.admit()).collect();
        assert!(!first.closed.is_cancelled(), "there is room for all");
        let newest = strangers.admit();
        assert!(first.closed.is_cancelled());
        drop(first);
        drop(newest);
        let _other = strangers.admit();
        assert!(others.iter().all(|other| !other.closed.is_cancelled()));
        assert!(!known.closed.is_cancelled());
    }
}
