//! `GET /api/tools`: the catalog for scripts, as MCP tools or as function tools.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use drawbridge_hub::{
    api::tools::{ExportTools, ListTools},
    model::ids::ClientName,
};
use serde::Deserialize;

use super::{Asked, asked, run};
use crate::{rescue::Refusal, server::Door};

/// What is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// `mcp` (where it is not given) or `openai`.
    #[serde(default)]
    format: Option<String>,
    /// What this client sees, for `openai`.
    #[serde(default)]
    client: Option<String>,
}

pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    wanted: Asked<Wanted>,
) -> Result<Response, Refusal> {
    let wanted = asked(wanted)?;
    match wanted.format.as_deref() {
        None | Some("mcp") => Ok(run(door, ListTools {}).await?.into_response()),
        Some("openai") => {
            let client = wanted.client.map(ClientName::new);
            Ok(run(door, ExportTools { client }).await?.into_response())
        }
        Some(other) => Err(Refusal::bad_request(format!(
            "'format' is mcp or openai, not '{other}'"
        ))),
    }
}
