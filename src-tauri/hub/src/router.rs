//! The router maps an exposed name or a URI to a server and forwards requests to it.

mod passthrough;
mod result_cache;
mod subscriptions;
mod tasks;

use std::sync::Arc;

use drawbridge_model::{
    capability::CapabilityKind, ids::ServerId, protocol, spec::RegisteredServer,
};
use drawbridge_sessions::{ClientHandle, ClientScope, ClientSession};
use drawbridge_upstream::{Pool, RequestTimeouts, ServerRequest, UpstreamError, transport::Reply};

use crate::{
    catalog::{Catalog, CatalogEntry, CatalogView, deferred},
    policy::{Permitted, ToolCall},
    registry::Registry,
};
use result_cache::ResultCache;
use subscriptions::Subscriptions;
use tasks::Tasks;

/// Finds tools and forwards calls to their servers. Cheap to clone.
#[derive(Clone)]
pub struct Router {
    registry: Registry,
    catalog: Catalog,
    pool: Pool,
    subscriptions: Subscriptions,
    tasks: Tasks,
    result_cache: ResultCache,
}

/// The reason why a permitted call was not forwarded or has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    #[error("the tool or its server changed after the call was approved; retry the call")]
    Changed,
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
}

impl Router {
    pub fn new(registry: Registry, catalog: Catalog, pool: Pool) -> Self {
        Self {
            registry,
            catalog,
            pool,
            subscriptions: Subscriptions::default(),
            tasks: Tasks::default(),
            result_cache: ResultCache::default(),
        }
    }

    /// Returns the entry that has this exposed name in the client's catalog view. If there is none,
    /// refreshes the catalog and looks once more.
    pub async fn find(
        &self,
        session: &ClientSession,
        kind: CapabilityKind,
        exposed_name: &str,
    ) -> Option<Arc<CatalogEntry>> {
        self.search(session, |lists| lists.find(kind, exposed_name).cloned())
            .await
    }

    /// Applies `lookup` to the client's catalog view, and once more after a refresh if the first
    /// time finds nothing.
    async fn search<T>(
        &self,
        session: &ClientSession,
        lookup: impl Fn(&CatalogView) -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = lookup(&self.catalog.session_view(session)) {
            return Some(found);
        }
        Box::pin(self.catalog.refresh_stale()).await;
        lookup(&self.catalog.session_view(session))
    }

    /// Returns the client's catalog view if the client finds a part of it only with `tool_search`.
    pub fn deferring_view(&self, session: &ClientSession) -> Option<Arc<CatalogView>> {
        Some(self.catalog.session_view(session)).filter(|lists| deferred::is_offered(lists))
    }

    /// Returns the same tool of the next fallback server, if there is one that was not tried yet.
    /// The fallbacks are those of the server that was tried first. The client's profile limits the
    /// choice; the scope of its endpoint does not.
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
        let view = self.catalog.client_view(&session.client, &ClientScope::All);
        let same = |id: &ServerId| view.find_server_tool(id, &tool.definition.name).cloned();
        first.spec.fallback.iter().filter(is_new).find_map(same)
    }

    /// Sends a permitted call to its server, once, or answers it with a cached result.
    ///
    /// # Errors
    /// Returns an error if the tool or its server is not the permitted one any more, or if the
    /// server does not answer.
    pub async fn forward(
        &self,
        permitted: &Permitted,
        handle: &ClientHandle,
    ) -> Result<Reply, ForwardError> {
        let call = permitted.call();
        let server = self
            .registry
            .get(&call.tool.server.id)
            .map_err(|_| ForwardError::Changed)?;
        // Take the session before the check: a spec that changes after this line ends the session.
        let session = self.pool.session(&server, Some(&call.client));
        if session.server().identity != call.tool.server.identity || !self.is_unchanged(call) {
            return Err(ForwardError::Changed);
        }
        let cache_key = result_cache::CacheKey::for_call(
            &call.client,
            &call.tool,
            &call.arguments,
            call.extra.as_deref(),
        );
        if let Some(result) = cache_key
            .as_ref()
            .and_then(|key| self.result_cache.get(key))
        {
            return Ok(Reply::Result(result));
        }
        let deadlines =
            RequestTimeouts::from_spec(&server.spec.timeouts, Some(&call.tool.definition.name));
        let header_params = call
            .tool
            .definition
            .header_params
            .as_deref()
            .unwrap_or_default();
        let outgoing = ServerRequest::new("tools/call", Some(&call.params), deadlines)
            .on_behalf_of(handle, call.progress_token.as_ref())
            .with_mirrored_headers(header_params);
        let reply = session.request(outgoing).await?;
        match (cache_key, &reply) {
            (Some(key), Reply::Result(result)) => self.result_cache.put(key, result),
            (None, _)
                if server.spec.cache_results_ms > 0
                    && call.tool.definition.annotations.read_only != Some(true) =>
            {
                self.result_cache.remove_server(&server.id);
            }
            _ => {}
        }
        let may_begin =
            protocol::tasks::may_become_task(&handle.session().hello, call.extra.as_deref());
        if let (true, Reply::Result(result)) = (may_begin, &reply)
            && let Err(error) = self.tasks.record(&server.id, handle, result)
        {
            return Ok(Reply::Error(error));
        }
        Ok(reply)
    }

    fn is_unchanged(&self, call: &ToolCall) -> bool {
        let server = self.registry.get_runnable(&call.tool.server.id);
        let snapshot = self.catalog.snapshot();
        let tool = snapshot
            .server_view(&call.tool.server.id)
            .and_then(|alone| alone.find(CapabilityKind::Tools, &call.tool.definition.name));
        server.is_ok_and(|now| now.identity == call.tool.server.identity)
            && tool.is_some_and(|now| {
                now.definition.decision_digest() == call.tool.definition.decision_digest()
            })
    }
}
