//! The router maps an exposed name or a URI to a server, and forwards requests to this server.

mod passthrough;
mod result_cache;
mod subscriptions;
mod tasks;

use std::sync::Arc;

use drawbridge_jsonrpc::json::{Json, RawObject};
use drawbridge_model::{
    capability::CapabilityKind,
    ids::ServerId,
    protocol::{self, guarded::GuardedMethod},
    spec::RegisteredServer,
};
use drawbridge_sessions::{ClientHandle, ClientSession};
use drawbridge_upstream::{
    Lease, Pool, ProgressObserver, RequestSpan, RequestTimeouts, ServerRequest, UpstreamError,
    transport::RpcResponse,
};

use crate::{
    catalog::{Catalog, CatalogEntry, CatalogView, Unavailable, deferred},
    metrics::{Cache, Metrics},
    policy::{GuardedRequest, Permitted},
    registry::Registry,
    traces::{OpenSpan, Tracer},
};
use result_cache::ResultCache;
use subscriptions::Subscriptions;
use tasks::Tasks;

/// Finds tools, prompts, resources and tasks, and forwards permitted requests to servers. Cheap to
/// clone.
#[derive(Clone)]
pub struct Router {
    registry: Registry,
    catalog: Catalog,
    pool: Pool,
    subscriptions: Subscriptions,
    tasks: Tasks,
    result_cache: ResultCache,
    metrics: Metrics,
    tracer: Tracer,
}

pub use passthrough::{Target, server_error, string_member};

/// The reason why a permitted request was not sent or has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    #[error(
        "the server, or its tool or prompt, has changed since the request was permitted; retry the request"
    )]
    Changed,
    #[error("the server runs only during a call, so it cannot report changes")]
    Transient,
    #[error("this session has too many subscriptions; unsubscribe from some resources first")]
    TooManySubscriptions,
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
}

/// The span of a request to a server, if spans are recorded, and the part of the span that the
/// connection fills in when it sends the request.
struct ServerSpan(Option<Box<(Box<OpenSpan>, RequestSpan)>>);

impl ServerSpan {
    fn request(&self) -> Option<&RequestSpan> {
        self.0.as_deref().map(|(_, request)| request)
    }

    /// Ends the span with the server's answer, which is returned unchanged.
    fn end(
        self,
        response: Result<RpcResponse, UpstreamError>,
    ) -> Result<RpcResponse, UpstreamError> {
        let Some(span) = self.0 else { return response };
        let (mut span, request) = *span;
        if let Some(sent) = request.sent.get() {
            span.set_sent(sent);
        }
        match &response {
            Ok(RpcResponse::Result(result)) if is_tool_error(result) => span.fail("tool_error", ""),
            Ok(RpcResponse::Result(_)) => {}
            Ok(RpcResponse::Error(error)) => span.set_error(error),
            Err(error) => span.fail(failure_kind(error), &error.to_string()),
        }
        span.finish();
        response
    }
}

/// Returns the value of the span's attribute `error.type`.
fn failure_kind(error: &UpstreamError) -> &'static str {
    match error {
        UpstreamError::TimedOut(_) => "timeout",
        UpstreamError::Lost(_) => "connection_lost",
        UpstreamError::Protocol(_) => "invalid_answer",
        UpstreamError::Unreachable(_)
        | UpstreamError::Starting { .. }
        | UpstreamError::Refused(_)
        | UpstreamError::Secret(_)
        | UpstreamError::NeedsSignIn(_) => "unreachable",
    }
}

impl Router {
    pub fn new(
        registry: Registry,
        catalog: Catalog,
        pool: Pool,
        metrics: Metrics,
        tracer: Tracer,
    ) -> Self {
        Self {
            registry,
            catalog,
            pool,
            subscriptions: Subscriptions::default(),
            tasks: Tasks::default(),
            result_cache: ResultCache::default(),
            metrics,
            tracer,
        }
    }

