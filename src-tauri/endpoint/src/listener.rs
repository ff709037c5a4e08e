//! Accepts the connections of a listener, serves them, and drains them at the end.
//!
//! Drives hyper directly, because `axum::serve` has no timeout for a request's headers: a
//! connection that sends them slowly would be held forever.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::serve::Listener;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    activity::Activity,
    checked_router::CheckedRouter,
    pairing::Peer,
    unauthenticated::{UnauthenticatedConnection, UnauthenticatedConnections},
    write_timeout::WriteTimeout,
};

/// The timeout for a request's headers, counted from the opening of the connection or its last
/// response.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of evictions after which the listener pauses. (An eviction closes the oldest
/// connection without a known token, to make room for a new connection.) The pauses leave the
/// processor to the calls of clients, even if a program connects again and again.
const EVICTIONS_PER_PAUSE: u32 = 4;
const EVICTION_PAUSE: Duration = Duration::from_millis(1);

/// How long requests in flight may take after the endpoint begins to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why a listener did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BindError {
    #[error("{owner} uses port {port}; close that program, or choose another port")]
    PortInUse {
        port: u16,
        /// The program that uses the port, or `another program`.
        owner: String,
        source: io::Error,
    },
    #[error("cannot listen on {address}: {source}")]
    Tcp {
        address: SocketAddr,
        source: io::Error,
    },
    #[cfg(unix)]
    #[error("another program listens on the local socket of this data folder; end that program")]
    SocketInUse,
    #[cfg(unix)]
    #[error("{} must be a folder that only its owner can write to (chmod 700)", folder.display())]
    SharedFolder { folder: std::path::PathBuf },
    #[cfg(unix)]
    #[error("{} belongs to another user; set XDG_RUNTIME_DIR to a folder of your own", folder.display())]
    ForeignFolder { folder: std::path::PathBuf },
    #[cfg(unix)]
    #[error(transparent)]
    Socket(#[from] io::Error),
    #[cfg(not(unix))]
    #[error("this platform has no local sockets yet; use HTTP (MCP_HUB_URL or --hub-url)")]
    NoLocalSockets,
}

/// The limits of the connections over TCP. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ConnectionLimits {
    unauthenticated: UnauthenticatedConnections,
    slots: Arc<Semaphore>,
}

impl ConnectionLimits {
    /// Returns the limits for listeners that share `max_connections`. While that many connections
    /// are open, the listeners accept no further connection.
    pub(crate) fn new(max_connections: usize) -> Self {
        Self {
            unauthenticated: UnauthenticatedConnections::default(),
            slots: Arc::new(Semaphore::new(max_connections)),
        }
    }

    async fn acquire_slot(&self) -> OwnedSemaphorePermit {
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        slot.expect("the semaphore is never closed")
    }
}

/// A connection, and the slot that it occupies until it is closed.
struct AcceptedConnection<Io, Address> {
    io: Io,
    address: Address,
    _slot: Option<OwnedSemaphorePermit>,
}

/// Accepts a connection as soon as a slot is free.
async fn accept_connection<L: Listener>(
    listener: &mut L,
    limits: Option<&ConnectionLimits>,
) -> AcceptedConnection<L::Io, L::Addr> {
    let slot = match limits {
        Some(limits) => Some(limits.acquire_slot().await),
        None => None,
    };
    let (io, address) = listener.accept().await;
    AcceptedConnection {
        io,
        address,
        _slot: slot,
    }
}

/// Serves until `stopping` is cancelled, then gives requests in flight [`DRAIN_TIMEOUT`] to end.
/// `peer` turns the address of a connection into the [`Peer`] that the handlers of its requests get.
/// The local socket has no `limits`.
pub(crate) async fn serve_connections<L: Listener>(
    mut listener: L,
    peer: impl Fn(L::Addr) -> Option<Peer>,
    router: Arc<CheckedRouter>,
    activity: Activity,
    limits: Option<ConnectionLimits>,
    stopping: CancellationToken,
) {
    let mut connections = JoinSet::new();
    let mut evictions = 0_u32;
    loop {
        let AcceptedConnection {
            io,
            address,
            _slot: slot,
        } = tokio::select! {
            connection = accept_connection(&mut listener, limits.as_ref()) => connection,
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next() => continue,
        };
        let Some(connection_guard) = activity.try_count_connection() else {
            // The hub is ending, so the connection is closed unserved.
            continue;
        };
        let router = Arc::clone(&router);
        let peer = peer(address);
        let (unauthenticated, has_evicted) = match &limits {
            Some(limits) => {
                let (connection, has_evicted) = limits.unauthenticated.admit();
                (Some(Arc::new(connection)), has_evicted)
            }
            None => (None, false),
        };
        let request_extension = unauthenticated.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            let router = Arc::clone(&router);
            if let Some(peer) = peer {
                request.extensions_mut().insert(peer);
            }
            if let Some(connection) = &request_extension {
                request.extensions_mut().insert(Arc::clone(connection));
            }
            async move { Ok::<_, Infallible>(router.answer(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .serve_connection(TokioIo::new(WriteTimeout::new(io)), service)
            .with_upgrades();
        let stopping = stopping.clone();
        connections.spawn(async move {
            let (_connection_guard, _slot) = (connection_guard, slot);
            let mut connection = pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = wait_until_evicted(unauthenticated) => Ok(()),
                () = stopping.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        });
        if has_evicted {
            evictions = evictions.wrapping_add(1);
            if evictions.is_multiple_of(EVICTIONS_PER_PAUSE) {
                sleep(EVICTION_PAUSE).await;
            }
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if timeout(DRAIN_TIMEOUT, drained).await.is_err() {
        tracing::warn!("some requests did not end in time and are aborted");
    }
    connections.shutdown().await;
}

/// Resolves when the connection has to make room for another connection.
async fn wait_until_evicted(connection: Option<Arc<UnauthenticatedConnection>>) {
    match connection {
        Some(connection) => connection.closed().await,
        None => std::future::pending().await,
    }
}
