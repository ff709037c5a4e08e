//! Tools: the catalog as clients see it.

use serde::{Deserialize, Serialize};

use super::{ApiError, Verb};
use crate::{
    catalog::Definition,
    hub::Hub,
    model::{capability::Kind, ids::ServerId, names, policy::Effect, spec::Registered, tool::Annotations},
    policy::Facts,
};

/// A tool of a server, and what happens when a client calls it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ToolView {
    pub server: ServerId,
    /// The server's own name of the tool.
    pub name: String,
    /// The name at the door: `server__tool`, at most 64 of `[A-Za-z0-9_-]`.
    pub exposed_name: String,
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
        let views = snapshot.all().entries(Kind::Tools).iter().map(|tool| ToolView {
            exposed_name: tool.exposed_name.clone(),
            ..view(hub, &tool.server, &tool.definition)
        });
        Ok(views.collect())
    }
}

/// A tool as it is shown. Its exposed name is the plain one; only the catalog knows of a collision.
pub(super) fn view(hub: &Hub, server: &Registered, tool: &Definition) -> ToolView {
    let facts = Facts { client: None, session: None, server, tool: &tool.name, definition: &tool.digest };
    ToolView {
        server: server.id.clone(),
        name: tool.name.clone(),
        exposed_name: names::exposed_name(&server.id, &tool.name),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        annotations: tool.annotations.clone(),
        digest: tool.digest.clone(),
        policy: hub.rules.decide(&facts).effect,
        own_policy: hub.rules.own(&server.id, &tool.name),
    }
}
