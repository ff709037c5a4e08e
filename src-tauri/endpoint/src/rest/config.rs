//! `GET /config/client/{type}`: the configuration for a client, to paste or to download. The
//! configuration contains no secret, because it makes the client start the bridge.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use drawbridge_hub::api::config::ShowConfig;
use serde::Deserialize;
use serde_json::json;

use super::{IdPath, QueryResult, read_query, run_verb};
use crate::{error_response::Refusal, state::ListenerState};

/// The query of `GET /config/client/{type}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigQuery {
    /// `json` (the default), or `raw` to download the file that the client reads.
    #[serde(default)]
    format: Option<String>,
}

pub(crate) async fn show(
    State(state): State<Arc<ListenerState>>,
    path: IdPath,
    query: QueryResult<ConfigQuery>,
) -> Result<Response, Refusal> {
    let query = read_query(query)?;
    let Path(kind) = path.map_err(|error| Refusal::bad_request(error.body_text()))?;
    let is_raw = match query.format.as_deref() {
        None | Some("json") => false,
        Some("raw") => true,
        Some(other) => {
            return Err(Refusal::bad_request(format!(
                "'format' must be json or raw, not '{other}'"
            )));
        }
    };
    let snippet = run_verb(state, ShowConfig { kind }).await?.0;
    if !is_raw {
        let body = json!({
            "success": true,
            "client_type": snippet.kind,
            "config": snippet.config,
        });
        return Ok(Json(body).into_response());
    }
    let media_type = match snippet.file_name.rsplit('.').next() {
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    };
    let headers = [
        (CONTENT_TYPE, media_type.to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}\"", snippet.file_name),
        ),
    ];
    Ok((headers, snippet.text).into_response())
}
