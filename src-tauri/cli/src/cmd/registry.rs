//! `drawbridge registry`: searches the presets and the official registry for a server to add, shows
//! a server of the official registry, and refreshes the stored copy of the registry's list.

use std::fmt::Write;

use clap::{Subcommand, ValueEnum};
use drawbridge_hub::api::{
    registry::{
        FoundServers, OfficialRegistryView, PublishedServerDetails, PublishedServerView,
        RefreshRegistry, SearchRegistry, ShowPublishedServer,
    },
    servers::{ListPresets, PresetView},
};
use drawbridge_model::published::PublishedKind;
use serde::Serialize;

use super::servers::manifests::format_manifest;
use crate::{
    context::Context,
    exit::Failure,
    output,
    table::Table,
    text::{escape, format_count},
    time::format_time_or_dash,
};

#[derive(Subcommand)]
pub(crate) enum RegistryCommand {
    /// Search the presets and the stored copy of the official registry
    ///
    /// Uses no network. `registry refresh` fetches the list.
    Search {
        /// Words that all have to occur in the name, the title or the description
        #[arg(value_name = "TEXT")]
        words: Vec<String>,
        /// Only servers of this kind
        #[arg(long, value_enum)]
        kind: Option<PublishedKindArg>,
        /// Only servers that can be used without a secret
        #[arg(long)]
        no_key: bool,
        /// How many servers of the official registry are listed, at most 100
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
    /// Show a server of the official registry: its packages, remotes, inputs and missing runtimes
    ///
    /// `servers add --registry NAME` adds the server.
    Show {
        /// The full name, such as io.github.owner/server
        name: String,
    },
    /// Fetch the list of the official registry, or its changes since the last refresh
    Refresh {
        /// Only if the copy is incomplete or older than a day
        #[arg(long)]
        if_stale: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PublishedKindArg {
    Npm,
    Pypi,
    /// Container images
    Oci,
    Nuget,
    /// MCP bundles
    Mcpb,
    /// URLs
    Remote,
}

impl PublishedKindArg {
    fn to_published_kind(self) -> PublishedKind {
        match self {
            Self::Npm => PublishedKind::Npm,
            Self::Pypi => PublishedKind::Pypi,
            Self::Oci => PublishedKind::Oci,
            Self::Nuget => PublishedKind::Nuget,
            Self::Mcpb => PublishedKind::Mcpb,
            Self::Remote => PublishedKind::Remote,
        }
    }
}

/// The results of a search, as `--json` prints them.
#[derive(Serialize)]
struct SearchResult {
    presets: Vec<PresetView>,
    #[serde(flatten)]
    found: PublishedResult,
}

/// The results that come from the official registry.
#[derive(Serialize)]
struct PublishedResult {
    servers: Vec<PublishedServerView>,
    total: u32,
    registry: OfficialRegistryView,
}

impl RegistryCommand {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Search {
                words,
                kind,
                no_key,
                limit,
            } => {
                let search = SearchRegistry {
                    text: words.join(" "),
                    kind: kind.map(PublishedKindArg::to_published_kind),
                    needs_secret: no_key.then_some(false),
                    limit: Some(limit),
                    ..SearchRegistry::default()
                };
                let hub = context.open_hub_handle().await?;
                let found = hub.run(search).await;
                let presets = hub.run(ListPresets {}).await;
                hub.close().await;
                let result = build_result(found?, presets?);
                output::print_answer(context.json, &result, format_result)
            }
            Self::Show { name } => {
                let show = ShowPublishedServer { name };
                context.run_and_print(show, format_details).await
            }
            Self::Refresh { if_stale } => {
                let refresh = RefreshRegistry { force: !if_stale };
                context.run_and_print(refresh, format_registry).await
            }
        }
    }
}

fn build_result(found: FoundServers, mut presets: Vec<PresetView>) -> SearchResult {
    presets.retain(|preset| found.presets.iter().any(|shown| shown.id == preset.id));
    SearchResult {
        presets,
        found: PublishedResult {
            servers: found.servers,
            total: found.total,
            registry: found.registry,
        },
    }
}

fn format_result(result: &SearchResult) -> String {
    let mut lines = String::new();
    if !result.presets.is_empty() {
        let mut table = Table::new(["PRESET", "DESCRIPTION"]);
        for preset in &result.presets {
            table.add_row([preset.id.as_str(), preset.description.as_str()]);
        }
        lines = format!("{}\n\n", table.format_or(""));
    }
    let PublishedResult {
        servers,
        total,
        registry,
    } = &result.found;
    if !servers.is_empty() {
        let mut table = Table::new([
            "OFFICIAL REGISTRY",
            "VERSION",
            "KINDS",
            "NOTES",
            "DESCRIPTION",
        ]);
        for server in servers {
            table.add_row([
                server.name.as_str(),
                server.version.as_str(),
                &format_kinds(server),
                &format_notes(server),
                server.description.as_str(),
            ]);
        }
        let _ = write!(lines, "{}\n\n", table.format_or(""));
        let shown = u32::try_from(servers.len()).unwrap_or(u32::MAX);
        if shown < *total {
            let _ = writeln!(
                lines,
                "{shown} of {total} servers are listed. Add a word, or use a higher --limit (at most 100)."
            );
        }
    } else if result.presets.is_empty() {
        lines.push_str("Nothing found. Use fewer or other words.\n");
    }
    lines.push_str(&format_registry(registry));
    lines
}

fn format_kinds(server: &PublishedServerView) -> String {
    let kinds: Vec<_> = server.kinds.iter().map(|kind| kind.name()).collect();
    kinds.join(", ")
}

fn format_notes(server: &PublishedServerView) -> String {
    let mut notes = Vec::new();
    if let Some(id) = server.added.first() {
        notes.push(format!("added as {id}"));
    }
    if server.needs_secret {
        notes.push("needs a key".to_owned());
    }
    if server.deprecated {
        notes.push("deprecated".to_owned());
    }
    if !server.problem.is_empty() {
        notes.push("cannot be added".to_owned());
    }
    notes.join(", ")
}

fn format_details(details: &PublishedServerDetails) -> String {
    let server = &details.server;
    let mut lines = format_manifest(&details.manifest);
    let _ = write!(lines, "\n\nPublisher: {}", escape(&server.publisher));
    for (label, url) in [
        ("Source", &server.repository_url),
        ("Website", &server.website_url),
    ] {
        if !url.is_empty() {
            let _ = write!(lines, "\n{label}: {}", escape(url));
        }
    }
    let notes = format_notes(server);
    if !notes.is_empty() {
        let _ = write!(lines, "\nNotes: {}", escape(&notes));
    }
    for runtime in &details.runtimes {
        if !runtime.problem.is_empty() {
            let _ = write!(
                lines,
                "\n{}. {}",
                escape(&runtime.problem),
                escape(&runtime.remedy)
            );
        }
    }
    let _ = write!(
        lines,
        "\n\nAnybody can publish in the official registry. To add this server, run `drawbridge servers add --registry {}`.",
        escape(&server.name)
    );
    lines
}

fn format_registry(registry: &OfficialRegistryView) -> String {
    if registry.url.is_empty() {
        return "The official registry is turned off; `drawbridge settings set official-registry URL` turns it on.".to_owned();
    }
    let url = escape(&registry.url);
    let mut lines = match registry.refreshed_at {
        None => format!(
            "The official registry ({url}) has not been read; `drawbridge registry refresh` reads it."
        ),
        Some(_) => format!(
            "The list of {url} was refreshed at {}.",
            format_time_or_dash(registry.refreshed_at)
        ),
    };
    if registry.skipped > 0 {
        let skipped = format_count(registry.skipped, "entry", "entries");
        let _ = write!(lines, " Drawbridge cannot use {skipped} of the list.");
    }
    if !registry.error.is_empty() {
        let _ = write!(
            lines,
            "\nThe last refresh failed: {}",
            escape(&registry.error)
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> OfficialRegistryView {
        OfficialRegistryView {
            url: "https://registry.example".into(),
            refreshed_at: None,
            complete: false,
            stale: true,
            refreshing: false,
            skipped: 0,
            error: String::new(),
        }
    }

    #[test]
    fn a_search_lists_servers_with_their_notes() {
        let server = PublishedServerView {
            name: "a.b/c".into(),
            title: "C".into(),
            publisher: "a.b".into(),
            description: "Does\u{1b}[2J things.".into(),
            version: "1.0.0".into(),
            kinds: vec![PublishedKind::Npm, PublishedKind::Remote],
            needs_secret: true,
            deprecated: true,
            updated_at: None,
            repository_url: String::new(),
            website_url: String::new(),
            added: Vec::new(),
            problem: String::new(),
        };
        let lines = format_result(&SearchResult {
            presets: Vec::new(),
            found: PublishedResult {
                servers: vec![server],
                total: 7,
                registry: registry(),
            },
        });
        assert!(
            lines.contains("a.b/c              1.0.0    npm, remote  needs a key, deprecated"),
            "{lines}"
        );
        assert!(lines.contains(r"Does\u{1b}[2J things."), "{lines}");
        assert!(lines.contains("1 of 7 servers are listed"), "{lines}");
        assert!(lines.contains("has not been read"), "{lines}");
    }
}
