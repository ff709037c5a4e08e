//! The router maps an exposed name or a URI to a server and forwards requests to it.

mod pass;
mod results;
mod subscriptions;
mod tasks;

use std::sync::Arc;

pub use pass::take_progress_token;
use results::Results;
use subscriptions::Subscriptions;
use tasks::Tasks;

use crate::{
    catalog::{Catalog, CatalogEntry, Lists, deferred},
    model::{capability::CapabilityKind, ids::ServerId, spec::RegisteredServer},
    policy::{Permitted, ToolCall},
    protocol,
    registry::Registry,
    sessions::{Back, ClientSession, Reach},
    transport::Reply,
    upstream::{OutgoingRequest, Pool, RequestTimeouts, UpstreamError},
};

/// Finds tools and forwards calls to their servers. Cheap to clone.
#[derive(Clone)]
pub struct Router {
    registry: Registry,
    catalog: Catalog,
    pool: Pool,
    subscriptions: Subscriptions,
    tasks: Tasks,
    results: Results,
}

/// The reason why a permitted call was not forwarded or has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    #[error(
        "the tool or its server changed after the call was approved; nothing was sent. Ask again"
    )]
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
            results: Results::default(),
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

    /// Applies `look` to the client's catalog view, and once more after a refresh if the first time
    /// finds nothing.
    async fn search<T>(
        &self,
        session: &ClientSession,
        look: impl Fn(&Lists) -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = look(&self.catalog.of(session)) {
            return Some(found);
        }
        Box::pin(self.catalog.freshen()).await;
        look(&self.catalog.of(session))
    }

    /// Returns the client's catalog view if the client finds a part of it only with `tool_search`.
    pub fn deferring(&self, session: &ClientSession) -> Option<Arc<Lists>> {
        Some(self.catalog.of(session)).filter(|lists| deferred::offered(lists))
    }

    /// Returns the same tool of the next fallback server, if there is one that was not tried yet.
    /// The fallbacks are those of the server that was tried first. The client's profile limits the
    /// choice; the scope of its endpoint does not.
    pub fn fallback(
        &self,
        session: &ClientSession,
        tool: &CatalogEntry,
        tried: &[(Arc<RegisteredServer>, String)],
    ) -> Option<Arc<CatalogEntry>> {
        let first = tried.first().map_or(&tool.server, |(server, _)| server);
        let is_new = |id: &&ServerId| {
            **id != tool.server.id && tried.iter().all(|(server, _)| server.id != **id)
        };
        let lists = self.catalog.of_client(&session.client, &Reach::All);
        let same = |id: &ServerId| lists.tool_of(id, &tool.definition.name).cloned();
        first.spec.fallback.iter().filter(is_new).find_map(same)
    }

    /// Sends a permitted call to its server, once, or answers it with a cached result.
    ///
    /// # Errors
    /// Returns an error if the tool or its server is not the permitted one any more, or if the
    /// server does not answer.
    pub async fn forward(&self, permitted: &Permitted, back: &Back) -> Result<Reply, ForwardError> {
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
        let kept = results::Key::of_call(
            &call.client,
            &call.tool,
            &call.arguments,
            call.extra.as_deref(),
        );
        if let Some(result) = kept.as_ref().and_then(|key| self.results.get(key)) {
            return Ok(Ok(result));
        }
        let patience =
            RequestTimeouts::from_spec(&server.spec.timeouts, Some(&call.tool.definition.name));
        let mirrored = call.tool.definition.mirrored.as_deref().unwrap_or_default();
        let outgoing = OutgoingRequest::new("tools/call", Some(&call.params), patience)
            .on_behalf_of(back, call.progress_token.as_deref())
            .with_mirrored_headers(mirrored);
        let reply = session.request(outgoing).await?;
        match (kept, &reply) {
            (Some(key), Ok(result)) => self.results.put(key, result),
            (None, _)
                if server.spec.cache_results_ms > 0
                    && call.tool.definition.annotations.read_only != Some(true) =>
            {
                self.results.forget_of(&server.id);
            }
            _ => {}
        }
        let may_begin =
            protocol::tasks::may_become_task(&back.session().hello, call.extra.as_deref());
        match &reply {
            Ok(result) if may_begin => Ok(self.tasks.note(&server.id, back, result).and(reply)),
            Ok(_) | Err(_) => Ok(reply),
        }
    }

    fn is_unchanged(&self, call: &ToolCall) -> bool {
        let server = self.registry.runnable(&call.tool.server.id);
        let snapshot = self.catalog.snapshot();
        let tool = snapshot
            .alone(&call.tool.server.id)
            .and_then(|alone| alone.find(CapabilityKind::Tools, &call.tool.definition.name));
        server.is_ok_and(|now| now.identity == call.tool.server.identity)
            && tool.is_some_and(|now| now.definition.digest == call.tool.definition.digest)
    }
}
