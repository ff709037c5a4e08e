//! Tools: the tools in the catalog as clients see them, calls by hand, and an export.

use std::{collections::HashMap, sync::Arc, time::Duration};

use drawbridge_model::{
    acceptance::{AcceptanceState, DefinitionKind},
    capability::{CapabilityKind, ExcludedEntry},
    content::{ContentDefence, ContentFlag},
    ids::{ClientName, ServerId},
    names,
    policy::{Effect, RequestKind},
    spec::RegisteredServer,
    tool::Annotations,
    tool_result::ToolExecutionResult,
};
use drawbridge_sessions::ClientScope;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{ApiError, ErrorCode, Verb};
use crate::{
    catalog::{CatalogEntry, Definition, ServerCopy, Snapshot},
    hub::Hub,
    policy::MatchInput,
};

/// A tool of a server, and the effect of the policy on its calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ToolView {
    pub server: ServerId,
    /// The server's own name of the tool.
    pub name: String,
    /// The exposed name, such as `server__tool`: at most 64 characters of `[A-Za-z0-9_-]`. For a
    /// hidden tool this is the name that the tool would have.
    pub exposed_name: String,
    /// Why no client can see or call the tool; empty if clients can see it.
    pub hidden: String,
    /// The acceptance state of the definition.
    pub acceptance: AcceptanceState,
    /// About how many tokens a model spends on the tool's definition in a list.
    pub tokens: u32,
    pub title: Option<String>,
    pub description: String,
    /// Whether a call has to contain arguments. `tools.schema` has their schema.
    pub needs_arguments: bool,
    pub annotations: Annotations,
    /// The SHA-256 of the definition as the server sent it, in hex.
    pub digest: String,
    /// The effect of the policy on calls of a client that has no rule of its own.
    pub effect: Effect,
    /// The effect of the plain rule for exactly this tool and all clients, if there is one.
    pub own_effect: Option<Effect>,
    /// The suspicious parts of the tool's definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<ContentFlag>>", optional))]
    pub flags: Vec<ContentFlag>,
}

/// A tool that clients can see, with the schema of its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListedTool {
    #[serde(flatten)]
    pub tool: ToolView,
    #[cfg_attr(test, ts(type = "unknown"))]
    pub input_schema: serde_json::Value,
}

/// `tools.list`: the tools that clients can see, of all accepted and enabled servers, in the order
/// in which clients get them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListTools {}

impl Verb for ListTools {
    type Answer = Vec<ListedTool>;

    async fn run(self, hub: &Hub) -> Result<Vec<ListedTool>, ApiError> {
        hub.catalog.refresh_stale(None).await;
        let snapshot = hub.catalog.snapshot();
        let views = snapshot
            .all()
            .entries(CapabilityKind::Tools)
            .iter()
            .map(|tool| ListedTool {
                tool: ToolView {
                    exposed_name: tool.exposed_name.clone(),
                    ..tool_view(hub, &tool.server, &tool.definition)
                },
                input_schema: tool.definition.input_schema.clone(),
            });
        Ok(views.collect())
    }
}

/// `tools.schema`: the JSON Schema of a tool's arguments, as the server sent it at the latest
/// refresh. Starts no server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowToolSchema {
    pub server: ServerId,
    /// The server's own name of the tool.
    pub name: String,
}

impl Verb for ShowToolSchema {
    type Answer = serde_json::Value;

    async fn run(self, hub: &Hub) -> Result<serde_json::Value, ApiError> {
        hub.registry.get(&self.server)?;
        let copy = hub.catalog.copy(&self.server);
        copy.tools()
            .iter()
            .find(|tool| tool.name == self.name)
            .map(|tool| tool.input_schema.clone())
            .ok_or_else(|| {
                ApiError::not_found(format!(
                    "'{}' has no tool named '{}'",
                    self.server, self.name
                ))
            })
    }
}

/// `tools.call`: calls a tool by hand, as a client named `command-line`. The policy applies as for
/// any other client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CallTool {
    /// The exposed name.
    pub name: String,
    /// A JSON object.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub arguments: serde_json::Value,
    /// The shape of the answer.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<ResultFormat>", optional))]
    pub format: ResultFormat,
}

