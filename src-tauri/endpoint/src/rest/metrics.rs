//! `GET /metrics`: metrics in Prometheus' text format.

use axum::{
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use drawbridge_hub::api::metrics::metrics_text;

use super::SharedState;
use crate::error_response::Refusal;

/// The content type of the text format.
/// <https://prometheus.io/docs/instrumenting/exposition_formats/>
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn show(State(state): SharedState) -> Result<Response, Refusal> {
    let text = metrics_text(&state.hub)?;
    Ok(([(CONTENT_TYPE, TEXT_FORMAT)], text).into_response())
}