    /// Returns the tool or prompt that has this exposed name in the client's catalog view. If there
    /// is none, refreshes the catalog and looks once more. If the name has the prefix of a server
    /// that is being read for the first time, also waits for that read.
    pub async fn find(
        &self,
        session: &Arc<ClientSession>,
        kind: CapabilityKind,
        exposed_name: &str,
    ) -> Option<Arc<CatalogEntry>> {
        let lookup = |view: &CatalogView| view.find(kind, exposed_name).cloned();
        if let Some(found) = self.search(session, lookup).await {
            return Some(found);
        }
        if !Box::pin(self.catalog.read_server_of(session, exposed_name)).await {
            return None;
        }
        lookup(&self.catalog.session_view(session))
    }

    /// Applies `lookup` to the client's catalog view. If `lookup` finds nothing, refreshes the
    /// catalog and applies `lookup` once more.
    async fn search<T>(
        &self,
        session: &Arc<ClientSession>,
        lookup: impl Fn(&CatalogView) -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = lookup(&self.catalog.session_view(session)) {
            return Some(found);
        }
        Box::pin(self.catalog.refresh_stale(Some(session))).await;
        lookup(&self.catalog.session_view(session))
    }

    /// Returns the tool with this exposed name if the client cannot use the tool now.
    pub fn find_unavailable(
        &self,
        session: &ClientSession,
        exposed_name: &str,
    ) -> Option<Unavailable> {
        let kind = CapabilityKind::Tools;
        self.catalog.find_unavailable(session, kind, exposed_name)
    }

    /// Returns a server if it may run.
    pub fn runnable_server(&self, id: &ServerId) -> Option<Arc<RegisteredServer>> {
        self.registry.get_runnable(id).ok()
    }

    /// Returns the client's catalog view if the client finds a part of it only with `tool_search`.
    pub fn deferring_view(&self, session: &ClientSession) -> Option<Arc<CatalogView>> {
        Some(self.catalog.session_view(session)).filter(|view| deferred::is_offered(view))
    }

    /// Returns the same tool of the next fallback server, if a fallback was not tried yet.
    /// The fallbacks are those of the server that was tried first. The client's profile limits the
    /// choice; the endpoint `/mcp/ID` of a single server does not.
    pub fn next_fallback(
        &self,
        session: &ClientSession,
        tool: &CatalogEntry,
        tried: &[(Arc<RegisteredServer>, String)],
    ) -> Option<Arc<CatalogEntry>> {
        let first = tried.first().map_or(&tool.server, |(server, _)| server);
        let is_new = |id: &&ServerId| {
            **id != tool.server.id && tried.iter().all(|(server, _)| server.id != **id)
        };
        let view = self
            .catalog
            .client_view(&session.client, &session.scope.with_all_servers());
        let same_tool = |id: &ServerId| view.find_server_tool(id, &tool.definition.name).cloned();
        let mut untried = first.spec.fallback.iter().filter(is_new);
        untried.find_map(same_tool)
    }

    /// Sends a permitted call to its server, once, or answers it with a cached result. `observer`
    /// gets the call's progress.
    ///
    /// # Errors
    /// Returns an error if the tool or its server has changed since the call was permitted, or if
    /// the server does not answer.
    pub async fn forward(
        &self,
        permitted: &Permitted,
        handle: &ClientHandle,
        observer: Option<&Arc<dyn ProgressObserver>>,
    ) -> Result<RpcResponse, ForwardError> {
        let call = permitted.request();
        let Some(tool) = &call.entry else {
            return Err(ForwardError::Changed);
        };
        let (server, session) = self.lease_session(call)?;
        let cache_key = result_cache::CacheKey::for_call(
            &call.client,
            tool,
            &call.arguments,
            call.extra.as_deref(),
        );
        if let Some(key) = &cache_key {
            let cached = self.result_cache.get(key);
            self.metrics
                .count_cache_request(Cache::Results, cached.is_some());
            if let Some(result) = cached {
                return Ok(RpcResponse::Result(result));
            }
        }
        let timeouts =
            RequestTimeouts::from_spec(&server.spec.timeouts, Some(&tool.definition.name));
        let header_params = tool.definition.header_params.as_deref().unwrap_or_default();
        let outgoing = ServerRequest::new(call.method.name(), Some(&call.params), timeouts)
            .on_behalf_of(handle, call.progress_token.as_ref())
            .with_mirrored_headers(header_params)
            .observed_by(observer);
        let span = self.begin_span(call);
        let sent = session.request(outgoing.within_span(span.request())).await;
        let response = span.end(sent)?;
        match (cache_key, &response) {
            (Some(key), RpcResponse::Result(result)) => {
                self.metrics.count_cache_refresh(Cache::Results);
                self.result_cache.put(key, result);
            }
            // The call may have changed the data that the cached results contain.
            (None, _)
                if server.spec.cache_results_ms > 0
                    && tool.definition.annotations.read_only != Some(true) =>
            {
                self.result_cache.remove_server(&server.id);
            }
            _ => {}
        }
        let may_become_task =
            protocol::tasks::may_become_task(&handle.session().hello, call.extra.as_deref());
        if let (true, RpcResponse::Result(result)) = (may_become_task, &response)
            && let Some(id) = protocol::tasks::created_task_id(result)
            && let Err(error) = self
                .tasks
                .record(permitted.to_permitted_request(), id, handle)
        {
            return Ok(RpcResponse::Error(error));
        }
        Ok(response)
    }

