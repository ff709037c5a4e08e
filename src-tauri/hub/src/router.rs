//! The router: from the name at the door to the server behind it.

mod pass;
mod subscriptions;
mod tasks;

use std::sync::Arc;

pub use pass::take_progress_token;
use subscriptions::Subscriptions;
use tasks::Tasks;

use crate::{
    catalog::{Catalog, CatalogEntry, Lists},
    model::capability::Kind,
    policy::{Permitted, ToolCall},
    protocol,
    registry::Registry,
    sessions::{Back, Reach},
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
}

/// Why a permitted call was not forwarded, or has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    #[error("the tool or its server changed after the call was approved; nothing was sent. Ask again")]
    Changed,
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
}

impl Router {
    pub fn new(registry: Registry, catalog: Catalog, pool: Pool) -> Self {
        Self { registry, catalog, pool, subscriptions: Subscriptions::default(), tasks: Tasks::default() }
    }

    /// The entry of that name as a client sees it. Where there is none, servers that were never read are read first.
    pub async fn find(&self, reach: &Reach, kind: Kind, exposed_name: &str) -> Option<Arc<CatalogEntry>> {
        self.search(reach, |lists| lists.find(kind, exposed_name).cloned()).await
    }

    /// Looks in what the client sees, and once more when everything that can be read was read.
    async fn search<T>(&self, reach: &Reach, look: impl Fn(&Lists) -> Option<T>) -> Option<T> {
        if let Some(found) = look(self.catalog.snapshot().of(reach)) {
            return Some(found);
        }
        Box::pin(self.catalog.freshen()).await;
        look(self.catalog.snapshot().of(reach))
    }

    /// Sends a permitted call to its server, once.
    ///
    /// # Errors
    /// Where what was permitted is not what would run now, or the server does not answer.
    pub async fn forward(&self, permitted: &Permitted, back: &Back) -> Result<Reply, ForwardError> {
        let call = permitted.call();
        let server = self.registry.get(&call.tool.server.id).map_err(|_| ForwardError::Changed)?;
        // The session first, then the question: a spec that changes after this ends the session.
        let session = self.pool.session(&server, Some(&call.client));
        if session.server().identity != call.tool.server.identity || !self.is_unchanged(call) {
            return Err(ForwardError::Changed);
        }
        let patience = Patience::of(&server.spec.timeouts, Some(&call.tool.definition.name));
        let mirrored = call.tool.definition.mirrored.as_deref().unwrap_or_default();
        let outgoing = Outgoing::new("tools/call", Some(&call.params), patience)
            .on_behalf_of(back, call.progress_token.as_deref())
            .repeating(mirrored);
        let reply = session.request(outgoing).await?;
        let may_begin = protocol::tasks::may_begin(&back.session().hello, call.extra.as_deref());
        match &reply {
            Ok(result) if may_begin => Ok(self.tasks.note(&server.id, back, result).and(reply)),
            Ok(_) | Err(_) => Ok(reply),
        }
    }

    fn is_unchanged(&self, call: &ToolCall) -> bool {
        let server = self.registry.runnable(&call.tool.server.id);
        let snapshot = self.catalog.snapshot();
        let tool =
            snapshot.alone(&call.tool.server.id).and_then(|alone| alone.find(Kind::Tools, &call.tool.definition.name));
        server.is_ok_and(|now| now.identity == call.tool.server.identity)
            && tool.is_some_and(|now| now.definition.digest == call.tool.definition.digest)
    }
}
