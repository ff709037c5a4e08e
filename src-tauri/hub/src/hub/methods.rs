//! The table of the MCP methods that a client can use. A method has one row, even if both eras have
//! it. A request whose method has no row is refused.

use std::sync::Arc;

use drawbridge_jsonrpc::{
    json::Json,
    rpc::{RpcError, RpcResult, code},
};
use drawbridge_model::{
    capability::CapabilityKind,
    protocol::{self, Era, guarded::GuardedMethod},
};
use drawbridge_sessions::{ClientRequest, ClientSession};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Hub;

/// A method that clients can use.
pub struct Method {
    pub name: &'static str,
    /// The era that has the method, or `None` if both have it.
    pub era: Option<Era>,
    /// The decision that is required before anything is sent to a server.
    pub decision: Required,
    handler: Handler,
}

/// The decision that a request requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// No decision is required: Drawbridge answers the request by itself.
    Nothing,
    /// Calls must not be paused.
    NotPaused,
    /// A rule, the default or a person must allow each request. The request is recorded with its
    /// decision and its outcome.
    Permission(GuardedMethod),
}

/// The function that handles a message of a client.
enum Handler {
    Request(for<'a> fn(&'a Hub, ClientRequest<'a>) -> BoxFuture<'a, RpcResult>),
    Notification(fn(&Arc<Hub>, &ClientSession, Option<&RawValue>)),
    /// Opens a session. The endpoint does this, because the answer carries the session's id.
    OpensSession,
    /// Opens a stream. The endpoint does this, because the answer is the stream.
    OpensStream,
}

use Handler::{Notification, OpensSession, OpensStream, Request};
use Required::{NotPaused, Nothing, Permission};

const BOTH: Option<Era> = None;
const LEGACY: Option<Era> = Some(Era::Legacy);
const MODERN: Option<Era> = Some(Era::Modern);

/// All methods.
#[rustfmt::skip]
pub static METHODS: &[Method] = &[
    method("initialize", LEGACY, Nothing, OpensSession),
    method("server/discover", MODERN, Nothing, Request(|hub, request| Box::pin(async move { Ok(hub.discover(request)) }))),
    method("ping", LEGACY, Nothing, Request(|_, _| Box::pin(async { Ok(Json::new("{}")) }))),
    method("tools/list", BOTH, Nothing, Request(|hub, request| Box::pin(hub.list(CapabilityKind::Tools, request)))),
    method("prompts/list", BOTH, Nothing, Request(|hub, request| Box::pin(hub.list(CapabilityKind::Prompts, request)))),
    method("resources/list", BOTH, Nothing, Request(|hub, request| Box::pin(hub.list(CapabilityKind::Resources, request)))),
    method("resources/templates/list", BOTH, Nothing, Request(|hub, request| Box::pin(hub.list(CapabilityKind::Templates, request)))),
    guarded(GuardedMethod::CallTool, BOTH, Request(|hub, request| Box::pin(hub.pipeline.call(request)))),
    guarded(GuardedMethod::GetPrompt, BOTH, Request(|hub, request| Box::pin(hub.pipeline.get_prompt(request)))),
    guarded(GuardedMethod::ReadResource, BOTH, Request(|hub, request| Box::pin(hub.pipeline.read_resource(request)))),
    guarded(GuardedMethod::SubscribeToResource, LEGACY, Request(|hub, request| Box::pin(hub.pipeline.subscribe_to_resource(request)))),
    method("resources/unsubscribe", LEGACY, NotPaused, Request(|hub, request| Box::pin(hub.router.unsubscribe_from_resource(request)))),
    method("subscriptions/listen", MODERN, Nothing, OpensStream),
    guarded(GuardedMethod::Complete, BOTH, Request(|hub, request| Box::pin(hub.pipeline.complete(request)))),
    method("logging/setLevel", LEGACY, NotPaused, Request(|hub, request| Box::pin(hub.router.set_log_level(request)))),
    guarded(GuardedMethod::GetTask, BOTH, Request(|hub, request| Box::pin(hub.pipeline.forward_task_request(GuardedMethod::GetTask, request)))),
    guarded(GuardedMethod::UpdateTask, BOTH, Request(|hub, request| Box::pin(hub.pipeline.forward_task_request(GuardedMethod::UpdateTask, request)))),
    guarded(GuardedMethod::CancelTask, BOTH, Request(|hub, request| Box::pin(hub.pipeline.forward_task_request(GuardedMethod::CancelTask, request)))),
    guarded(GuardedMethod::GetTaskResult, LEGACY, Request(|hub, request| Box::pin(hub.pipeline.forward_task_request(GuardedMethod::GetTaskResult, request)))),
    guarded(GuardedMethod::ListTasks, LEGACY, Request(|hub, request| Box::pin(hub.pipeline.list_tasks(request)))),
    method("notifications/cancelled", LEGACY, Nothing, Notification(|_, session, params| cancel_request(session, params))),
    method("notifications/roots/list_changed", LEGACY, Nothing, Notification(|hub, _, _| hub.announce_roots_changed())),
];

