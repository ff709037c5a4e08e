//! The cache of results, which the user can turn on for a server. The cache holds the results of
//! `resources/read`, and of calls of tools that the server marks read-only and idempotent.
//!
//! Each cached result belongs to one client, and no other client receives it. A request bypasses
//! the cache if its params contain anything besides a name and arguments, or a URI: for example the
//! answers to an `input_required` result.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_jsonrpc::json::{Json, RawObject};
use drawbridge_model::{
    clock, digest,
    ids::{ClientName, ServerId, Timestamp},
};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::{catalog::CatalogEntry, policy::canonical_text};

/// The maximum size of all cached results together, in bytes. If they exceed this size, the oldest
/// results are deleted.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The largest result that is cached, in bytes.
const MAX_RESULT: usize = 4 * 1024 * 1024;

/// The cached results. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct ResultCache(Arc<Mutex<CacheState>>);

#[derive(Default)]
struct CacheState {
    by_key: HashMap<String, CachedResult>,
    /// The keys, oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

struct CachedResult {
    client: ClientName,
    server: ServerId,
    expires_at: Instant,
    /// The wall-clock time of the insertion. The clock of [`Instant`] may stop while the computer
    /// is suspended; this clock does not.
    cached_at: Timestamp,
    ttl: Duration,
    json: Json,
}

/// The key of a cached result, and for how long the result may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CacheKey {
    client: ClientName,
    server: ServerId,
    digest: String,
    ttl: Duration,
}

impl CacheKey {
    /// Returns the key of a tool call, or `None` if its result must not be cached.
    pub(super) fn for_call(
        client: &ClientName,
        tool: &CatalogEntry,
        arguments: &RawValue,
        extra: Option<&RawValue>,
    ) -> Option<Self> {
        let hints = &tool.definition.annotations;
        let is_cacheable =
            hints.read_only == Some(true) && hints.idempotent == Some(true) && extra.is_none();
        is_cacheable
            .then(|| Self::new(client, tool, arguments))
            .flatten()
    }

    /// Returns the key of a `resources/read`, or `None` if its result must not be cached.
    pub(super) fn for_resource(
        client: &ClientName,
        resource: &CatalogEntry,
        params: &RawValue,
    ) -> Option<Self> {
        let object = RawObject::parse(params).ok()?;
        let is_plain = object.keys().all(|key| key == "uri");
        is_plain
            .then(|| Self::new(client, resource, params))
            .flatten()
    }

    fn new(client: &ClientName, entry: &CatalogEntry, params: &RawValue) -> Option<Self> {
        let ttl = Duration::from_millis(entry.server.spec.cache_results_ms.into());
        if ttl.is_zero() {
            return None;
        }
        let canonical = canonical_text(params)?;
        let parts = [
            client.as_str(),
            &entry.server.identity,
            entry.definition.offered_digest(),
            &entry.definition.name,
            &canonical,
        ];
        let server = entry.server.id.clone();
        Some(Self {
            client: client.clone(),
            server,
            digest: digest::sha256_parts(&parts.map(str::as_bytes)),
            ttl,
        })
    }
}

impl ResultCache {
    /// Returns the cached result if it has not expired.
    pub(super) fn get(&self, key: &CacheKey) -> Option<Json> {
        let cache = self.lock();
        let CachedResult {
            expires_at,
            cached_at,
            ttl,
            json,
            ..
        } = cache.by_key.get(&key.digest)?;
        let age = u64::try_from(clock::now().0.saturating_sub(cached_at.0))
            .ok()
            .map(Duration::from_millis);
        let is_fresh = Instant::now() < *expires_at && age.is_some_and(|age| age < *ttl);
        is_fresh.then(|| json.clone())
    }

    /// Caches a result for the key's TTL, or for the result's `ttlMs` if that is shorter. Does
    /// nothing if the result must not be cached.
    pub(super) fn put(&self, key: CacheKey, result: &Json) {
        let Some(ttl) = max_ttl(result)
            .map(|limit| key.ttl.min(limit))
            .filter(|ttl| !ttl.is_zero())
        else {
            return;
        };
        let mut cache = self.lock();
        cache.remove(&key.digest);
        cache.bytes += result.get().len();
        cache.order.push_back(key.digest.clone());
        // Copy the result, because the original may share the buffer of a larger message.
        let json = Json::new(result.get());
        let (expires_at, cached_at) = (Instant::now() + ttl, clock::now());
        cache.by_key.insert(
            key.digest,
            CachedResult {
                client: key.client,
                server: key.server,
                expires_at,
                cached_at,
                ttl,
                json,
            },
        );
        while cache.bytes > MAX_BYTES {
            let Some(oldest) = cache.order.front().cloned() else {
                break;
            };
            cache.remove(&oldest);
        }
    }

    /// Deletes the cached results of a server whose data may have changed.
    pub(super) fn remove_server(&self, server: &ServerId) {
        self.remove_matching(|result| result.server == *server);
    }

    /// Deletes the cached results of a client that was revoked, or was moved to another user.
    pub(super) fn remove_client(&self, client: &ClientName) {
        self.remove_matching(|result| result.client == *client);
    }

    fn remove_matching(&self, is_removed: impl Fn(&CachedResult) -> bool) {
        let mut cache = self.lock();
        let digests: Vec<_> = cache
            .by_key
            .iter()
            .filter(|(_, result)| is_removed(result))
            .map(|(digest, _)| digest.clone())
            .collect();
        digests.iter().for_each(|digest| cache.remove(digest));
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn remove(&mut self, digest: &str) {
        if let Some(result) = self.by_key.remove(digest) {
            self.bytes -= result.json.get().len();
            self.order.retain(|cached| cached != digest);
        }
    }
}

/// Returns the longest time for which a result may be cached, or `None` if it must not be cached
/// because it is too large, not final, or an error.
fn max_ttl(result: &Json) -> Option<Duration> {
    if result.get().len() > MAX_RESULT {
        return None;
    }
    let result = RawObject::parse(result).ok()?;
    let failed = result
        .get("isError")
        .is_some_and(|value| value.get() != "false");
    let is_final = result
        .get_string("resultType")
        .is_none_or(|kind| kind == "complete")
        && result.get("task").is_none();
    let ttl = match result.get("ttlMs") {
        None => Duration::MAX,
        // Another value, such as a negative number, says that the result must not be cached.
        Some(ttl) => {
            let ms: f64 = serde_json::from_str(ttl.get()).unwrap_or_default();
            Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or_default()
        }
    };
    (!failed && is_final).then_some(ttl)
}

#[cfg(test)]
mod tests;
