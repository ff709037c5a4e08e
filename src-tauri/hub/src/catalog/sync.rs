//! Reads the lists of a server: all pages, each definition as raw JSON. A definition that cannot be
//! read is excluded. Two tasks start such reads: for servers that report changed lists, and for
//! running servers of which Drawbridge's own copy is stale.

use std::{collections::HashSet, sync::Arc, time::Duration};

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::code,
};
use drawbridge_model::{
    capability::{CapabilityKind, ExcludedEntries, ExcludedEntry},
    ids::ServerId,
    protocol::ServerHello,
};
use drawbridge_sessions::ClientHandle;
use drawbridge_store::StoreError;
use drawbridge_upstream::{
    ListChanges, ServerRequest, ServerSession, UpstreamError, transport::RpcResponse,
};
use serde_json::value::RawValue;
use tokio::time;

use super::{Catalog, Definition, Offered};
use crate::registry::RegistryError;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_PAGES: usize = 1_000;
/// Changes that a server reports within this time cause one sync.
const COALESCE: Duration = Duration::from_millis(150);
/// The additional pause after a batch of changes.
const BATCH_PAUSE: Duration = Duration::from_millis(850);
/// The most entries of one kind. A list with more entries is rejected. So is a list that takes
/// longer than `MAX_TIME` to read.
const MAX_ENTRIES: usize = 20_000;
const MAX_TIME: Duration = Duration::from_secs(120);
/// The maximum size of all lists of one server, in bytes. Further entries are excluded, and no
/// further page of their list is read.
pub const MAX_CATALOG_BYTES: usize = 32 * 1024 * 1024;
/// The maximum number of resource templates of one server. Every URI is compared with all of them.
const MAX_TEMPLATES: usize = 1_000;

/// The reason why a server's lists cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    #[error("the server answered {method} with an error: {message}")]
    Refused {
        method: &'static str,
        message: String,
    },
    #[error("the server's answer to {method} cannot be read: {source}")]
    Unreadable {
        method: &'static str,
        source: Arc<serde_json::Error>,
    },
    #[error(
        "one of the server's lists does not end: it repeats a page, is too long, or takes too long to read"
    )]
    Endless,
    #[error(transparent)]
    NotRunnable(Arc<RegistryError>),
    #[error("the server's spec is being changed; try again")]
    SpecChanging,
    #[error("reading the server's lists failed a moment ago; see the server's state")]
    FailedRecently,
    #[error(transparent)]
    Store(Arc<StoreError>),
}

impl From<RegistryError> for SyncError {
    fn from(error: RegistryError) -> Self {
        Self::NotRunnable(Arc::new(error))
    }
}

impl From<StoreError> for SyncError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// The result of reading a server.
pub(super) struct SyncedServer {
    pub(super) hello: ServerHello,
    pub(super) offered: Offered,
    /// The time to live in milliseconds: the shortest time that any of the lists states.
    pub(super) ttl_ms: Option<u32>,
    /// Whether the server declares one of the lists private.
    pub(super) is_private: bool,
    pub(super) excluded: ExcludedEntries,
}

/// A list with the entries of all pages.
pub struct FetchedList {
    pub definitions: Vec<Arc<Definition>>,
    pub excluded: ExcludedEntries,
    ttl_ms: Option<u32>,
    is_private: bool,
    /// The number of entries on the pages so far, including the excluded entries.
    entries: usize,
    /// The bytes that the definitions may still take.
    remaining_bytes: usize,
    /// Whether a definition did not fit. Every later definition is then excluded.
    is_full: bool,
}

impl FetchedList {
    /// Reserves room for a definition. Returns whether there is enough room. If not, excludes the
    /// definition and everything after it, so that the list has no gaps.
    fn reserve_room(&mut self, kind: CapabilityKind, raw: &RawValue) -> bool {
        let room = self.remaining_bytes.checked_sub(raw.get().len());
        if let Some(remaining) = room.filter(|_| !self.is_full) {
            self.remaining_bytes = remaining;
            return true;
        }
        let limit = MAX_CATALOG_BYTES >> 20;
        if !self.is_full {
            self.is_full = true;
            let rest = format!("rest of {}", kind.list_method());
            let reason = format!(
                "the lists of this server take more than {limit} MiB, which is the limit; the rest of this list was not read"
            );
            self.excluded
                .push_first(ExcludedEntry::new(kind, &rest, &reason));
        }
        let name = Definition::parse_name(kind, raw).unwrap_or_else(|| "unnamed".to_owned());
        let reason = format!("the lists of this server take more than {limit} MiB");
        self.excluded.push(ExcludedEntry::new(kind, &name, &reason));
        false
    }
}

