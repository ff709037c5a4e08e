//! The search for a server to add: among the presets, and among the published servers of the
//! official registry.

use std::collections::BTreeSet;

use drawbridge_model::{
    ids::{ServerId, Timestamp},
    published::PublishedKind,
    runtime::{Runtime, RuntimeStatus},
};
use drawbridge_store::table::published_server::{PublishedFilter, PublishedRow};
use drawbridge_upstream::transport::process::runtime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ApiError, Verb,
    servers::{ManifestView, manifest_view},
};
use crate::{
    hub::Hub,
    registry::{
        manifest::{self, Choice, Manifest},
        presets::{self, ServerPreset},
    },
};

const DEFAULT_LIMIT: u32 = 30;
const MAX_LIMIT: u32 = 100;
/// The maximum number of words of a search. Further words are ignored.
const MAX_WORDS: usize = 8;

/// The state of the copy of the official registry's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OfficialRegistryView {
    /// The registry's address; empty if it is turned off.
    pub url: String,
    /// When the list was refreshed last; null if it never was.
    pub refreshed_at: Option<Timestamp>,
    /// Whether the whole list was read.
    pub complete: bool,
    /// Whether the list should be refreshed.
    pub stale: bool,
    pub refreshing: bool,
    /// How many entries of the list Drawbridge cannot use.
    pub skipped: u32,
    /// Why the last refresh failed; empty if it did not.
    pub error: String,
}

/// A preset that a search has found. `servers.presets` describes the preset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FoundPreset {
    pub id: String,
    /// The registered servers that start the same package, or connect to the same URL.
    pub added: Vec<ServerId>,
}

/// A server of the official registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PublishedServerView {
    /// The full name, such as `io.github.owner/server`.
    pub name: String,
    pub title: String,
    /// The namespace that the registry has checked, such as `io.github.owner`.
    pub publisher: String,
    pub description: String,
    pub version: String,
    pub kinds: Vec<PublishedKind>,
    /// Whether the server cannot be used without a secret.
    pub needs_secret: bool,
    /// Whether the publisher advises against using the server.
    pub deprecated: bool,
    pub updated_at: Option<Timestamp>,
    /// The address of the source code; empty if there is none, or if a browser may not open it.
    pub repository_url: String,
    /// The address of the website; empty if there is none, or if a browser may not open it.
    pub website_url: String,
    /// The registered servers that start the same package, or connect to the same URL.
    pub added: Vec<ServerId>,
    /// Why the server cannot be added, in plain words; empty if it can.
    pub problem: String,
}

/// The servers that a search has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FoundServers {
    /// The presets, on the first page only.
    pub presets: Vec<FoundPreset>,
    pub servers: Vec<PublishedServerView>,
    /// How many servers of the official registry match.
    pub total: u32,
    /// The `offset` of the next page; null if this page is the last.
    pub next: Option<u32>,
    pub registry: OfficialRegistryView,
}

/// A server of the official registry, its manifest, and the runtimes that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PublishedServerDetails {
    pub server: PublishedServerView,
    pub manifest: ManifestView,
    /// The runtimes of the choices, as they were found on this computer.
    pub runtimes: Vec<RuntimeStatus>,
}

/// `registry.search`: searches the presets and the stored copy of the official registry's list.
/// Does not use the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct SearchRegistry {
    /// Words that all have to occur in the name, the title or the description.
    pub text: String,
    /// Only servers with a package or remote of this kind.
    pub kind: Option<PublishedKind>,
    /// Only servers that cannot (`true`) or can (`false`) be used without a secret.
    pub needs_secret: Option<bool>,
    pub offset: u32,
    /// At most 100; 30 by default.
    pub limit: Option<u32>,
}

/// `registry.show`: one server of the official registry, from the stored copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowPublishedServer {
    pub name: String,
}

/// `registry.refresh`: fetches the changes of the official registry's list, or the whole list. If
/// the copy is less than a day old, does nothing unless `force` is set. If another refresh runs,
/// only waits for its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct RefreshRegistry {
    pub force: bool,
}

impl Verb for SearchRegistry {
    type Answer = FoundServers;

    async fn run(self, hub: &Hub) -> Result<FoundServers, ApiError> {
        let text = self.text.to_lowercase();
        let words: Vec<String> = text
            .split_whitespace()
            .take(MAX_WORDS)
            .map(str::to_owned)
            .collect();
        let found_preset = |preset: &ServerPreset| FoundPreset {
            id: preset.id.clone(),
            added: list_added(hub, std::slice::from_ref(&preset.choice)),
        };
        let presets = presets::all()
            .iter()
            .filter(|preset| self.offset == 0 && self.matches_preset(&words, preset))
            .map(found_preset)
            .collect();
        let filter = PublishedFilter {
            words,
            kind: self.kind.map(|kind| kind.name().to_owned()),
            needs_secret: self.needs_secret,
        };
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let (rows, total) = hub
            .official_registry
            .search(&filter, limit, self.offset)
            .await?;
        let end = self.offset.saturating_add(limit);
        let view = |row: &PublishedRow| {
            let manifest = manifest::read_published(&row.document).ok()?;
            Some(server_view(hub, row, &manifest))
        };
        Ok(FoundServers {
            presets,
            servers: rows.iter().filter_map(view).collect(),
            total,
            next: (end < total).then_some(end),
            registry: registry_view(hub).await?,
        })
    }
}

