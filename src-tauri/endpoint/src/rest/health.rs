//! `GET /health`: the hub's health, for people and probes.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use drawbridge_hub::api::{
    ListedVerb,
    health::{HealthStatus, ShowHealth},
};

use crate::{auth, error_response::Refusal, state::ListenerState};

pub(crate) async fn show(
    State(state): State<Arc<ListenerState>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let mut health = ShowHealth {}.run_boxed(&state.hub).await?;
    if !auth::is_administrator(&state, &headers) {
        health = health.for_anyone();
    }
    let status = match health.status {
        HealthStatus::Ok | HealthStatus::Degraded => StatusCode::OK,
        HealthStatus::Down => StatusCode::SERVICE_UNAVAILABLE,
    };
    Ok((status, Json(health)).into_response())
}