/// The shape in which `tools.call` answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ResultFormat {
    /// The result of `tools/call` as the server sent it.
    #[default]
    Mcp,
    /// A `ToolExecutionResult`: the same shape for every server, even if the server answers with an
    /// error.
    Unified,
}

impl Verb for CallTool {
    /// The result in the format of the request.
    type Answer = serde_json::Value;

    async fn run(self, hub: &Hub) -> Result<serde_json::Value, ApiError> {
        if !self.arguments.is_object() {
            return Err(ApiError::invalid("'arguments' must be a JSON object"));
        }
        let started = Instant::now();
        let params = serde_json::json!({ "name": self.name, "arguments": self.arguments });
        let result = hub.request_by_hand("tools/call", &params).await;
        match self.format {
            ResultFormat::Mcp => result,
            ResultFormat::Unified => unify(result, started.elapsed()),
        }
    }
}

/// Returns the result of a call in the unified shape. An error answer to the call is a result too.
fn unify(
    result: Result<serde_json::Value, ApiError>,
    duration: Duration,
) -> Result<serde_json::Value, ApiError> {
    let duration_ms = u32::try_from(duration.as_millis()).ok();
    let unified = match result {
        Ok(result) => ToolExecutionResult::from_result(&result, duration_ms),
        Err(error) if error.code == ErrorCode::Invalid => {
            ToolExecutionResult::from_error(&error.message, duration_ms)
        }
        Err(error) => return Err(error),
    };
    serde_json::to_value(unified).map_err(|e| ApiError::internal(e.to_string()))
}

/// Returns the text blocks of a result of `tools/call`, and the types of all other blocks.
pub fn result_text(result: &serde_json::Value) -> String {
    let blocks = result["content"].as_array();
    let texts = blocks
        .into_iter()
        .flatten()
        .map(|block| match block["text"].as_str() {
            Some(text) => text.lines().collect::<Vec<_>>().join("\n"),
            None => format!("({})", block["type"].as_str().unwrap_or("unknown content")),
        });
    texts.collect::<Vec<_>>().join("\n")
}

/// `tools.export`: the tools of all servers as function tools in the format of the OpenAI API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ExportTools {
    /// The client whose profile limits the tools; all tools if absent.
    #[serde(default)]
    pub client: Option<ClientName>,
}

/// A function tool of the OpenAI API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FunctionTool {
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: String,
    pub function: Function,
}

/// The function of a function tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Function {
    /// The exposed name.
    pub name: String,
    pub description: String,
    /// The JSON Schema of the arguments, without `$schema`.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub parameters: serde_json::Value,
}

impl Verb for ExportTools {
    type Answer = Vec<FunctionTool>;

    async fn run(self, hub: &Hub) -> Result<Vec<FunctionTool>, ApiError> {
        if let Some(client) = &self.client {
            hub.access.check_known(client)?;
        }
        hub.catalog.refresh_stale(None).await;
        let view = match &self.client {
            Some(client) => hub.catalog.client_view(client, &ClientScope::ALL),
            None => hub.catalog.snapshot().all().clone(),
        };
        Ok(view
            .entries(CapabilityKind::Tools)
            .iter()
            .map(|tool| function_tool(tool))
            .collect())
    }
}

fn function_tool(tool: &CatalogEntry) -> FunctionTool {
    let mut parameters = tool.definition.input_schema.clone();
    match parameters.as_object_mut() {
        Some(members) => drop(members.remove("$schema")),
        None => parameters = serde_json::json!({ "type": "object", "properties": {} }),
    }
    let (name, description) = (
        tool.exposed_name.clone(),
        tool.definition.description.clone(),
    );
    FunctionTool {
        kind: "function".into(),
        function: Function {
            name,
            description,
            parameters,
        },
    }
}

