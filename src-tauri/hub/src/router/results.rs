//! The cache of results, which the user can turn on for a server: results of resources, and of
//! tools that the server marks read-only and idempotent.
//!
//! Each client has a cache of its own, so that no client receives a result of another. A request
//! that carries more than a name and arguments, or a URI, bypasses the cache. This also excludes
//! retries with answers to `input_required`.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, value::RawValue};
use tokio::time::Instant;

use crate::{
    catalog::CatalogEntry,
    clock,
    model::{
        digest,
        ids::{ClientName, ServerId, Timestamp},
        json::{Json, RawObject},
    },
};

/// The largest size of the cache, in bytes. If it is exceeded, the oldest results are deleted.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The largest result that is cached, in bytes.
const MAX_RESULT: usize = 4 * 1024 * 1024;

/// The cached results. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Results(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    by_key: HashMap<String, Result>,
    /// The keys, oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

struct Result {
    server: ServerId,
    until: Instant,
    /// The wall-clock time of the insertion. An [`Instant`] may stop while the machine sleeps; this
    /// clock does not.
    kept_at: Timestamp,
    life: Duration,
    json: Json,
}

/// The key of a cached result, and for how long the result may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    server: ServerId,
    digest: String,
    life: Duration,
}

impl Key {
    /// Returns the key of a tool call, or `None` if its result must not be cached.
    pub(super) fn of_call(
        client: &ClientName,
        tool: &CatalogEntry,
        arguments: &RawValue,
        extra: Option<&RawValue>,
    ) -> Option<Self> {
        let hints = &tool.definition.annotations;
        let may =
            hints.read_only == Some(true) && hints.idempotent == Some(true) && extra.is_none();
        may.then(|| Self::new(client, tool, arguments)).flatten()
    }

    /// Returns the key of a `resources/read`, or `None` if its result must not be cached.
    pub(super) fn of_resource(
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

    fn new(client: &ClientName, entry: &CatalogEntry, asked: &RawValue) -> Option<Self> {
        let life = Duration::from_millis(entry.server.spec.cache_results_ms.into());
        if life.is_zero() {
            return None;
        }
        // A serialized `Value` is canonical: its members are sorted, and there is no whitespace.
        let canonical = serde_json::from_str::<Value>(asked.get()).ok()?.to_string();
        let parts = [
            client.as_str(),
            &entry.server.identity,
            &entry.definition.digest,
            &entry.definition.name,
            &canonical,
        ];
        let server = entry.server.id.clone();
        Some(Self {
            server,
            digest: digest::sha256_parts(&parts.map(str::as_bytes)),
            life,
        })
    }
}

impl Results {
    /// Returns the cached result if it has not expired.
    pub(super) fn get(&self, key: &Key) -> Option<Json> {
        let kept = self.lock();
        let Result {
            until,
            kept_at,
            life,
            json,
            ..
        } = kept.by_key.get(&key.digest)?;
        let age = u64::try_from(clock::now().0.saturating_sub(kept_at.0))
            .ok()
            .map(Duration::from_millis);
        let is_fresh = Instant::now() < *until && age.is_some_and(|age| age < *life);
        is_fresh.then(|| json.clone())
    }

    /// Caches a result, for no longer than its server's `ttlMs`.
    pub(super) fn put(&self, key: Key, result: &Json) {
        let Some(life) = keepable(result)
            .map(|most| key.life.min(most))
            .filter(|life| !life.is_zero())
        else {
            return;
        };
        let mut kept = self.lock();
        kept.forget(&key.digest);
        kept.bytes += result.get().len();
        kept.order.push_back(key.digest.clone());
        // Copied, because the original may keep a larger text of the server alive.
        let json = Json::new(result.get());
        let (until, kept_at) = (Instant::now() + life, clock::now());
        kept.by_key.insert(
            key.digest,
            Result {
                server: key.server,
                until,
                kept_at,
                life,
                json,
            },
        );
        while kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.order.front().cloned() else {
                break;
            };
            kept.forget(&oldest);
        }
    }

    /// Deletes the cached results of a server whose data may have changed.
    pub(super) fn forget_of(&self, server: &ServerId) {
        let mut kept = self.lock();
        let digests: Vec<_> = kept
            .by_key
            .iter()
            .filter(|(_, of)| of.server == *server)
            .map(|(digest, _)| digest.clone())
            .collect();
        digests.iter().for_each(|digest| kept.forget(digest));
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn forget(&mut self, digest: &str) {
        if let Some(result) = self.by_key.remove(digest) {
            self.bytes -= result.json.get().len();
            self.order.retain(|one| one != digest);
        }
    }
}

/// Returns how long a result may be cached at most, or `None` if it is too large, not final or an
/// error.
fn keepable(result: &Json) -> Option<Duration> {
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
    let said = result
        .get("ttlMs")
        .and_then(|ttl| ttl.get().parse().ok())
        .map(Duration::from_millis);
    (!failed && is_final).then(|| said.unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests;
