//! Converts the spec and the state of a server, and specs that were read from a file or a text,
//! into the types of the API.

use std::collections::HashMap;

use drawbridge_client_config::SkippedEntry;
use drawbridge_model::{
    acceptance::{AcceptanceState, DefinitionId},
    builtin::BuiltIn,
    clock,
    content::ContentDefence,
    server::ServerState,
    spec::{RegisteredServer, Visibility, package},
};
use drawbridge_upstream::{SIGN_IN_REMEDY, Status, UpstreamError, state::State};

use super::{BrokenSpec, ParsedSpec, ServerView, UnacceptedDefinition};
use crate::{
    api::tools::{self, ToolView},
    builtin::DoclingError,
    hub::Hub,
    registry::{self, BrokenFile, ImportedServer, Registry},
};

pub(super) fn server_view(hub: &Hub, server: &RegisteredServer) -> ServerView {
    let copy = hub.catalog.copy(&server.id);
    let status = hub.pool.status(&server.id);
    let (state, reason, remedy) = server_state(hub, server);
    let tools = tools::server_tools(hub, server, &copy);
    let program = hub.registry.program(server);
    ServerView {
        id: server.id.clone(),
        name: server.name().to_owned(),
        spec: server.spec.clone(),
        file: server.file.display().to_string(),
        acceptance: hub.registry.acceptance(server),
        identity: Registry::offered_identity(server, program.as_ref()),
        program,
        floating: package::floating_packages(&server.spec)
            .iter()
            .map(|package| package.text.to_owned())
            .collect(),
        changes: hub.registry.list_changes(server),
        foreign_secrets: registry::foreign_secrets(&server.id, &server.spec),
        literal_secrets: registry::literal_places(&server.id, &server.spec),
        state,
        reason,
        remedy,
        retry_at: status
            .as_ref()
            .and_then(|status| status.retry_after)
            .map(clock::time_after),
        crashed_often: status
            .as_ref()
            .is_some_and(|status| status.state == State::BreakerOpen),
        transitions: hub.pool.history().transitions(&server.id),
        sign_in: hub.authorizer.sign_in_state(&server.spec),
        signing_in: hub.authorizer.attempt(&server.id),
        pid: status.as_ref().and_then(|status| status.pid),
        sandbox: status.as_ref().and_then(|status| status.sandbox),
        sync_status: copy.row.sync_status,
        last_synced_at: copy.row.last_synced_at,
        stale: copy.row.last_synced_at.is_some() && hub.catalog.is_stale(server, &copy),
        server_name: copy.row.server_name.clone(),
        server_version: copy.row.server_version.clone(),
        protocol_version: copy.row.protocol_version.clone(),
        instructions: copy.row.instructions.clone(),
        tokens: if server.spec.visibility == Visibility::Deferred {
            0
        } else {
            sum_visible_tokens(&tools)
        },
        unaccepted: unaccepted_definitions(hub, server),
        tools,
        excluded: hub.catalog.excluded(&server.id),
        non_jsonrpc_lines: status.as_ref().map_or(0, |status| status.non_jsonrpc_lines),
        starts: status.as_ref().map_or(0, |status| status.starts),
    }
}

fn unaccepted_definitions(hub: &Hub, server: &RegisteredServer) -> Vec<UnacceptedDefinition> {
    let unaccepted = hub.catalog.unaccepted(&server.id);
    if unaccepted.is_empty() {
        return Vec::new();
    }
    // A server may have thousands of definitions, so they are indexed once instead of searched for
    // each unaccepted definition.
    let definitions: HashMap<DefinitionId, _> = hub
        .catalog
        .definitions(&server.id)
        .into_iter()
        .map(|(kind, definition)| {
            let id = DefinitionId {
                kind,
                name: definition.name.clone(),
                digest: definition.digest.clone(),
            };
            (id, definition)
        })
        .collect();
    unaccepted
        .into_iter()
        .map(|(acceptance, id)| {
            let definition = definitions.get(&id);
            UnacceptedDefinition {
                needs_own_acceptance: server.spec.content_defence == ContentDefence::Ask
                    && definition.is_some_and(|definition| !definition.flags().is_empty()),
                flags: definition
                    .map(|definition| tools::definition_flags(hub, server, id.kind, definition))
                    .unwrap_or_default(),
                id,
                acceptance,
            }
        })
        .collect()
}

