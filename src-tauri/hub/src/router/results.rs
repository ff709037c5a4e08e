//! Results that may be answered again from memory, where the user has turned that on for a server: of tools that say
//! that they are read-only and idempotent, and of resources.
//!
//! Each client has its own: what one was answered is never another's. What carries more than a name and arguments, or
//! is another try with answers, is neither kept nor looked for.

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

/// What is kept in all, in bytes; then the oldest is forgotten.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// A larger result is not kept.
const MAX_RESULT: usize = 4 * 1024 * 1024;

/// The kept results. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Results(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    by_key: HashMap<String, Result>,
    /// The keys as they were added.
    order: VecDeque<String>,
    bytes: usize,
}

struct Result {
    server: ServerId,
    until: Instant,
    /// While the machine sleeps only this goes on.
    kept_at: Timestamp,
    life: Duration,
    json: Json,
}

/// What a result is kept under, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    server: ServerId,
    digest: String,
    life: Duration,
}

impl Key {
    /// That of a tool's call; none where its result is not to be kept.
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

    /// That of reading a resource.
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
        // As a value it is canonical: the members sorted, nothing between the tokens.
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
            digest: digest::sha256_of(&parts.map(str::as_bytes)),
            life,
        })
    }
}

impl Results {
    /// The kept result, where it is not too old.
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

    /// Keeps a result, no longer than its server says.
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
        // Copied out of the text that the server sent, which may hold more.
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

    /// Forgets what is kept of a server in which something may have changed.
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

/// For how long a result may be kept at most; none for one that is not final, failed, or is too large.
fn keepable(result: &Json) -> Option<Duration> {
    if result.get().len() > MAX_RESULT {
        return None;
    }
    let result = RawObject::parse(result).ok()?;
    let failed = result
        .get("isError")
        .is_some_and(|value| value.get() != "false");
    let is_final = result
        .string("resultType")
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
