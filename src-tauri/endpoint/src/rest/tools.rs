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

/// The query of `GET /api/tools`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// `mcp` (the default) or `openai`.
    #[serde(default)]
    format: Option<String>,
    /// The client whose view of the catalog is returned. Only used with `openai`.
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
