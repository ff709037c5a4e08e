//! `POST /api/verbs/{verb}`: runs any verb of the hub.

use std::sync::Arc;

use axum::{
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use drawbridge_hub::api;

use crate::{
    error_response::{Refusal, internal_error},
    state::ListenerState,
};

/// Runs a verb to its end, even if the client disconnects, so that no change is left half done.
pub(crate) async fn run(
    State(state): State<Arc<ListenerState>>,
    verb: Result<Path<String>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let (Path(verb), body) = (verb?, body?);
    let hub = Arc::clone(&state.hub);
    let task = tokio::spawn(async move { api::dispatch(&hub, &verb, &body).await });
    let answer = task.await.map_err(|_| internal_error())??;
    Ok((
        [(header::CONTENT_TYPE, "application/json")],
        Box::<str>::from(answer).into_string(),
    )
        .into_response())
}
