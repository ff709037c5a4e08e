//! The official registry of the MCP project: a copy of its list of servers in the store, which is
//! searched without the network. Drawbridge fetches nothing until a person asks for the list.
//!
//! The list is foreign text: [`entry`] keeps only entries that Drawbridge can use, and this module
//! limits the size of an answer and of a refresh.

mod entry;
mod page;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    clock,
    event::{Event, Events},
    ids::Timestamp,
};
use drawbridge_store::{
    Store, StoreError,
    settings::Settings,
    table::published_server::{PublishedFilter, PublishedRow},
};
use drawbridge_upstream::{DownloadError, Downloader};
use serde::{Deserialize, Serialize};
use url::Url;

use super::manifest::{self, Manifest, ManifestError};
use entry::Entry;
use page::{Page, PageError};

/// How long a copy counts as fresh.
const FRESH_FOR: Duration = Duration::from_hours(24);
/// How often the whole list is read again, and not only its changes.
const COMPLETE_READ_EVERY: Duration = Duration::from_hours(7 * 24);
/// How much two reads overlap, because the registry's clock may differ from the clock here, and
/// changes may appear out of order.
const OVERLAP: Duration = Duration::from_mins(10);
/// How long the registry may take for one page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of one page.
const MAX_PAGE_BYTES: u64 = 16 * 1024 * 1024;
/// How many servers one page should have.
const PAGE_SIZE: u32 = 100;
/// The most pages, servers and bytes of one refresh.
const MAX_PAGES: usize = 1_000;
const MAX_SERVERS: usize = 50_000;
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// The maximum length of a cursor, in bytes.
const MAX_CURSOR_BYTES: usize = 2_048;

/// The setting with the state of the copy.
const STATE: &str = "official_registry";

/// The reason why the official registry or its copy cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OfficialRegistryError {
    #[error(
        "the official registry is turned off; enter its address in the settings, or run `drawbridge settings set official-registry URL`"
    )]
    Off,
    #[error("the official registry at {host} cannot be read: {source}. {advice}")]
    Download {
        host: String,
        source: DownloadError,
        advice: &'static str,
    },
    #[error(
        "the official registry at {host} sent an answer that Drawbridge rejects: {source}. {advice}"
    )]
    Page {
        host: String,
        source: PageError,
        advice: &'static str,
    },
    #[error(
        "there is no server '{0}' in the copy of the official registry; refresh the copy with `drawbridge registry refresh`, or search with `drawbridge registry search`"
    )]
    Unknown(String),
    #[error("the server.json of '{name}' in the official registry cannot be used: {source}")]
    Manifest {
        name: String,
        source: Arc<ManifestError>,
    },
    #[error(transparent)]
    Store(Arc<StoreError>),
}

impl From<StoreError> for OfficialRegistryError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// The stored state of the copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct CopyState {
    /// The registry that was read.
    url: String,
    /// When a refresh last succeeded.
    refreshed_at: Option<Timestamp>,
    /// When the whole list was last read; `None` if it was never read.
    complete_at: Option<Timestamp>,
    /// The number of the last complete read.
    generation: i64,
    /// The next refresh asks for the changes from this moment on.
    changes_since: Option<Timestamp>,
    /// How many entries Drawbridge could not use in the last complete read.
    skipped: u32,
}

/// Whether a refresh runs, and the error of the last refresh.
#[derive(Default)]
struct Progress {
    is_running: bool,
    error: String,
}

/// The state of the copy, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfficialRegistryStatus {
    /// The registry's address; empty if it is turned off.
    pub url: String,
    pub refreshed_at: Option<Timestamp>,
    /// Whether the whole list was read.
    pub is_complete: bool,
    /// Whether the copy should be refreshed.
    pub is_stale: bool,
    pub is_refreshing: bool,
    /// How many entries of the list Drawbridge cannot use.
    pub skipped: u32,
    /// Why the last refresh failed; empty if it did not.
    pub error: String,
}

/// The copy of the official registry. Cheap to clone.
#[derive(Clone)]
pub struct OfficialRegistry {
    store: Store,
    settings: Settings,
    events: Events,
    progress: Arc<Mutex<Progress>>,
    /// Held during a refresh, so that only one refresh runs at a time.
    refreshing: Arc<tokio::sync::Mutex<()>>,
}

impl OfficialRegistry {
    pub fn new(store: Store, settings: Settings, events: Events) -> Self {
        Self {
            store,
            settings,
            events,
            progress: Arc::default(),
            refreshing: Arc::default(),
        }
    }

