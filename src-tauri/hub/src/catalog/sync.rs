//! Reads what a server offers: all pages, each definition raw; one that cannot be read is left out.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::time;

use super::{Catalog, Definition, Offered};
use crate::{
    model::{
        capability::Kind,
        json::{self, Json, RawObject},
        rpc::code,
    },
    protocol::ServerHello,
    store::StoreError,
    transport::Reply,
    upstream::{ListChanges, Outgoing, ServerSession, UpstreamError},
};

const PATIENCE: Duration = Duration::from_secs(30);
const MAX_PAGES: usize = 1_000;
/// Changes that are told within this time are one.
const COALESCE: Duration = Duration::from_millis(300);
/// Then others have to wait as long.
const APART: Duration = Duration::from_millis(700);
/// The most entries that one server may have of a kind, and the longest time that reading them may take.
const MAX_ENTRIES: usize = 20_000;
const MAX_TIME: Duration = Duration::from_secs(120);

/// Why a server's tools cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    #[error("it answered {0} with an error: {1}")]
    Refused(&'static str, String),
    #[error("its answer to {0} cannot be read: {1}")]
    Unreadable(&'static str, String),
    #[error("one of its lists does not end")]
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

/// What was read of a server.
pub(super) struct Read {
    pub(super) hello: ServerHello,
    pub(super) offered: Offered,
    /// How long it may be kept, in milliseconds: the shortest that any of its lists says.
    pub(super) ttl_ms: Option<u32>,
}

/// A list, of all pages.
pub struct Listed {
    pub definitions: Vec<Arc<Definition>>,
    ttl_ms: Option<u32>,
}

/// Reads what a server offers; once more where its connection, or its session there, was gone meanwhile.
pub(super) async fn read(session: &Arc<ServerSession>) -> Result<Read, SyncError> {
    let starts = session.status().starts;
    match read_once(session).await {
        // It was not started for this: it may have been gone for long.
        Err(SyncError::Upstream(UpstreamError::Unreachable(_) | UpstreamError::Lost(_)))
            if session.status().starts == starts =>
        {
            read_once(session).await
        }
        read => read,
    }
}

async fn read_once(session: &Arc<ServerSession>) -> Result<Read, SyncError> {
    let hello = session.hello().await?;
    let ask = |method: &'static str, params: Box<RawValue>| async move {
        session.request(Outgoing::new(method, Some(&params), PATIENCE)).await
    };
    let (mut offered, mut ttl_ms) = (Offered::new(), None);
    for kind in Kind::ALL.into_iter().filter(|kind| hello.capabilities.offers(*kind)) {
        let listed = all_of(kind, ask).await?;
        ttl_ms = shorter(ttl_ms, listed.ttl_ms);
        offered.insert(kind, listed.definitions);
    }
    if hello.era().is_modern() && session.server().spec.url.is_some() {
        leave_out_unusable(session, offered.entry(Kind::Tools).or_default());
    }
    Ok(Read { hello, offered, ttl_ms })
}

fn shorter(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.into_iter().chain(other).min()
}

/// A tool that wants its arguments in headers in a way that cannot be is none, over HTTP.
fn leave_out_unusable(session: &ServerSession, tools: &mut Vec<Arc<Definition>>) {
    tools.retain(|tool| match &tool.mirrored {
        Ok(_) => true,
        Err(why) => {
            tracing::warn!("server {}: the tool '{}' is left out: {why}", session.server().id, tool.name);
            false
        }
    });
}

/// Asks for page after page of a list. A server without the method has nothing of that kind.
///
/// # Errors
/// Where a page cannot be had or read, or the pages do not end.
pub async fn all_of<F: Future<Output = Result<Reply, UpstreamError>>>(
    kind: Kind,
    ask: impl Fn(&'static str, Box<RawValue>) -> F,
) -> Result<Listed, SyncError> {
    time::timeout(MAX_TIME, all_pages(kind, ask)).await.unwrap_or(Err(SyncError::Endless))
}

async fn all_pages<F: Future<Output = Result<Reply, UpstreamError>>>(
    kind: Kind,
    ask: impl Fn(&'static str, Box<RawValue>) -> F,
) -> Result<Listed, SyncError> {
    let mut all = Listed { definitions: Vec::new(), ttl_ms: None };
    let (mut names, mut cursors) = (HashSet::new(), HashSet::new());
    let mut params = json::raw("{}".into());
    while all.definitions.len() <= MAX_ENTRIES && cursors.len() < MAX_PAGES {
        let result = match ask(kind.list_method(), params).await? {
            Ok(result) => result,
            Err(error) if error.code == code::METHOD_NOT_FOUND => return Ok(all),
            Err(error) => return Err(SyncError::Refused(kind.list_method(), error.message)),
        };
        let Page { definitions, next_cursor, ttl_ms } = page(kind, &result)?;
        all.ttl_ms = shorter(all.ttl_ms, ttl_ms);
        // Of two of one name nobody could say which one is meant: the first stays.
        all.definitions.extend(definitions.into_iter().filter(|read| names.insert(read.name.clone())).map(Arc::new));
        let Some(cursor) = next_cursor else { return Ok(all) };
        params = json::raw(format!(r#"{{"cursor":{}}}"#, json::string(&cursor)));
        if !cursors.insert(cursor) {
            break;
        }
    }
    Err(SyncError::Endless)
}

struct Page {
    definitions: Vec<Definition>,
    next_cursor: Option<String>,
    ttl_ms: Option<u32>,
}

/// Reads a page. A definition that cannot be read is left out.
fn page(kind: Kind, result: &Json) -> Result<Page, SyncError> {
    let unreadable = |e: serde_json::Error| SyncError::Unreadable(kind.list_method(), e.to_string());
    let result = RawObject::parse(result).map_err(unreadable)?;
    let entries: Vec<&RawValue> = match result.get(kind.member()) {
        Some(entries) => serde_json::from_str(entries.get()).map_err(unreadable)?,
        None => Vec::new(),
    };
    let read = |raw: &&RawValue| {
        let read = Definition::read(kind, raw.get().to_owned());
        read.inspect_err(|e| tracing::warn!("an entry of {} is left out: {e}", kind.list_method())).ok()
    };
    Ok(Page {
        definitions: entries.iter().filter_map(read).collect(),
        next_cursor: result.string("nextCursor").filter(|cursor| !cursor.is_empty()),
        ttl_ms: result.get("ttlMs").and_then(|ttl| ttl.get().parse().ok()),
    })
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
        time::sleep(APART).await;
    }
}

/// Keeps the copies of the servers that run fresh: looked at a few times within their time to live.
pub(super) async fn refresh_active(catalog: Catalog) {
    loop {
        let ttl = catalog.settings.get().cache_ttl;
        time::sleep((ttl / 3).mul_f64(rand::random_range(0.9..1.1))).await;
        for server in catalog.registry.specs().servers.values().filter(|server| catalog.registry.may_run(server)) {
            if catalog.pool.is_active(&server.id) && catalog.is_stale(server, &catalog.copy(&server.id)) {
                let (catalog, id) = (catalog.clone(), server.id.clone());
                tokio::spawn(async move { catalog.sync(&id).await });
            }
        }
    }
}

#[cfg(test)]
mod tests;
