//! The payloads of the events. docs/hooks.md has their JSON Schemas.

use drawbridge_jsonrpc::json::{self, RawObject};
use drawbridge_model::{
    call::{Call, Outcome},
    capability::CapabilityKind,
    hook::{Hook, HookEvent, HookMode},
    ids::Timestamp,
    tool_result::ToolExecutionResult,
};
use drawbridge_upstream::{ConnectionChange, ConnectionChangeKind};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::{catalog::ServerCopy, policy::GuardedRequest};

/// The longest error message in a payload, in characters.
const MAX_ERROR: usize = 2_000;

/// The input of a hook: the hook's name and mode, and the event with its time and payload.
#[derive(Serialize)]
pub(super) struct Envelope<'a> {
    pub(super) hook: &'a str,
    pub(super) event: HookEvent,
    pub(super) mode: HookMode,
    /// The time of the event.
    pub(super) at: Timestamp,
    pub(super) payload: &'a RawValue,
}

impl Envelope<'_> {
    /// Returns the input for a hook.
    pub(super) fn encode(
        hook: &Hook,
        event: HookEvent,
        at: Timestamp,
        payload: &RawValue,
    ) -> String {
        let envelope = Envelope {
            hook: &hook.name,
            event,
            mode: hook.mode,
            at,
            payload,
        };
        serde_json::to_string(&envelope).expect("names and JSON can be written as JSON")
    }
}

/// Returns whether the payload of `tool_executed` contains the contents of the result for this hook.
pub(super) fn gets_results(hook: &Hook) -> bool {
    hook.with_result || hook.mode == HookMode::Blocking
}

/// Returns a payload of `tool_executed` without the contents of the result.
pub(super) fn remove_result(payload: &RawValue) -> Box<RawValue> {
    let without_result = || {
        let mut changed = RawObject::parse(payload).ok()?;
        let metadata = {
            let mut metadata = RawObject::parse(changed.get("metadata")?).ok()?;
            metadata.remove("result");
            metadata.remove("mcp_result");
            metadata.to_raw()
        };
        changed.set("metadata", metadata);
        Some(changed.to_raw())
    };
    without_result().unwrap_or_else(|| payload.to_owned())
}

#[derive(Serialize)]
struct ServerConnectedPayload<'a> {
    server_name: &'a str,
    transport: &'a str,
    protocol_version: &'a str,
    tool_count: usize,
    prompt_count: usize,
    resource_count: usize,
    resource_template_count: usize,
}

/// Returns the payload of `server_connected`, with the counts of the server's lists.
pub(super) fn server_connected(
    change: &ConnectionChange,
    protocol_version: &str,
    copy: &ServerCopy,
) -> Box<RawValue> {
    json::to_raw(&ServerConnectedPayload {
        server_name: change.server.as_str(),
        transport: change.transport,
        protocol_version,
        tool_count: copy.count(CapabilityKind::Tools),
        prompt_count: copy.count(CapabilityKind::Prompts),
        resource_count: copy.count(CapabilityKind::Resources),
        resource_template_count: copy.count(CapabilityKind::Templates),
    })
}

#[derive(Serialize)]
struct ServerDisconnectedPayload<'a> {
    server_name: &'a str,
    transport: &'a str,
    reason: &'a str,
    had_session: bool,
    protocol_version: Option<&'a str>,
    session_id: Option<&'a str>,
}

/// Returns the payload of `server_disconnected`, or `None` if the change is a new connection.
pub(super) fn server_disconnected(change: &ConnectionChange) -> Option<Box<RawValue>> {
    let ConnectionChangeKind::Disconnected { reason, session } = &change.kind else {
        return None;
    };
    Some(json::to_raw(&ServerDisconnectedPayload {
        server_name: change.server.as_str(),
        transport: change.transport,
        reason,
        had_session: session.is_some(),
        protocol_version: session.as_ref().map(|session| &*session.protocol_version),
        session_id: session
            .as_ref()
            .and_then(|session| session.session_id.as_deref()),
    }))
}

#[derive(Serialize)]
struct ToolRequestedPayload<'a> {
    server_name: &'a str,
    tool_name: &'a str,
    arguments: &'a RawValue,
    metadata: RequestMetadata<'a>,
}

#[derive(Serialize)]
struct RequestMetadata<'a> {
    client: &'a str,
    exposed_name: &'a str,
    session: &'a str,
    project: Option<String>,
    /// The hooks that have changed the arguments so far.
    changed_by: &'a [String],
}

/// Returns the payload of `tool_requested`.
pub(super) fn tool_requested(request: &GuardedRequest) -> Box<RawValue> {
    json::to_raw(&ToolRequestedPayload {
        server_name: request.server.id.as_str(),
        tool_name: &request.name,
        arguments: &request.arguments,
        metadata: RequestMetadata {
            client: request.client.as_str(),
            exposed_name: &request.exposed_name,
            session: request.session.as_str(),
            project: request
                .project
                .as_ref()
                .map(|folder| folder.display().to_string()),
            changed_by: request.request_hooks(),
        },
    })
}

#[derive(Serialize)]
struct ToolExecutedPayload<'a> {
    server_name: &'a str,
    tool_name: &'a str,
    arguments: &'a RawValue,
    success: bool,
    duration_ms: u32,
    content_length: usize,
    error_message: String,
    metadata: ResultMetadata<'a>,
}

#[derive(Serialize)]
struct ResultMetadata<'a> {
    call: &'a str,
    client: &'a str,
    exposed_name: &'a str,
    outcome: Outcome,
    /// The hooks that changed the arguments.
    arguments_changed_by: &'a [String],
    /// The hooks that have replaced the result so far.
    result_changed_by: &'a [String],
    /// The `_meta` of the result.
    meta: &'a Value,
    /// The result in the unified shape, which is the same for all servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a ToolExecutionResult>,
    /// The result as the server sent it, or as a hook replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_result: Option<&'a RawValue>,
}

/// A call that has ended, with everything that the payload of `tool_executed` contains.
pub(super) struct Executed<'a> {
    pub(super) request: &'a GuardedRequest,
    pub(super) call: &'a Call,
    pub(super) outcome: Outcome,
    pub(super) duration_ms: u32,
    pub(super) result: &'a ToolExecutionResult,
    /// The result as the server sent it, or as a hook replaced it; `None` if there is none.
    pub(super) mcp_result: Option<&'a RawValue>,
    /// The hooks that have replaced the result so far.
    pub(super) result_hooks: &'a [String],
}

impl Executed<'_> {
    /// Returns the payload of `tool_executed`, with or without the contents of the result.
    pub(super) fn payload(&self, with_result: bool) -> Box<RawValue> {
        let error: String = self.result.error_message.chars().take(MAX_ERROR).collect();
        json::to_raw(&ToolExecutedPayload {
            server_name: self.request.server.id.as_str(),
            tool_name: &self.request.name,
            arguments: &self.request.arguments,
            success: self.result.success,
            duration_ms: self.duration_ms,
            content_length: self.result.content_length(),
            error_message: error,
            metadata: ResultMetadata {
                call: self.call.id.as_str(),
                client: self.call.client.as_str(),
                exposed_name: &self.call.exposed_name,
                outcome: self.outcome,
                arguments_changed_by: &self.call.request_hooks,
                result_changed_by: self.result_hooks,
                meta: &self.result.metadata,
                result: with_result.then_some(self.result),
                mcp_result: self.mcp_result.filter(|_| with_result),
            },
        })
    }
}