    /// Returns the state of the copy.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn status(&self) -> Result<OfficialRegistryStatus, OfficialRegistryError> {
        let url = self.settings.get().official_registry_url.clone();
        let state = self.state(&url).await?;
        let progress = self.progress();
        Ok(OfficialRegistryStatus {
            is_stale: !url.is_empty() && !state.is_fresh(),
            url,
            refreshed_at: state.refreshed_at,
            is_complete: state.complete_at.is_some(),
            is_refreshing: progress.is_running,
            skipped: state.skipped,
            error: progress.error.clone(),
        })
    }

    /// Returns at most `limit` matching servers after the first `offset`, and the number of all
    /// matching servers.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn search(
        &self,
        filter: &PublishedFilter,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<PublishedRow>, u32), OfficialRegistryError> {
        if !self.has_copy().await? {
            return Ok((Vec::new(), 0));
        }
        let total = self.store.count_published_servers(filter).await?;
        let rows = self.store.published_servers(filter, limit, offset).await?;
        Ok((rows, total))
    }

    /// Returns a server by its full name.
    ///
    /// # Errors
    /// Returns an error if the copy has no such server, if its `server.json` cannot be used, or if
    /// the store cannot be read.
    pub async fn find(
        &self,
        name: &str,
    ) -> Result<(PublishedRow, Manifest), OfficialRegistryError> {
        let row = if self.has_copy().await? {
            self.store.published_server(name).await?
        } else {
            None
        };
        let row = row.ok_or_else(|| OfficialRegistryError::Unknown(name.to_owned()))?;
        match manifest::read_published(&row.document) {
            Ok(manifest) => Ok((row, manifest)),
            Err(error) => Err(OfficialRegistryError::Manifest {
                name: row.name,
                source: Arc::new(error),
            }),
        }
    }

    /// Brings the copy up to date. If another refresh runs, waits for its end instead, and returns
    /// no error even if that refresh fails. Does nothing if the copy is fresh, unless `force` is
    /// set.
    ///
    /// # Errors
    /// Returns an error if the registry is turned off, cannot be reached or sends an answer that is
    /// not a list of servers, or if the store cannot be used. The servers that were read stay in
    /// the copy.
    pub async fn refresh(&self, force: bool) -> Result<(), OfficialRegistryError> {
        let url = self.settings.get().official_registry_url.clone();
        if url.is_empty() {
            return Err(OfficialRegistryError::Off);
        }
        let Ok(_one_at_a_time) = self.refreshing.try_lock() else {
            drop(self.refreshing.lock().await);
            return Ok(());
        };
        let state = self.state(&url).await?;
        if !force && state.is_fresh() {
            return Ok(());
        }
        self.set_progress(true, String::new());
        let outcome = self.read_list(&url, state).await;
        let error = outcome.as_ref().err().map(ToString::to_string);
        self.set_progress(false, error.unwrap_or_default());
        outcome
    }

    async fn read_list(
        &self,
        url: &str,
        mut state: CopyState,
    ) -> Result<(), OfficialRegistryError> {
        let started_at = clock::now();
        let reads_all = state.must_read_all(started_at);
        let generation = if reads_all {
            started_at.0
        } else {
            state.generation
        };
        if state.url != url {
            // There is no copy, or it belongs to another registry.
            self.store
                .delete_other_published_servers(generation)
                .await?;
            state = CopyState {
                url: url.to_owned(),
                ..CopyState::default()
            };
            self.save_state(&state).await?;
        }
        let changes_since = state.changes_since.filter(|_| !reads_all);
        let skipped = self.read_pages(&state, changes_since, generation).await?;
        if reads_all {
            self.store
                .delete_other_published_servers(generation)
                .await?;
            state.complete_at = Some(started_at);
            state.generation = generation;
            state.skipped = skipped;
        }
        state.refreshed_at = Some(clock::now());
        state.changes_since = Some(before(started_at, OVERLAP));
        self.save_state(&state).await
    }

    /// Reads all pages of the list, or of its changes, and stores their entries. Returns how many
    /// entries were skipped.
    async fn read_pages(
        &self,
        state: &CopyState,
        changes_since: Option<Timestamp>,
        generation: i64,
    ) -> Result<u32, OfficialRegistryError> {
        let context = RegistryContext::new(&state.url, state.complete_at.is_some());
        let downloader = Downloader::new(&state.url).map_err(|e| context.download_error(e))?;
        let (mut cursor, mut cursors) = (None, BTreeSet::new());
        let (mut servers, mut bytes, mut skipped) = (0, 0, 0);
        for _ in 0..MAX_PAGES {
            let address = page_address(&state.url, cursor.as_deref(), changes_since)
                .ok_or_else(|| context.download_error(DownloadError::NotUrl))?;
            let answer = downloader
                .get(&address, MAX_PAGE_BYTES, PAGE_TIMEOUT)
                .await
                .map_err(|e| context.download_error(e))?;
            let page = Page::parse(&answer).map_err(|e| context.page_error(e))?;
            servers += page.entries.len();
            bytes += answer.len();
            if servers > MAX_SERVERS || bytes > MAX_BYTES {
                return Err(context.page_error(PageError::TooLong));
            }
            skipped += page.skipped;
            self.store_entries(page.entries, generation).await?;
            self.events.publish(Event::OfficialRegistryChanged);
            let Some(next) = page.next else {
                return Ok(skipped);
            };
            if next.len() > MAX_CURSOR_BYTES || !cursors.insert(next.clone()) {
                return Err(context.page_error(PageError::Endless));
            }
            cursor = Some(next);
        }
        Err(context.page_error(PageError::Endless))
    }

    async fn store_entries(
        &self,
        entries: Vec<Entry>,
        generation: i64,
    ) -> Result<(), OfficialRegistryError> {
        let (mut rows, mut deleted) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Published(row) => rows.push(*row),
                Entry::Deleted(name) => deleted.push(name),
                Entry::Outdated => {}
            }
        }
        let put = self
            .store
            .put_published_servers(&rows, &deleted, generation);
        Ok(put.await?)
    }

    /// Returns the state of the copy of the registry at `url`, or the default state if the copy
    /// belongs to another registry.
    async fn state(&self, url: &str) -> Result<CopyState, OfficialRegistryError> {
        let stored: Option<CopyState> = self.store.json_setting(STATE).await?;
        Ok(stored.filter(|state| state.url == url).unwrap_or_default())
    }

    async fn has_copy(&self) -> Result<bool, OfficialRegistryError> {
        let url = self.settings.get().official_registry_url.clone();
        Ok(!url.is_empty() && self.state(&url).await?.url == url)
    }

    async fn save_state(&self, state: &CopyState) -> Result<(), OfficialRegistryError> {
        let text = serde_json::to_string(state).expect("the state is plain data");
        Ok(self.store.set_setting(STATE, &text).await?)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_progress(&self, is_running: bool, error: String) {
        *self.progress() = Progress { is_running, error };
        self.events.publish(Event::OfficialRegistryChanged);
    }
}