/// Reads the lists of a server, for a client or for Drawbridge itself. Retries once if the
/// connection, or the session on it, was lost, unless the server was started for this read.
pub(super) async fn read_server(
    session: &Arc<ServerSession>,
    client: Option<&ClientHandle>,
) -> Result<SyncedServer, SyncError> {
    let starts = session.status().starts;
    match read_once(session, client).await {
        // A connection from before this read may have been stale already.
        Err(SyncError::Upstream(UpstreamError::Unreachable(_) | UpstreamError::Lost(_)))
            if session.status().starts == starts =>
        {
            read_once(session, client).await
        }
        read => read,
    }
}

async fn read_once(
    session: &Arc<ServerSession>,
    client: Option<&ClientHandle>,
) -> Result<SyncedServer, SyncError> {
    let hello = session.hello().await?;
    let send_request = |method: &'static str, params: Box<RawValue>| async move {
        let request = ServerRequest::new(method, Some(&params), REQUEST_TIMEOUT);
        let request = match client {
            Some(client) => request.reading_list_of(client),
            None => request,
        };
        session.request(request).await
    };
    let (mut offered, mut excluded) = (Offered::new(), ExcludedEntries::default());
    let (mut ttl_ms, mut is_private) = (None, false);
    let mut remaining_bytes = MAX_CATALOG_BYTES;
    for kind in CapabilityKind::ALL
        .into_iter()
        .filter(|kind| hello.capabilities.may_offer(*kind))
    {
        let listed = read_list(kind, remaining_bytes, send_request).await?;
        remaining_bytes = listed.remaining_bytes;
        ttl_ms = shorter_ttl(ttl_ms, listed.ttl_ms);
        is_private |= listed.is_private;
        offered.insert(kind, listed.definitions);
        excluded.extend(listed.excluded);
    }
    if hello.era().is_modern() && session.server().spec.url.is_some() {
        exclude_unsendable(
            offered.entry(CapabilityKind::Tools).or_default(),
            &mut excluded,
        );
    }
    Ok(SyncedServer {
        hello,
        offered,
        ttl_ms,
        is_private,
        excluded,
    })
}

fn shorter_ttl(left: Option<u32>, right: Option<u32>) -> Option<u32> {
    left.into_iter().chain(right).min()
}

/// Excludes tools with invalid header parameters, because their arguments cannot be sent over HTTP.
fn exclude_unsendable(tools: &mut Vec<Arc<Definition>>, excluded: &mut ExcludedEntries) {
    tools.retain(|tool| match &tool.header_params {
        Ok(_) => true,
        Err(error) => {
            excluded.push(ExcludedEntry::new(
                CapabilityKind::Tools,
                &tool.name,
                &error.to_string(),
            ));
            false
        }
    });
}

