//! Reads the tools of a server: all pages, each definition raw; one that cannot be read is left out.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time;

use super::{Catalog, Definition};
use crate::{
    model::{json, rpc::code},
    protocol::ServerHello,
    store::StoreError,
    transport::Reply,
    upstream::{ListChanges, ServerSession, UpstreamError, state::State},
};

const PATIENCE: Duration = Duration::from_secs(30);
const MAX_PAGES: usize = 1_000;
/// Changes that a server tells within this time are one.
const COALESCE: Duration = Duration::from_millis(300);
/// The most tools that one server may have, and the longest time that reading them may take.
const MAX_TOOLS: usize = 20_000;
const MAX_TIME: Duration = Duration::from_secs(120);

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
    MayNotRun(String),
    #[error("it could not be read a moment ago; see its state")]
    FailedJustNow,
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

pub(super) async fn read(session: &Arc<ServerSession>) -> Result<(ServerHello, Vec<Definition>), SyncError> {
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
    time::timeout(MAX_TIME, all_pages(ask)).await.unwrap_or(Err(SyncError::Endless))
}

async fn all_pages<F: Future<Output = Result<Reply, UpstreamError>>>(
    ask: impl Fn(Box<RawValue>) -> F,
) -> Result<Vec<Definition>, SyncError> {
    let mut tools: Vec<Definition> = Vec::new();
    let (mut names, mut cursors) = (HashSet::new(), HashSet::new());
    let mut params = json::raw("{}".into());
    while tools.len() <= MAX_TOOLS && cursors.len() < MAX_PAGES {
        let result = match ask(params).await? {
            Ok(result) => result,
            Err(error) if error.code == code::METHOD_NOT_FOUND => return Ok(tools),
            Err(error) => return Err(SyncError::Refused(error.message)),
        };
        let page: Page<'_> = serde_json::from_str(result.get()).map_err(|e| SyncError::Unreadable(e.to_string()))?;
        let read = page.tools.iter().filter_map(|raw| definition(raw));
        // Of two tools of one name nobody could say which one is called: the first stays.
        tools.extend(read.filter(|tool| names.insert(tool.name.clone())));
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
pub(super) async fn follow_changes(catalog: Catalog, changes: ListChanges) {
    loop {
        changes.wait().await;
        time::sleep(COALESCE).await;
        for id in changes.take() {
            let catalog = catalog.clone();
            tokio::spawn(async move { catalog.sync(&id).await });
        }
    }
}

/// Keeps the copies of the servers that run fresh: looked at a few times within their time to live.
pub(super) async fn refresh_active(catalog: Catalog) {
    loop {
        let ttl = catalog.settings.get().cache_ttl;
        time::sleep((ttl / 3).mul_f64(rand::random_range(0.9..1.1))).await;
        for server in catalog.registry.specs().servers.values().filter(|server| catalog.registry.may_run(server)) {
            let active = catalog.pool.status(&server.id).is_some_and(|status| status.state == State::Active);
            if active && catalog.is_stale(&catalog.copy(&server.id)) {
                let (catalog, id) = (catalog.clone(), server.id.clone());
                tokio::spawn(async move { catalog.sync(&id).await });
            }
        }
    }
}
