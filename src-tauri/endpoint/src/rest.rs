//! The parts of the HTTP API other than MCP, with one file for each noun.

pub(crate) mod approvals;
pub(crate) mod calls;
pub(crate) mod config;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod login;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod pair;
pub(crate) mod progress;
pub(crate) mod servers;
pub(crate) mod tools;
pub(crate) mod ui;
pub(crate) mod verbs;

use std::sync::Arc;

use axum::{
    Json,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, PathRejection, QueryRejection},
    },
};
use bytes::Bytes;
use drawbridge_hub::api::{ApiError, Verb};
use serde::de::DeserializeOwned;

use crate::{
    error_response::{Refusal, internal_error},
    state::ListenerState,
};

pub(crate) type SharedState = State<Arc<ListenerState>>;
pub(crate) type IdPath = Result<Path<String>, PathRejection>;
pub(crate) type BodyBytes = Result<Bytes, BytesRejection>;
pub(crate) type JsonResult<T> = Result<Json<T>, Refusal>;
/// The query of a URL.
pub(crate) type QueryResult<T> = Result<Query<T>, QueryRejection>;

/// Runs a verb to its end, even if the client disconnects.
pub(crate) async fn run_verb<V: Verb>(state: Arc<ListenerState>, verb: V) -> JsonResult<V::Answer> {
    let task = tokio::spawn(async move { verb.run_boxed(&state.hub).await });
    Ok(Json(task.await.map_err(|_| internal_error())??))
}

/// Returns the parameters of a query.
///
/// # Errors
/// Returns 400 with a message that names the field.
fn read_query<T>(query: QueryResult<T>) -> Result<T, Refusal> {
    query
        .map(|Query(parameters)| parameters)
        .map_err(|e| Refusal::bad_request(format!("query: {}", e.body_text())))
}

fn read_json<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    let text = std::str::from_utf8(body).map_err(|e| ApiError::invalid(format!("body: {e}")))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|e| field_error(&e))?;
    reader
        .end()
        .map_err(|e| ApiError::invalid(format!("body: {e}")))?;
    Ok(value)
}

/// Returns an error that names the field and the reason.
fn field_error(error: &serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    ApiError::invalid(format!("body: {}: {}", error.path(), error.inner()))
}
