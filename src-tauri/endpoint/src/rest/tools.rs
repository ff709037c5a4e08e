//! `GET /api/tools`: the catalog for scripts, as MCP tools or as function tools.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use drawbridge_hub::api::tools::{ExportTools, ListTools};
use drawbridge_model::ids::ClientName;
use serde::Deserialize;

use super::{QueryResult, read_query, run_verb};
use crate::{error_response::Refusal, state::ListenerState};

/// The query of `GET /api/tools`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsQuery {
    /// `mcp` (the default) or `openai`.
    #[serde(default)]
    format: Option<String>,
    /// The client whose view of the catalog is returned. Only used with `openai`.
    #[serde(default)]
    client: Option<String>,
}

pub(crate) async fn list(
    State(state): State<Arc<ListenerState>>,
    query: QueryResult<ToolsQuery>,
) -> Result<Response, Refusal> {
    let query = read_query(query)?;
    match query.format.as_deref() {
        None | Some("mcp") => Ok(run_verb(state, ListTools {}).await?.into_response()),
        Some("openai") => {
            let client = query.client.map(ClientName::new);
            Ok(run_verb(state, ExportTools { client })
                .await?
                .into_response())
        }
        Some(other) => Err(Refusal::bad_request(format!(
            "'format' must be mcp or openai, not '{other}'"
        ))),
    }
}
