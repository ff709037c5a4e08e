//! One listener's life: connections are taken, served and, at the end, drained.
//!
//! hyper is driven here rather than by `axum::serve`, which knows no time limit for a request's
//! headers: a connection that sends them slowly would be held for ever.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::serve::Listener;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{activity::Activity, server::Front};

/// From a connection's opening, or its last answer, to the end of the next request's headers.
const HEADERS: Duration = Duration::from_secs(10);

/// For requests in flight, once the door closes.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves until `stopping`, then lets requests in flight end within their bound.
pub(crate) async fn run(
    mut listener: impl Listener,
    front: Arc<Front>,
    activity: Activity,
    stopping: CancellationToken,
) {
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        let (io, _address) = tokio::select! {
            connection = listener.accept() => connection,
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next() => continue,
        };
        let Some(counted) = activity.connection() else {
            continue;
        };
        let front = Arc::clone(&front);
        let service = service_fn(move |request| {
            let front = Arc::clone(&front);
            async move { Ok::<_, Infallible>(front.answer(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .serve_connection(TokioIo::new(io), service);
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            let _counted = counted;
            connection.await
        });
    }
    drop(listener);
    if timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time and are cut off");
    }
    connections.shutdown().await;
}
