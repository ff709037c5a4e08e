//! `GET /api/events`: the hub's events, as server-sent events. `GET /api/presence`: a stream
//! without events.

use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::State,
    response::{
        IntoResponse,
        sse::{self, KeepAlive, Sse},
    },
};
use drawbridge_model::event::Event;
use futures_util::{StreamExt, stream};
use tokio_stream::wrappers::BroadcastStream;

use crate::{auth::AdminAccess, state::ListenerState};

const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) async fn stream(
    State(state): State<Arc<ListenerState>>,
    Extension(access): Extension<AdminAccess>,
) -> impl IntoResponse {
    let events = BroadcastStream::new(state.hub.events())
        .map(|event| event.unwrap_or(Event::Lagged))
        .filter_map(|event| ready(sse::Event::default().json_data(event).ok()))
        .map(Ok::<_, Infallible>)
        .take_until(state.stopping.clone().cancelled_owned())
        .take_until(Box::pin(access.ended()));
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// `GET /api/presence`: a stream without events. A client that reads the stream keeps the hub from
/// ending for lack of use.
pub(crate) async fn presence(
    State(state): State<Arc<ListenerState>>,
    Extension(access): Extension<AdminAccess>,
) -> impl IntoResponse {
    let no_events = stream::pending::<Result<sse::Event, Infallible>>();
    let no_events = no_events
        .take_until(state.stopping.clone().cancelled_owned())
        .take_until(Box::pin(access.ended()));
    Sse::new(no_events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}