/// Returns the tools of a server, including hidden tools.
pub(super) fn server_tools(
    hub: &Hub,
    server: &RegisteredServer,
    copy: &ServerCopy,
) -> Vec<ToolView> {
    let snapshot = hub.catalog.snapshot();
    let exposed: HashMap<&str, &CatalogEntry> = snapshot
        .all()
        .server_tools(&server.id)
        .iter()
        .map(|entry| (entry.definition.name.as_str(), &**entry))
        .collect();
    let view = |tool: &Arc<Definition>| {
        let (acceptance, plain) = (copy.tool_acceptance(tool), tool_view(hub, server, tool));
        match exposed
            .get(tool.name.as_str())
            .filter(|entry| entry.definition.offered_digest() == tool.digest)
        {
            Some(entry) => ToolView {
                exposed_name: entry.exposed_name.clone(),
                acceptance,
                ..plain
            },
            None => ToolView {
                hidden: hidden_reason(hub, server, tool, acceptance, &snapshot),
                acceptance,
                ..plain
            },
        }
    };
    copy.tools().iter().map(view).collect()
}

fn hidden_reason(
    hub: &Hub,
    server: &RegisteredServer,
    tool: &Definition,
    acceptance: AcceptanceState,
    snapshot: &Snapshot,
) -> String {
    let is_this_tool =
        |entry: &ExcludedEntry| entry.kind == CapabilityKind::Tools && entry.name == tool.name;
    let find_exclusion = || {
        snapshot
            .all()
            .excluded()
            .iter()
            .find(|exclusion| exclusion.server == server.id && is_this_tool(&exclusion.entry))
    };
    let needs_person = server.spec.content_defence == ContentDefence::Ask;
    match acceptance {
        AcceptanceState::New if needs_person && !tool.flags().is_empty() => {
            "flagged by the content defence; check the tool and accept it to show it".into()
        }
        AcceptanceState::New => {
            "added after you accepted the server; accept the tool to show it".into()
        }
        AcceptanceState::Changed => {
            "changed since you accepted it; accept the change to show it".into()
        }
        AcceptanceState::Accepted if !hub.registry.may_run(server) => {
            "the server is disabled or not accepted".into()
        }
        AcceptanceState::Accepted => find_exclusion()
            .map(|exclusion| exclusion.entry.reason.clone())
            .unwrap_or_default(),
    }
}

/// Returns the flags of a definition, including a flag for a tool whose name looks like the name of
/// another server's tool. Returns no flags if the server's content defence is off.
pub(super) fn definition_flags(
    hub: &Hub,
    server: &RegisteredServer,
    kind: DefinitionKind,
    definition: &Definition,
) -> Vec<ContentFlag> {
    if server.spec.content_defence == ContentDefence::Off {
        return Vec::new();
    }
    let mut flags = definition.flags().to_vec();
    if kind == DefinitionKind::Tool {
        let snapshot = hub.catalog.snapshot();
        let names = snapshot.confusable_names();
        flags.extend(names.find_look_alike(&server.id, &definition.name));
    }
    flags
}

/// Returns a tool for the API. `exposed_name` is the name that the tool gets if it collides with no
/// other tool's name; only the catalog knows the collisions.
pub(super) fn tool_view(hub: &Hub, server: &RegisteredServer, tool: &Definition) -> ToolView {
    let input = MatchInput {
        kind: RequestKind::Tools,
        client: None,
        session: None,
        project: None,
        server,
        tool: &tool.name,
        definition_digest: &tool.digest,
        annotations: &tool.annotations,
        arguments: None,
    };
    let prefix = server.spec.prefix.as_deref().unwrap_or(server.id.as_str());
    let is_bare = prefix.is_empty() && names::is_valid_exposed_name(&tool.name);
    ToolView {
        server: server.id.clone(),
        name: tool.name.clone(),
        exposed_name: if is_bare {
            tool.name.clone()
        } else {
            names::exposed_name(prefix, &server.id, &tool.name)
        },
        hidden: String::new(),
        acceptance: AcceptanceState::Accepted,
        tokens: tool.estimate_tokens(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        needs_arguments: tool.input_schema["required"]
            .as_array()
            .is_some_and(|names| !names.is_empty()),
        annotations: tool.annotations.clone(),
        digest: tool.digest.clone(),
        flags: definition_flags(hub, server, DefinitionKind::Tool, tool),
        effect: hub.rules.evaluate(&input).effect,
        own_effect: hub.rules.plain_tool_effect(&server.id, &tool.name),
    }
}