impl CopyState {
    fn is_fresh(&self) -> bool {
        let now = clock::now();
        let limit = before(now, FRESH_FOR);
        self.refreshed_at.is_some_and(|at| limit < at && at <= now) && self.complete_at.is_some()
    }

    /// Returns whether the whole list has to be read, and not only its changes.
    fn must_read_all(&self, now: Timestamp) -> bool {
        let limit = before(now, COMPLETE_READ_EVERY);
        self.changes_since.is_none() || self.complete_at.is_none_or(|at| at <= limit || at > now)
    }
}

/// The parts that all errors of one refresh mention.
struct RegistryContext {
    host: String,
    advice: &'static str,
}

impl RegistryContext {
    fn new(url: &str, has_copy: bool) -> Self {
        let host = Url::parse(url).ok();
        let host = host.and_then(|url| url.host_str().map(str::to_owned));
        Self {
            host: host.unwrap_or_else(|| url.to_owned()),
            advice: if has_copy {
                "The list from the last refresh is still here; try again later"
            } else {
                "Check the network and the address in the settings, then try again"
            },
        }
    }

    fn download_error(&self, source: DownloadError) -> OfficialRegistryError {
        OfficialRegistryError::Download {
            host: self.host.clone(),
            source,
            advice: self.advice,
        }
    }

    fn page_error(&self, source: PageError) -> OfficialRegistryError {
        OfficialRegistryError::Page {
            host: self.host.clone(),
            source,
            advice: self.advice,
        }
    }
}

/// Returns the address of a page, or `None` if `base` is not a URL that can have a path.
fn page_address(base: &str, cursor: Option<&str>, changes_since: Option<Timestamp>) -> Option<Url> {
    let mut url = Url::parse(base).ok()?;
    url.path_segments_mut()
        .ok()?
        .pop_if_empty()
        .extend(["v0.1", "servers"]);
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("limit", &PAGE_SIZE.to_string())
            .append_pair("version", "latest");
        if let Some(since) = changes_since.and_then(format_time) {
            query.append_pair("updated_since", &since);
        }
        if let Some(cursor) = cursor {
            query.append_pair("cursor", cursor);
        }
    }
    Some(url)
}

/// Returns a moment in the format of RFC 3339, or `None` if the moment is out of range.
fn format_time(at: Timestamp) -> Option<String> {
    jiff::Timestamp::from_millisecond(at.0)
        .ok()
        .map(|at| at.to_string())
}

fn before(at: Timestamp, duration: Duration) -> Timestamp {
    let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    Timestamp(at.0.saturating_sub(millis))
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;