const fn method(
    name: &'static str,
    era: Option<Era>,
    decision: Required,
    handler: Handler,
) -> Method {
    Method {
        name,
        era,
        decision,
        handler,
    }
}

/// Returns the row of a method whose requests are decided and recorded.
const fn guarded(guarded: GuardedMethod, era: Option<Era>, handler: Handler) -> Method {
    method(guarded.name(), era, Permission(guarded), handler)
}

/// Returns whether a request with this method opens a session. The answer to such a request carries
/// the id of the session.
pub fn opens_session(name: &str) -> bool {
    find_method(name).is_some_and(|method| matches!(method.handler, OpensSession))
}

fn find_method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// Returns the row of a request's method in an era.
///
/// # Errors
/// Returns an error (`-32601`) if the era has no request with this method.
pub fn find_request(name: &str, era: Era) -> Result<&'static Method, RpcError> {
    let unknown = |reason: String| Err(RpcError::new(code::METHOD_NOT_FOUND, reason));
    let is_request = |method: &&Method| !matches!(method.handler, Notification(_));
    match find_method(name).filter(is_request) {
        Some(method) if method.era.is_none_or(|required| required == era) => Ok(method),
        Some(_) if era.is_modern() => {
            unknown(format!("this revision of MCP has no method '{name}'"))
        }
        _ => unknown(format!("Unknown method: {name}")),
    }
}

impl Method {
    /// Returns whether the answer is a stream of notifications.
    pub fn opens_stream(&self) -> bool {
        matches!(self.handler, OpensStream)
    }

    /// Answers a request, or refuses it if calls are paused and the method requires [`NotPaused`].
    /// If the method requires a permission, its handler asks the gate.
    pub(super) async fn answer(&'static self, hub: &Hub, request: ClientRequest<'_>) -> RpcResult {
        if self.decision == NotPaused && hub.drawbridge.is_paused() {
            return Err(RpcError::new(code::INTERNAL_ERROR, PAUSED));
        }
        match self.handler {
            Request(handle) => handle(hub, request).await,
            Notification(_) | OpensSession | OpensStream => Err(RpcError::new(
                code::INVALID_REQUEST,
                format!("`{}` cannot be sent here", self.name),
            )),
        }
    }
}

/// The error of a request that requires [`NotPaused`] while all calls are paused.
const PAUSED: &str = "All calls are paused.";

/// Handles a notification of a client. A notification whose method has no row has no effect.
pub(super) fn handle_notification(
    hub: &Arc<Hub>,
    session: &ClientSession,
    name: &str,
    params: Option<&RawValue>,
) {
    if let Some(Method {
        handler: Notification(handle),
        ..
    }) = find_method(name)
    {
        handle(hub, session, params);
    }
}

/// Cancels the request that `notifications/cancelled` names.
fn cancel_request(session: &ClientSession, params: Option<&RawValue>) {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow, rename = "requestId")]
        request: &'a RawValue,
    }
    if let Some(Ok(cancelled)) =
        params.map(|params| serde_json::from_str::<Cancelled<'_>>(params.get()))
    {
        session.cancel_request(cancelled.request.get());
    }
}

impl Hub {
    /// Tells the running legacy servers that the roots of a client or of the settings have changed.
    pub(crate) fn announce_roots_changed(&self) {
        let sessions = self.pool.active_sessions();
        tokio::spawn(async move {
            for session in sessions {
                session
                    .notify("notifications/roots/list_changed", None)
                    .await;
            }
        });
    }

    /// Answers `server/discover`.
    fn discover(&self, request: ClientRequest<'_>) -> Json {
        let session = request.handle.session();
        let servers = self.introduce_servers(&session.client, &session.scope);
        protocol::handshake::discover_result(&servers).into()
    }

    /// Answers a list request with one page that has all entries.
    async fn list(&self, kind: CapabilityKind, request: ClientRequest<'_>) -> RpcResult {
        protocol::reject_cursor(request.method, request.params)?;
        let session = request.handle.session();
        if kind == CapabilityKind::Tools {
            session.record_tools_read();
        }
        self.catalog.refresh_stale(Some(session)).await;
        let view = self.catalog.session_view(session);
        Ok(view.list_result(kind).clone())
    }
}

#[cfg(test)]
mod tests;
