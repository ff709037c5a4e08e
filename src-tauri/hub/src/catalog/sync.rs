//! Reads the tools of a server: all pages, each definition raw; one that cannot be read is left out.

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{sync::mpsc, time};

use super::{Catalog, Definition};
use crate::{
    model::{ids::ServerId, json, rpc::code},
    protocol::ServerHello,
    store::StoreError,
    transport::Reply,
    upstream::{ServerSession, UpstreamError},
};

const PATIENCE: Duration = Duration::from_secs(30);
const MAX_PAGES: usize = 1_000;
/// Changes that a server tells within this time are one.
const COALESCE: Duration = Duration::from_millis(300);
const REFRESH: Duration = Duration::from_secs(300);

/// Why a server's tools cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    #[error("it answered tools/list with an error: {0}")]
    Refused(String),
    #[error("its list of tools cannot be read: {0}")]
    Unreadable(String),
    #[error("its list of tools does not end")]
    Endless,
    #[error("{0}")]
    Store(String),
}

impl From<StoreError> for SyncError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
}

pub(super) async fn read(session: &std::sync::Arc<ServerSession>) -> Result<(ServerHello, Vec<Definition>), SyncError> {
    let hello = session.hello().await?;
    let ask = |params: Box<RawValue>| async move { session.request("tools/list", Some(&params), PATIENCE).await };
    let tools = all_tools(ask).await?;
    Ok((hello, tools))
}

/// Asks for page after page of `tools/list`. A server without tools has none.
///
/// # Errors
/// Where a page cannot be had or read, or the pages do not end.
pub async fn all_tools<F: Future<Output = Result<Reply, UpstreamError>>>(
    ask: impl Fn(Box<RawValue>) -> F,
) -> Result<Vec<Definition>, SyncError> {
    let mut tools = Vec::new();
    let mut cursors = HashSet::new();
    let mut params = json::raw("{}".into());
    for _ in 0..MAX_PAGES {
        let result = match ask(params).await? {
            Ok(result) => result,
            Err(error) if error.code == code::METHOD_NOT_FOUND => return Ok(tools),
            Err(error) => return Err(SyncError::Refused(error.message)),
        };
        let page: Page<'_> = serde_json::from_str(result.get()).map_err(|e| SyncError::Unreadable(e.to_string()))?;
        tools.extend(page.tools.iter().filter_map(|raw| definition(raw)));
        let Some(cursor) = page.next_cursor else { return Ok(tools) };
        params = json::raw(format!(r#"{{"cursor":{}}}"#, json::string(&cursor)));
        if !cursors.insert(cursor) {
            break;
        }
    }
    Err(SyncError::Endless)
}

fn definition(raw: &RawValue) -> Option<Definition> {
    let read = Definition::read(raw.get().to_owned());
    read.inspect_err(|e| tracing::warn!("a tool's definition is left out: {e}")).ok()
}

/// Syncs the servers that said that their list changed. Many such notices are one sync.
pub(super) async fn follow_changes(catalog: Catalog, mut changes: mpsc::UnboundedReceiver<ServerId>) {
    while let Some(first) = changes.recv().await {
        time::sleep(COALESCE).await;
        let mut changed = BTreeSet::from([first]);
        while let Ok(next) = changes.try_recv() {
            changed.insert(next);
        }
        for id in changed {
            if let Ok(server) = catalog.registry.get(&id) {
                let _ = catalog.sync(&server).await;
            }
        }
    }
}

/// Keeps the copies of the servers that run fresh.
pub(super) async fn refresh_active(catalog: Catalog) {
    loop {
        time::sleep(REFRESH.mul_f64(rand::random_range(0.9..1.1))).await;
        for server in catalog.registry.specs().servers.values().filter(|server| catalog.registry.may_run(server)) {
            let active = catalog.pool.session(server).is_active();
            if active && catalog.is_stale(&catalog.copy(&server.id)) {
                let _ = catalog.sync(server).await;
            }
        }
    }
}
