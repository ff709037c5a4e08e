//! `tool_search` and `tool_call`: how a client finds and calls the tools of deferred servers, which
//! are not listed.

use drawbridge_jsonrpc::json::{self, Json, RawObject};
use drawbridge_model::{capability::CapabilityKind, names};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

pub use names::{TOOL_CALL, TOOL_SEARCH};

use super::{CatalogEntry, CatalogView};

const MAX_LIMIT: usize = 50;
const DEFAULT_LIMIT: usize = 10;

/// The reason why the arguments of `tool_search` or `tool_call` are rejected.
#[derive(Debug, thiserror::Error)]
pub enum DeferredCallError {
    #[error("the arguments are invalid: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("unknown argument '{0}'; only 'name' and 'arguments' are allowed")]
    UnknownMember(String),
    #[error("'name' must be the name of a tool that tool_search returned")]
    NoName,
}

/// The arguments of `tool_search`.
#[derive(Deserialize)]
struct Query {
    query: String,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

/// Returns the definitions of `tool_search` and `tool_call` as clients see them.
pub(super) fn definitions() -> [String; 2] {
    let search = json!({
        "name": TOOL_SEARCH,
        "title": "Search for tools",
        "description": "Searches for tools that are not listed here. Returns the names and definitions of \
            matching tools, best match first. Call them with tool_call.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "Words that describe what the tool should do" },
                "server": { "type": "string", "description": "The id of the server to search; all servers if omitted" },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "The maximum number of results; 10 if omitted" },
            },
            "required": ["query"],
        },
        "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
    });
    let call = json!({
        "name": TOOL_CALL,
        "title": "Call a found tool",
        "description": "Calls a tool that tool_search returned, with arguments that match its inputSchema.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name of the tool, as returned by tool_search" },
                "arguments": { "type": "object", "description": "The arguments of the tool" },
            },
            "required": ["name"],
        },
    });
    [search.to_string(), call.to_string()]
}

/// Answers `tool_search`.
///
/// # Errors
/// Returns an error if the arguments are invalid.
pub fn search(view: &CatalogView, arguments: &RawValue) -> Result<Json, DeferredCallError> {
    let query: Query = serde_json::from_str(arguments.get())?;
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let of_server = |tool: &CatalogEntry| {
        query
            .server
            .as_ref()
            .is_none_or(|id| tool.server.id.as_str() == id)
    };
    let found = view.index().search(&query.query, of_server);
    let shown: Vec<_> = found
        .iter()
        .take(limit)
        .filter_map(|tool| render_definition(tool))
        .collect();
    let result = format!(
        r#"{{"tools":[{}],"found":{}}}"#,
        shown.join(","),
        found.len()
    );
    let text = json::quote(&result);
    Ok(Json::new(format!(
        r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{result}}}"#
    )))
}

/// Returns the definition with its exposed name and the server's id, without the members that are
/// of no use to a model.
fn render_definition(tool: &CatalogEntry) -> Option<String> {
    let mut definition = RawObject::parse(&tool.definition.raw).ok()?;
    definition.set("name", json::raw(json::quote(&tool.exposed_name)));
    definition.remove("_meta");
    definition.remove("icons");
    definition.set("server", json::raw(json::quote(tool.server.id.as_str())));
    Some(definition.to_raw().get().to_owned())
}

/// Returns the arguments of a `tool_call`: the name of the tool, and its arguments byte for byte
/// (`{}` if there are none).
///
/// # Errors
/// Returns an error if the arguments are invalid.
pub fn parse_call(arguments: &RawValue) -> Result<(String, Box<RawValue>), DeferredCallError> {
    let object = RawObject::parse(arguments)?;
    if let Some(other) = object
        .keys()
        .find(|key| !matches!(*key, "name" | "arguments"))
    {
        return Err(DeferredCallError::UnknownMember(other.to_owned()));
    }
    let name = object.get_string("name").ok_or(DeferredCallError::NoName)?;
    Ok((
        name,
        object
            .get("arguments")
            .map_or_else(|| json::raw("{}".into()), ToOwned::to_owned),
    ))
}

/// Returns whether clients with this view get `tool_search` and `tool_call`.
pub fn is_offered(view: &CatalogView) -> bool {
    view.entries(CapabilityKind::Tools)
        .iter()
        .any(|tool| view.defers(tool))
}