impl SearchRegistry {
    fn matches_preset(&self, words: &[String], preset: &ServerPreset) -> bool {
        let text = format!("{} {} {}", preset.id, preset.title, preset.description).to_lowercase();
        let needs_secret = requires_secret(&preset.choice);
        words.iter().all(|word| text.contains(word))
            && self.kind.is_none_or(|kind| kind == kind_of(&preset.choice))
            && self
                .needs_secret
                .is_none_or(|needed| needed == needs_secret)
    }
}

impl Verb for ShowPublishedServer {
    type Answer = PublishedServerDetails;

    async fn run(self, hub: &Hub) -> Result<PublishedServerDetails, ApiError> {
        let (row, manifest) = hub.official_registry.find(&self.name).await?;
        let needed: BTreeSet<Runtime> = manifest
            .choices
            .iter()
            .filter_map(|choice| choice.runtime)
            .collect();
        let needed: Vec<Runtime> = needed.into_iter().collect();
        Ok(PublishedServerDetails {
            server: server_view(hub, &row, &manifest),
            manifest: manifest_view(manifest),
            runtimes: runtime::check_runtimes(&needed).await,
        })
    }
}

impl Verb for RefreshRegistry {
    type Answer = OfficialRegistryView;

    async fn run(self, hub: &Hub) -> Result<OfficialRegistryView, ApiError> {
        hub.official_registry.refresh(self.force).await?;
        registry_view(hub).await
    }
}

async fn registry_view(hub: &Hub) -> Result<OfficialRegistryView, ApiError> {
    let status = hub.official_registry.status().await?;
    Ok(OfficialRegistryView {
        url: status.url,
        refreshed_at: status.refreshed_at,
        complete: status.is_complete,
        stale: status.is_stale,
        refreshing: status.is_refreshing,
        skipped: status.skipped,
        error: status.error,
    })
}

fn server_view(hub: &Hub, row: &PublishedRow, manifest: &Manifest) -> PublishedServerView {
    let document: Value = serde_json::from_str(&row.document).unwrap_or_default();
    let url = |pointer: &str| {
        let url = document.pointer(pointer).and_then(Value::as_str);
        let url = url.filter(|url| drawbridge_upstream::oauth::check_browser_url(url).is_ok());
        url.unwrap_or_default().to_owned()
    };
    let kinds = PublishedKind::ALL
        .into_iter()
        .filter(|kind| row.kinds.iter().any(|name| name == kind.name()));
    let problem = manifest.first_usable().problem.as_ref();
    PublishedServerView {
        name: row.name.clone(),
        title: row.title.clone(),
        publisher: row.name.split('/').next().unwrap_or_default().to_owned(),
        description: manifest.description.clone(),
        version: manifest.version.clone(),
        kinds: kinds.collect(),
        needs_secret: row.needs_secret,
        deprecated: row.deprecated,
        updated_at: row.updated_at,
        repository_url: url("/repository/url"),
        website_url: url("/websiteUrl"),
        added: list_added(hub, &manifest.choices),
        problem: problem.map_or_else(String::new, ToString::to_string),
    }
}

/// Returns the servers that start the package, or connect to the URL, of one of the choices.
fn list_added(hub: &Hub, choices: &[Choice]) -> Vec<ServerId> {
    let specs = hub.registry.specs();
    let servers = specs.servers.values();
    servers
        .filter(|server| choices.iter().any(|choice| choice.is_used_by(&server.spec)))
        .map(|server| server.id.clone())
        .collect()
}

fn requires_secret(choice: &Choice) -> bool {
    let mut inputs = choice.inputs.iter();
    inputs.any(|input| input.secret && input.required)
}

fn kind_of(choice: &Choice) -> PublishedKind {
    match choice.runtime {
        Some(Runtime::Npx) => PublishedKind::Npm,
        Some(Runtime::Uvx) => PublishedKind::Pypi,
        Some(Runtime::Docker) => PublishedKind::Oci,
        Some(Runtime::Dnx) => PublishedKind::Nuget,
        Some(Runtime::Node | Runtime::Python) => PublishedKind::Other,
        None => PublishedKind::Remote,
    }
}
