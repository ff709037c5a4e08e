//! A page of the list of servers: the answer of `GET /v0.1/servers`. The format is specified in
//! `docs/reference/api/openapi.yaml` of `modelcontextprotocol/registry`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::entry::{self, Entry};

/// The reason why an answer is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("it is not a list of servers")]
    NotAPage,
    #[error("its list has no end")]
    Endless,
    #[error("its list is too long")]
    TooLong,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    /// How many entries Drawbridge cannot use.
    pub(super) skipped: u32,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
}

#[derive(Deserialize)]
struct WirePage {
    servers: Vec<Value>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

impl Page {
    /// Parses an answer. An entry that cannot be used is skipped, and does not affect other
    /// entries.
    ///
    /// # Errors
    /// Returns an error if the answer is not a JSON object with a list of servers.
    pub(super) fn parse(answer: &[u8]) -> Result<Self, PageError> {
        let wire: WirePage = serde_json::from_slice(answer).map_err(|_| PageError::NotAPage)?;
        let next = wire.metadata.and_then(|metadata| {
            let cursor = metadata.get("nextCursor")?.as_str()?;
            (!cursor.is_empty()).then(|| cursor.to_owned())
        });
        let mut page = Self {
            next,
            ..Self::default()
        };
        for value in wire.servers {
            match entry::read(value) {
                Some(entry) => page.entries.push(entry),
                None => page.skipped = page.skipped.saturating_add(1),
            }
        }
        Ok(page)
    }
}
