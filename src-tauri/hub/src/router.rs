//! The router: from the name at the door to the server behind it.

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
    model::{capability::Kind, ids::ServerId, spec::Registered},
    policy::{Permitted, ToolCall},
    protocol,
    registry::Registry,
    sessions::{Back, ClientSession, Reach},
    transport::Reply,
    upstream::{Outgoing, Patience, Pool, UpstreamError},
};

/// Finds tools and forwards calls to them. Cheap to clone.
#[derive(Clone)]
pub struct Router {
    registry: Registry,
    catalog: Catalog,
    pool: Pool,
    subscriptions: Subscriptions,
    tasks: Tasks,
    results: Results,
}

/// Why a permitted call was not forwarded, or has no answer.
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

    /// The entry of that name as a client sees it. Where there is none, servers that were never read are read first.
    pub async fn find(
        &self,
        session: &ClientSession,
        kind: Kind,
        exposed_name: &str,
    ) -> Option<Arc<CatalogEntry>> {
        self.search(session, |lists| lists.find(kind, exposed_name).cloned())
            .await
    }

    /// Looks in what the client sees, and once more when everything that can be read was read.
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

    /// What a client sees, where some of it is found only with `tool_search`.
    pub fn deferring(&self, session: &ClientSession) -> Option<Arc<Lists>> {
        Some(self.catalog.of(session)).filter(|lists| deferred::offered(lists))
    }

    /// The same tool of the next server that may stand in for one that cannot be reached. A client with a profile
    /// reaches no server beyond it.
    pub fn fallback(
        &self,
        session: &ClientSession,
        tool: &CatalogEntry,
        tried: &[(Arc<Registered>, String)],
    ) -> Option<Arc<CatalogEntry>> {
        let first = tried.first().map_or(&tool.server, |(server, _)| server);
        let is_new = |id: &&ServerId| {
            **id != tool.server.id && tried.iter().all(|(server, _)| server.id != **id)
        };
        let lists = self.catalog.of_client(&session.client, &Reach::All);
        let same = |id: &ServerId| lists.tool_of(id, &tool.definition.name).cloned();
        first.spec.fallback.iter().filter(is_new).find_map(same)
    }

    /// Sends a permitted call to its server, once.
    ///
    /// # Errors
    /// Where what was permitted is not what would run now, or the server does not answer.
    pub async fn forward(&self, permitted: &Permitted, back: &Back) -> Result<Reply, ForwardError> {
        let call = permitted.call();
        let server = self
            .registry
            .get(&call.tool.server.id)
            .map_err(|_| ForwardError::Changed)?;
        // The session first, then the question: a spec that changes after this ends the session.
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
        let patience = Patience::of(&server.spec.timeouts, Some(&call.tool.definition.name));
        let mirrored = call.tool.definition.mirrored.as_deref().unwrap_or_default();
        let outgoing = Outgoing::new("tools/call", Some(&call.params), patience)
            .on_behalf_of(back, call.progress_token.as_deref())
            .repeating(mirrored);
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
        let may_begin = protocol::tasks::may_begin(&back.session().hello, call.extra.as_deref());
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
            .and_then(|alone| alone.find(Kind::Tools, &call.tool.definition.name));
        server.is_ok_and(|now| now.identity == call.tool.server.identity)
            && tool.is_some_and(|now| now.definition.digest == call.tool.definition.digest)
    }
}
