//! The definitions that a server offers, as the server sent them.

use drawbridge_model::{
    acceptance::{AcceptanceState, DefinitionKind},
    capability::CapabilityKind,
    content::ContentFlag,
    ids::{ServerId, Timestamp},
    policy::{Effect, RequestKind},
    server::SyncStatus,
    spec::RegisteredServer,
    tool::Annotations,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    api::{ApiError, Verb, tools},
    catalog::{Definition, ServerCopy},
    hub::Hub,
    policy::MatchInput,
};

/// The catalog's copy of a server's lists: the definitions as the server sent them, with the
/// server's own names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CapabilitiesView {
    pub id: ServerId,
    pub sync_status: SyncStatus,
    pub last_synced_at: Option<Timestamp>,
    #[cfg_attr(test, ts(type = "Array<unknown>"))]
    pub tools: Vec<Value>,
    #[cfg_attr(test, ts(type = "Array<unknown>"))]
    pub prompts: Vec<Value>,
    #[cfg_attr(test, ts(type = "Array<unknown>"))]
    pub resources: Vec<Value>,
    #[cfg_attr(test, ts(type = "Array<unknown>"))]
    pub templates: Vec<Value>,
    /// The prompts, resources and templates, in the order of their lists, with their acceptance and
    /// the effect of the policy. `servers.show` has the tools.
    pub entries: Vec<CapabilityView>,
}

/// A prompt, resource or template of a server, and the effect of the policy on its requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CapabilityView {
    #[cfg_attr(test, ts(type = "Exclude<CapabilityKind, \"tools\">"))]
    pub kind: CapabilityKind,
    /// The server's own name of a prompt, the URI of a resource, or the URI template.
    pub name: String,
    /// The name or URI that clients use; empty if clients cannot see the entry.
    pub exposed_name: String,
    /// Why no client can see the entry; empty if clients can see it.
    pub hidden: String,
    pub acceptance: AcceptanceState,
    /// The definition as the server sent it.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub definition: Value,
    /// The SHA-256 of the definition, in hex.
    pub digest: String,
    /// The effect of the policy on requests of a client that has no rule of its own.
    pub effect: Effect,
    /// The suspicious parts of the definition.
    pub flags: Vec<ContentFlag>,
}

/// `servers.capabilities`: the definitions that a server offered at the latest refresh. Starts no
/// server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowCapabilities {
    pub id: ServerId,
}

impl Verb for ShowCapabilities {
    type Answer = CapabilitiesView;

    async fn run(self, hub: &Hub) -> Result<CapabilitiesView, ApiError> {
        let server = hub.registry.get(&self.id)?;
        let copy = hub.catalog.copy(&self.id);
        Ok(CapabilitiesView {
            sync_status: copy.row.sync_status,
            last_synced_at: copy.row.last_synced_at,
            tools: list_definitions(&copy, CapabilityKind::Tools),
            prompts: list_definitions(&copy, CapabilityKind::Prompts),
            resources: list_definitions(&copy, CapabilityKind::Resources),
            templates: list_definitions(&copy, CapabilityKind::Templates),
            entries: list_entries(hub, &server, &copy),
            id: self.id,
        })
    }
}

fn list_definitions(copy: &ServerCopy, kind: CapabilityKind) -> Vec<Value> {
    let read =
        |definition: &std::sync::Arc<Definition>| serde_json::from_str(definition.raw.get()).ok();
    copy.offered
        .get(&kind)
        .into_iter()
        .flatten()
        .filter_map(read)
        .collect()
}

/// The kinds besides tools, each with the kind of its definitions and the kind of its requests.
const OTHER_KINDS: [(CapabilityKind, DefinitionKind, RequestKind); 3] = [
    (
        CapabilityKind::Prompts,
        DefinitionKind::Prompt,
        RequestKind::Prompts,
    ),
    (
        CapabilityKind::Resources,
        DefinitionKind::Resource,
        RequestKind::Resources,
    ),
    (
        CapabilityKind::Templates,
        DefinitionKind::Template,
        RequestKind::Resources,
    ),
];

fn list_entries(hub: &Hub, server: &RegisteredServer, copy: &ServerCopy) -> Vec<CapabilityView> {
    let snapshot = hub.catalog.snapshot();
    let unaccepted = hub.catalog.unaccepted(&server.id);
    let excluded = hub.catalog.excluded(&server.id);
    let annotations = Annotations::default();
    let view = |kind, definition_kind, request, definition: &Definition| {
        let exposed =
            snapshot.all().entries(kind).iter().find(|entry| {
                entry.server.id == server.id && entry.definition.name == definition.name
            });
        let acceptance = unaccepted
            .iter()
            .find(|(_, id)| id.kind == definition_kind && id.name == definition.name)
            .map_or(AcceptanceState::Accepted, |(state, _)| *state);
        let exclusion_reason = || {
            excluded
                .entries
                .iter()
                .find(|entry| entry.kind == kind && entry.name == definition.name)
                .map(|entry| entry.reason.clone())
        };
        let hidden = match (exposed, acceptance) {
            (Some(_), _) => String::new(),
            (None, AcceptanceState::New) => "it is new, and waits for acceptance".to_owned(),
            (None, AcceptanceState::Changed) => {
                "it has changed, and waits for acceptance".to_owned()
            }
            (None, AcceptanceState::Accepted) if !hub.registry.may_run(server) => {
                "the server is disabled or not accepted".to_owned()
            }
            (None, AcceptanceState::Accepted) => {
                exclusion_reason().unwrap_or_else(|| "it is not in the catalog".to_owned())
            }
        };
        let input = MatchInput {
            kind: request,
            client: None,
            session: None,
            project: None,
            server,
            tool: "",
            definition_digest: &definition.digest,
            annotations: &annotations,
            arguments: None,
        };
        CapabilityView {
            kind,
            name: definition.name.clone(),
            exposed_name: exposed
                .map(|entry| entry.exposed_name.clone())
                .unwrap_or_default(),
            hidden,
            acceptance,
            definition: serde_json::from_str(definition.raw.get()).unwrap_or_default(),
            digest: definition.digest.clone(),
            effect: hub.rules.evaluate(&input).effect,
            flags: tools::definition_flags(hub, server, definition_kind, definition),
        }
    };
    OTHER_KINDS
        .into_iter()
        .flat_map(|(kind, definition_kind, request)| {
            let offered = copy.offered.get(&kind).into_iter().flatten();
            offered
                .map(|definition| view(kind, definition_kind, request, definition))
                .collect::<Vec<_>>()
        })
        .collect()
}