/// Returns the estimated tokens of the tools that clients can see.
fn sum_visible_tokens(tools: &[ToolView]) -> u32 {
    tools
        .iter()
        .filter(|tool| tool.hidden.is_empty())
        .map(|tool| tool.tokens)
        .sum()
}

/// Returns the state of a server, the reason for the state, and the remedy.
pub(super) fn server_state(hub: &Hub, server: &RegisteredServer) -> (ServerState, String, String) {
    let status = |state, reason: &str, remedy: &str| (state, reason.to_owned(), remedy.to_owned());
    if !server.spec.enabled {
        // The state itself is the reason why the server does not run.
        return status(
            ServerState::Disabled,
            "",
            "Enable the server to use its tools.",
        );
    }
    match hub.registry.acceptance(server) {
        AcceptanceState::Accepted => match hub.authorizer.sign_in_reason(&server.spec) {
            Some(reason) => status(ServerState::NeedsSignIn, &reason, SIGN_IN_REMEDY),
            None => {
                let of_session = hub
                    .pool
                    .status(&server.id)
                    .map_or_else(|| status(ServerState::Idle, "", ""), session_state);
                match server.spec.builtin {
                    Some(BuiltIn::Docling) => docling_state(hub, of_session),
                    Some(BuiltIn::Memory | BuiltIn::Folders) | None => of_session,
                }
            }
        },
        AcceptanceState::New => status(
            ServerState::NeedsAcceptance,
            "it is new and not accepted yet",
            "Check what the server would start, then accept it.",
        ),
        AcceptanceState::Changed => status(
            ServerState::NeedsAcceptance,
            &hub.registry.program_change(&server.id).map_or_else(
                || "it has changed since you accepted it".to_owned(),
                |change| change.to_string(),
            ),
            "Check what the server would start now, then accept it.",
        ),
    }
}

/// Returns the state of the built-in server `docling-tools`. Its tools need another server, which
/// converts the documents, and that server's models.
fn docling_state(
    hub: &Hub,
    of_session: (ServerState, String, String),
) -> (ServerState, String, String) {
    if let Some(problem) = hub.docling.find_problem(hub) {
        return (ServerState::Error, problem.to_string(), problem.remedy());
    }
    if hub.docling.lacks_models(hub) {
        let problem = DoclingError::NoModels;
        return (of_session.0, problem.to_string(), problem.remedy());
    }
    of_session
}

fn session_state(status: Status) -> (ServerState, String, String) {
    let state = match (status.state, &status.failure) {
        (_, Some(UpstreamError::Secret(_))) => ServerState::NeedsSecret,
        (State::Idle, _) => ServerState::Idle,
        (State::Initializing { .. }, _) => ServerState::Initializing,
        (State::Active, _) => ServerState::Active,
        (State::Error { .. } | State::BreakerOpen, _) => ServerState::Error,
        // The session gave up after its last retry, which a person sees as an error too.
        (State::Closed, Some(_)) => ServerState::Error,
        (State::Closed, None) => ServerState::Closed,
    };
    let remedy = if status.state == State::BreakerOpen {
        "Check the server's log to find out why it crashes. Restart the server to try again now."
            .into()
    } else {
        status
            .failure
            .map(|failure| failure.remedy())
            .unwrap_or_default()
    };
    (state, status.reason, remedy)
}

pub(super) fn broken_spec(broken: &BrokenFile) -> BrokenSpec {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    BrokenSpec {
        file: broken.file.display().to_string(),
        line: number(broken.line),
        column: number(broken.column),
        message: broken.message.clone(),
    }
}

pub(super) fn parsed_spec(read: ImportedServer) -> ParsedSpec {
    let (spec, problem) = match read.spec {
        Ok(spec) => (Some(spec), String::new()),
        Err(error) => (None, error.to_string()),
    };
    ParsedSpec {
        name: read.name,
        spec,
        problem,
        likely_secrets: read.likely_secrets,
        notes: read.notes,
    }
}

pub(super) fn skipped_spec(skipped: SkippedEntry) -> ParsedSpec {
    ParsedSpec {
        name: skipped.name,
        spec: None,
        problem: skipped.reason.to_string(),
        likely_secrets: Vec::new(),
        notes: Vec::new(),
    }
}