/// Reads all pages of a list, up to `max_bytes`. If a server does not implement the method, the
/// list is empty.
///
/// # Errors
/// Returns an error if a page cannot be read, or if the list does not end.
pub async fn read_list<F: Future<Output = Result<RpcResponse, UpstreamError>>>(
    kind: CapabilityKind,
    max_bytes: usize,
    send_request: impl Fn(&'static str, Box<RawValue>) -> F,
) -> Result<FetchedList, SyncError> {
    time::timeout(MAX_TIME, read_pages(kind, max_bytes, send_request))
        .await
        .unwrap_or(Err(SyncError::Endless))
}

async fn read_pages<F: Future<Output = Result<RpcResponse, UpstreamError>>>(
    kind: CapabilityKind,
    max_bytes: usize,
    send_request: impl Fn(&'static str, Box<RawValue>) -> F,
) -> Result<FetchedList, SyncError> {
    let mut all = FetchedList {
        definitions: Vec::new(),
        excluded: ExcludedEntries::default(),
        ttl_ms: None,
        is_private: false,
        entries: 0,
        remaining_bytes: max_bytes,
        is_full: false,
    };
    let (mut names, mut cursors) = (HashSet::new(), HashSet::new());
    let mut params = json::raw("{}".into());
    while cursors.len() < MAX_PAGES {
        let result = match send_request(kind.list_method(), params).await? {
            RpcResponse::Result(result) => result,
            RpcResponse::Error(error) if error.code == code::METHOD_NOT_FOUND => return Ok(all),
            RpcResponse::Error(error) => {
                return Err(SyncError::Refused {
                    method: kind.list_method(),
                    message: error.message,
                });
            }
        };
        let next_cursor = read_page(kind, &result, &mut all, &mut names)?;
        let Some(cursor) = next_cursor.filter(|_| !all.is_full) else {
            return Ok(all);
        };
        params = json::raw(format!(r#"{{"cursor":{}}}"#, json::quote(&cursor)));
        if !cursors.insert(cursor) {
            break;
        }
    }
    Err(SyncError::Endless)
}

/// Reads a page, and returns the cursor of the next page. Excludes each definition that cannot be
/// read, repeats the name of an earlier definition, or exceeds a limit.
fn read_page(
    kind: CapabilityKind,
    result: &Json,
    all: &mut FetchedList,
    names: &mut HashSet<String>,
) -> Result<Option<String>, SyncError> {
    let unreadable = |error| SyncError::Unreadable {
        method: kind.list_method(),
        source: Arc::new(error),
    };
    let result = RawObject::parse(result).map_err(unreadable)?;
    let entries: Vec<&RawValue> = match result.get(kind.list_member()) {
        Some(entries) => serde_json::from_str(entries.get()).map_err(unreadable)?,
        None => Vec::new(),
    };
    if all.entries + entries.len() > MAX_ENTRIES {
        return Err(SyncError::Endless);
    }
    for raw in entries {
        all.entries += 1;
        if !all.reserve_room(kind, raw) {
            continue;
        }
        match Definition::parse(kind, raw.get().to_owned()) {
            Ok(definition)
                if kind == CapabilityKind::Templates && all.definitions.len() == MAX_TEMPLATES =>
            {
                let reason =
                    format!("the server offers more than {MAX_TEMPLATES} resource templates");
                all.excluded
                    .push(ExcludedEntry::new(kind, &definition.name, &reason));
            }
            Ok(definition) if names.insert(definition.name.clone()) => {
                all.definitions.push(Arc::new(definition));
            }
            // If two entries had the same name, a call by name would be ambiguous.
            Ok(definition) => {
                let reason = format!(
                    "an earlier {} has the same '{}'",
                    kind.noun(),
                    kind.key_member()
                );
                all.excluded
                    .push(ExcludedEntry::new(kind, &definition.name, &reason));
            }
            Err(error) => {
                let position = || format!("entry {} of {}", all.entries, kind.list_method());
                let name = Definition::parse_name(kind, raw).unwrap_or_else(position);
                all.excluded
                    .push(ExcludedEntry::new(kind, &name, &error.to_string()));
            }
        }
    }
    all.ttl_ms = shorter_ttl(
        all.ttl_ms,
        result.get("ttlMs").and_then(|ttl| ttl.get().parse().ok()),
    );
    // An unknown scope is no permission to share.
    all.is_private |= result
        .get("cacheScope")
        .is_some_and(|scope| scope.get() != r#""public""#);
    Ok(result
        .get_string("nextCursor")
        .filter(|cursor| !cursor.is_empty()))
}

/// Syncs the servers that reported a changed list. Reports in quick succession cause one sync.
pub(super) async fn sync_changed(catalog: Catalog, changes: ListChanges) {
    for_each_changed(changes, |id| drop(catalog.start_sync(id))).await;
}

/// Calls `sync` with each server that reported a changed list, at most once a second.
async fn for_each_changed(changes: ListChanges, sync: impl Fn(ServerId)) {
    loop {
        changes.wait().await;
        time::sleep(COALESCE).await;
        changes.take().into_iter().for_each(&sync);
        time::sleep(BATCH_PAUSE).await;
    }
}

/// Syncs each running server of which Drawbridge's own copy is stale. Checks the copies about three
/// times in the time to live that the settings state.
pub(super) async fn refresh_active(catalog: Catalog) {
    loop {
        let ttl = catalog.settings.get().cache_ttl;
        time::sleep((ttl / 3).mul_f64(rand::random_range(0.9..1.1))).await;
        for server in catalog
            .registry
            .specs()
            .servers
            .values()
            .filter(|server| catalog.registry.may_run(server))
        {
            if catalog.pool.is_active(&server.id)
                && catalog.is_stale(server, &catalog.copy(&server.id))
            {
                catalog.start_sync(server.id.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
