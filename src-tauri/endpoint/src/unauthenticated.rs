//! Connections on which no known token was sent yet. Their number is limited, so that programs
//! without a token leave room for clients with a token.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

/// The most connections on which no known token has been sent yet. If there are more, the oldest
/// connection is closed. A client is hardly affected, because it sends its token with its first
/// request.
const MAX_UNAUTHENTICATED: usize = 128;

/// The unauthenticated connections, by their numbers. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct UnauthenticatedConnections(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    last_number: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

/// A connection that counts as unauthenticated until a known token is sent on it. An extension of
/// each request over TCP.
pub(crate) struct UnauthenticatedConnection {
    connections: UnauthenticatedConnections,
    number: u64,
    closed: CancellationToken,
}

impl UnauthenticatedConnections {
    /// Counts a connection, and closes the oldest connection if there are too many. Returns the
    /// counted connection, and whether another connection was closed.
    pub(crate) fn admit(&self) -> (UnauthenticatedConnection, bool) {
        let closed = CancellationToken::new();
        let mut table = self.lock();
        table.last_number += 1;
        let number = table.last_number;
        table.connections.insert(number, closed.clone());
        let is_full = table.connections.len() > MAX_UNAUTHENTICATED;
        if is_full && let Some((_, oldest)) = table.connections.pop_first() {
            oldest.cancel();
        }
        drop(table);
        let connection = UnauthenticatedConnection {
            connections: self.clone(),
            number,
            closed,
        };
        (connection, is_full)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnauthenticatedConnection {
    /// Records that a known token was sent on this connection.
    pub(crate) fn mark_authenticated(&self) {
        self.connections.lock().connections.remove(&self.number);
    }

    /// Resolves when the connection has to make room for another connection.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl Drop for UnauthenticatedConnection {
    fn drop(&mut self) {
        self.mark_authenticated();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_connection_makes_room_and_a_known_client_stays() {
        let connections = UnauthenticatedConnections::default();
        let (known, _) = connections.admit();
        known.mark_authenticated();
        let (first, _) = connections.admit();
        let others: Vec<_> = (1..MAX_UNAUTHENTICATED)
            .map(|_| connections.admit().0)
            .collect();
        assert!(!first.closed.is_cancelled(), "there is room for all");
        let (newest, has_evicted) = connections.admit();
        assert!(has_evicted);
        assert!(first.closed.is_cancelled());
        drop(first);
        drop(newest);
        let (_other, has_evicted) = connections.admit();
        assert!(!has_evicted, "the ended connection has left room");
        assert!(others.iter().all(|other| !other.closed.is_cancelled()));
        assert!(!known.closed.is_cancelled());
    }
}
