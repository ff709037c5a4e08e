//! Tools: the catalog as clients see it.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{
    catalog::{CatalogEntry, Definition, ServerCopy, Snapshot},
    hub::Hub,
    model::{
        capability::{Kind, LeftOut},
        ids::{ClientName, ServerId},
        names,
        policy::Effect,
        spec::Registered,
        tool::{Annotations, Standing},
    },
    policy::Facts,
    sessions::Reach,
};

/// A tool of a server, and what happens when a client calls it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ToolView {
    pub server: ServerId,
    /// The server's own name of the tool.
    pub name: String,
    /// The name at the door: `server__tool`, at most 64 of `[A-Za-z0-9_-]`; that which it would have where it is not
    /// at the door.
    pub exposed_name: String,
    /// Why no client sees it and none can call it; empty where they can.
    pub hidden: String,
    /// Whether a person has accepted its definition.
    pub standing: Standing,
    /// About how many tokens a model spends on its definition in a list.
    pub tokens: u32,
    pub title: Option<String>,
    pub description: String,
    #[cfg_attr(test, ts(type = "unknown"))]
    pub input_schema: serde_json::Value,
    pub annotations: Annotations,
    /// SHA-256 of the definition as the server sent it, hex.
    pub digest: String,
    /// The policy that applies to a client without one of its own.
    pub policy: Effect,
    /// The policy set for just this tool, for all clients.
    pub own_policy: Option<Effect>,
}

/// `tools.list`: the tools of all accepted, enabled servers, in the order clients get them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ListTools {}

impl Verb for ListTools {
    const NAME: &'static str = "tools.list";
    type Answer = Vec<ToolView>;

    async fn run(self, hub: &Hub) -> Result<Vec<ToolView>, ApiError> {
        hub.catalog.freshen().await;
        let snapshot = hub.catalog.snapshot();
        let views = snapshot
            .all()
            .entries(Kind::Tools)
            .iter()
            .map(|tool| ToolView {
                exposed_name: tool.exposed_name.clone(),
                ..view(hub, &tool.server, &tool.definition)
            });
        Ok(views.collect())
    }
}

/// `tools.call`: calls a tool by hand, as a client named `command-line`. The policy holds for it as for any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CallTool {
    /// The name at the door.
    pub name: String,
    /// A JSON object.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub arguments: serde_json::Value,
}

impl Verb for CallTool {
    const NAME: &'static str = "tools.call";
    /// The result of `tools/call` as the server gave it.
    type Answer = serde_json::Value;

    async fn run(self, hub: &Hub) -> Result<serde_json::Value, ApiError> {
        if !self.arguments.is_object() {
            return Err(ApiError::invalid("'arguments' must be a JSON object"));
        }
        hub.call_by_hand(&self.name, &self.arguments).await
    }
}

/// `tools.export`: the tools of all servers as function tools, as the OpenAI API takes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ExportTools {
    /// For a client: what its profile has; all where it is not given.
    #[serde(default)]
    pub client: Option<ClientName>,
}

/// A function tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FunctionTool {
    /// `function`.
    #[serde(rename = "type")]
    pub kind: String,
    pub function: Function,
}

/// What a function tool calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Function {
    /// The name at the door.
    pub name: String,
    pub description: String,
    /// The JSON Schema of its arguments, without `$schema`.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub parameters: serde_json::Value,
}

impl Verb for ExportTools {
    const NAME: &'static str = "tools.export";
    type Answer = Vec<FunctionTool>;

    async fn run(self, hub: &Hub) -> Result<Vec<FunctionTool>, ApiError> {
        hub.catalog.freshen().await;
        let lists = match &self.client {
            Some(client) => hub.catalog.of_client(client, &Reach::All),
            None => hub.catalog.snapshot().all().clone(),
        };
        Ok(lists
            .entries(Kind::Tools)
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

/// The tools of a server, also those that are not at the door.
pub(super) fn of_server(hub: &Hub, server: &Registered, copy: &ServerCopy) -> Vec<ToolView> {
    let snapshot = hub.catalog.snapshot();
    let at_door: HashMap<&str, &CatalogEntry> = snapshot
        .all()
        .of_server(&server.id)
        .iter()
        .map(|entry| (entry.definition.name.as_str(), &**entry))
        .collect();
    let view = |tool: &Arc<Definition>| {
        let (standing, plain) = (copy.standing(tool), view(hub, server, tool));
        match at_door
            .get(tool.name.as_str())
            .filter(|entry| entry.definition.digest == tool.digest)
        {
            Some(entry) => ToolView {
                exposed_name: entry.exposed_name.clone(),
                standing,
                ..plain
            },
            None => ToolView {
                hidden: why_hidden(hub, server, tool, standing, &snapshot),
                standing,
                ..plain
            },
        }
    };
    copy.tools().iter().map(view).collect()
}

fn why_hidden(
    hub: &Hub,
    server: &Registered,
    tool: &Definition,
    standing: Standing,
    snapshot: &Snapshot,
) -> String {
    let is_meant = |entry: &LeftOut| entry.kind == Kind::Tools && entry.name == tool.name;
    let left_out = || {
        snapshot
            .all()
            .left_out()
            .iter()
            .find(|one| one.server == server.id && is_meant(&one.entry))
    };
    match standing {
        Standing::New => "new since you accepted the server: it waits for you".into(),
        Standing::Changed => "changed since you accepted it: it waits for you".into(),
        Standing::Accepted if !hub.registry.may_run(server) => "its server may not run".into(),
        Standing::Accepted => left_out()
            .map(|one| one.entry.why.clone())
            .unwrap_or_default(),
    }
}

/// A tool as it is shown. Its exposed name is the plain one; only the catalog knows of a collision.
pub(super) fn view(hub: &Hub, server: &Registered, tool: &Definition) -> ToolView {
    let facts = Facts {
        client: None,
        session: None,
        server,
        tool: &tool.name,
        definition: &tool.digest,
        annotations: &tool.annotations,
        arguments: None,
    };
    let prefix = server.spec.prefix.as_deref().unwrap_or(server.id.as_str());
    let bare = prefix.is_empty() && names::is_plain(&tool.name);
    ToolView {
        server: server.id.clone(),
        name: tool.name.clone(),
        exposed_name: if bare {
            tool.name.clone()
        } else {
            names::exposed_name(prefix, &server.id, &tool.name)
        },
        hidden: String::new(),
        standing: Standing::Accepted,
        tokens: tool.tokens(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        annotations: tool.annotations.clone(),
        digest: tool.digest.clone(),
        policy: hub.rules.peek(&facts).effect,
        own_policy: hub.rules.own(&server.id, &tool.name),
    }
}
