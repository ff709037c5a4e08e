//! The router: from the name at the door to the server behind it.

mod pass;
mod subscriptions;

use std::{sync::Arc, time::Duration};

pub use pass::take_progress_token;
use subscriptions::Subscriptions;

use crate::{
    catalog::{Catalog, CatalogEntry, Snapshot},
    model::capability::Kind,
    policy::{Permitted, ToolCall},
    registry::Registry,
    sessions::Back,
    transport::Reply,
    upstream::{Outgoing, Pool, UpstreamError},
};

/// Finds tools and forwards calls to them. Cheap to clone.
#[derive(Clone)]
pub struct Router {
    registry: Registry,
    catalog: Catalog,
    pool: Pool,
    subscriptions: Subscriptions,
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
        Self { registry, catalog, pool, subscriptions: Subscriptions::default() }
    }

    /// The entry of that name at the door. Where there is none, servers that were never read are read first.
    pub async fn find(&self, kind: Kind, exposed_name: &str) -> Option<Arc<CatalogEntry>> {
        self.search(|snapshot| snapshot.find(kind, exposed_name).cloned()).await
    }

    /// Looks in the snapshot, and once more when everything that can be read was read.
    async fn search<T>(&self, look: impl Fn(&Snapshot) -> Option<T>) -> Option<T> {
        if let Some(found) = look(&self.catalog.snapshot()) {
            return Some(found);
        }
        self.catalog.freshen().await;
        look(&self.catalog.snapshot())
    }

    /// Sends a permitted call to its server, once.
    ///
    /// # Errors
    /// Where what was permitted is not what would run now, or the server does not answer.
    pub async fn forward(&self, permitted: &Permitted, back: &Back) -> Result<Reply, ForwardError> {
        let call = permitted.call();
        let server = self.registry.get(&call.tool.server.id).map_err(|_| ForwardError::Changed)?;
        // The session first, then the question: a spec that changes after this ends the session.
        let session = self.pool.session(&server);
        if session.server().identity != call.tool.server.identity || !self.is_unchanged(call) {
            return Err(ForwardError::Changed);
        }
        let patience = Duration::from_millis(server.spec.timeouts.call_ms.into());
        let outgoing = Outgoing::new("tools/call", Some(&call.params), patience);
        Ok(session.request(outgoing.on_behalf_of(back, call.progress_token.as_deref())).await?)
    }

    fn is_unchanged(&self, call: &ToolCall) -> bool {
        let server = self.registry.runnable(&call.tool.server.id);
        let snapshot = self.catalog.snapshot();
        let tool = snapshot.find(Kind::Tools, &call.tool.exposed_name);
        server.is_ok_and(|now| now.identity == call.tool.server.identity)
            && tool.is_some_and(|now| now.definition.digest == call.tool.definition.digest)
    }
}
