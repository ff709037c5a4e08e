//! The URIs that servers named in their results to a session. If a client asks for a URI that no
//! list contains, this module finds the server that named the URI.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use drawbridge_jsonrpc::json::Json;
use drawbridge_model::ids::ServerId;
use memchr::memmem;
use serde::de::IgnoredAny;

use super::ClientSession;

/// The most URIs that a session remembers. If there are more, the oldest URIs are dropped.
const MAX_URIS: usize = 1_000;
/// The most bytes of all these URIs. If there are more, the oldest URIs are dropped.
const MAX_BYTES: usize = 128 * 1024;
/// The longest URI that is remembered, in bytes of its JSON string with quotes.
const MAX_LENGTH: usize = 8 * 1024;

const URI_KEY: &str = "\"uri\"";

/// The newest URIs, each with the server that named it last.
#[derive(Debug, Default)]
pub(super) struct IssuedUris(Mutex<Uris>);

#[derive(Debug, Default)]
struct Uris {
    /// The server that last named each URI, and the URI's number in `by_age`.
    by_uri: HashMap<Arc<str>, (ServerId, u64)>,
    /// The URIs by a number that grows whenever a server names a URI, so the oldest URI is first.
    by_age: BTreeMap<u64, Arc<str>>,
    last_number: u64,
    bytes: usize,
}

impl ClientSession {
    /// Records the URIs in a result that the client gets from a server, such as those of resource
    /// links, embedded resources and resources that were read.
    pub fn record_issued_uris(&self, server: &ServerId, result: &Json) {
        self.issued_uris.record(server, result.get());
    }

    /// Returns the server that last named a URI in a result of this session.
    pub fn issuer_of(&self, uri: &str) -> Option<ServerId> {
        self.issued_uris
            .lock()
            .by_uri
            .get(uri)
            .map(|(server, _)| server.clone())
    }
}

impl IssuedUris {
    fn record(&self, server: &ServerId, result: &str) {
        let uris = find_uris(result);
        if uris.is_empty() {
            return;
        }
        let mut recorded_uris = self.lock();
        for uri in uris {
            recorded_uris.insert(uri.into(), server);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Uris> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Uris {
    fn insert(&mut self, uri: Arc<str>, server: &ServerId) {
        self.last_number += 1;
        let number = self.last_number;
        match self.by_uri.insert(uri.clone(), (server.clone(), number)) {
            Some((_, old_number)) => drop(self.by_age.remove(&old_number)),
            None => self.bytes += uri.len(),
        }
        self.by_age.insert(number, uri);
        while self.by_uri.len() > MAX_URIS || self.bytes > MAX_BYTES {
            let Some((_, oldest)) = self.by_age.pop_first() else {
                return;
            };
            self.bytes -= oldest.len();
            self.by_uri.remove(&oldest);
        }
    }
}

/// Returns the values of the last [`MAX_URIS`] members named `uri`, at any depth. The JSON is
/// searched and not parsed, because it may be long and most results have no such member.
fn find_uris(json: &str) -> Vec<String> {
    let mut values = VecDeque::new();
    for position in memmem::find_iter(json.as_bytes(), URI_KEY) {
        // A quote after a backslash is part of a string. Any other quote here begins a string.
        let begins_string = !json[..position].ends_with('\\');
        let Some(value) = json[position + URI_KEY.len()..]
            .trim_start()
            .strip_prefix(':')
            .filter(|_| begins_string)
        else {
            continue;
        };
        if values.len() == MAX_URIS {
            values.pop_front();
        }
        values.push_back(value.trim_start());
    }
    values
        .into_iter()
        .filter_map(|value: &str| serde_json::from_str(&value[..string_length(value)?]).ok())
        .collect()
}

/// Returns the length of the JSON string at the beginning of a text, with its quotes. Returns
/// `None` if there is no string, or the string is too long.
fn string_length(text: &str) -> Option<usize> {
    if !text.starts_with('"') {
        return None;
    }
    let bounded = &text[..text.floor_char_boundary(MAX_LENGTH)];
    let mut values = serde_json::Deserializer::from_str(bounded).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

#[cfg(test)]
mod tests;