    /// Begins the span of a request to a server, if spans are recorded.
    fn begin_span(&self, request: &GuardedRequest) -> ServerSpan {
        let method = request.method.name();
        let server = request.server.id.as_str();
        let span = self
            .tracer
            .begin_server_request(request.trace, method, &request.name, server);
        ServerSpan(span.map(|mut span| {
            if request.method == GuardedMethod::CallTool {
                span.set_content("gen_ai.tool.call.arguments", request.arguments.get());
            }
            let request_span = RequestSpan::new(span.context());
            Box::new((span, request_span))
        }))
    }

    /// Returns the server of a permitted request, and its session.
    ///
    /// # Errors
    /// Returns an error if the server, the tool or the prompt has changed since the request was
    /// permitted.
    fn lease_session(
        &self,
        request: &GuardedRequest,
    ) -> Result<(Arc<RegisteredServer>, Lease), ForwardError> {
        let server = self.registry.get(&request.server.id);
        let server = server.map_err(|_| ForwardError::Changed)?;
        // The session is taken before the check: if the spec changes after this line, the session
        // ends.
        let session = self.pool.session(&server, Some(&request.client));
        if session.server().identity != request.server.identity || !self.is_unchanged(request) {
            return Err(ForwardError::Changed);
        }
        Ok((server, session))
    }

    fn is_unchanged(&self, request: &GuardedRequest) -> bool {
        let server = self.registry.get_runnable(&request.server.id);
        if !server.is_ok_and(|server| server.identity == request.server.identity) {
            return false;
        }
        let kind = match request.method {
            GuardedMethod::CallTool => CapabilityKind::Tools,
            GuardedMethod::GetPrompt => CapabilityKind::Prompts,
            // The definition of a resource does not determine what is read, and a task has no
            // definition.
            GuardedMethod::ReadResource
            | GuardedMethod::SubscribeToResource
            | GuardedMethod::Complete
            | GuardedMethod::GetTask
            | GuardedMethod::UpdateTask
            | GuardedMethod::CancelTask
            | GuardedMethod::GetTaskResult
            | GuardedMethod::ListTasks
            | GuardedMethod::CreateMessage
            | GuardedMethod::Elicit
            | GuardedMethod::ListRoots => return true,
        };
        let Some(permitted) = &request.entry else {
            return false;
        };
        let snapshot = self.catalog.client_snapshot(&request.client);
        let current = snapshot
            .server_view(&request.server.id)
            .and_then(|view| view.find(kind, &permitted.definition.name));
        current.is_some_and(|current| {
            current.definition.offered_digest() == permitted.definition.offered_digest()
        })
    }
}

/// Returns whether the tool reports a failure itself, with `isError`. Most results do not contain
/// this key, so this function searches for the key before it parses the result.
pub fn is_tool_error(result: &Json) -> bool {
    const KEY: &str = "\"isError\"";
    let text = result.get();
    let is_true = |at: usize| {
        let value = text[at + KEY.len()..]
            .trim_start()
            .strip_prefix(':')
            .map(str::trim_start);
        value.is_some_and(|value| value.starts_with("true"))
    };
    memchr::memmem::find_iter(text.as_bytes(), KEY).any(is_true)
        && RawObject::parse(result).is_ok_and(|result| {
            result
                .get("isError")
                .is_some_and(|value| value.get() == "true")
        })
}
