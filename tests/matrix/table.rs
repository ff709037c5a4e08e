//! Renders the cells as a part of docs/compatibility.md.

use drawbridge_tests::paths;

use crate::{cells, clients::Client, features, servers::Server};

const INTRODUCTION: &str = "\
# Compatibility

This page lists what each client can do with each kind of server through Drawbridge. Two more sections list
[servers that other people wrote](#tested-servers) and the results of the [conformance suites](#conformance-suites).
`cargo xtask compatibility` writes the page. For the tables that follow, it runs each client with each server through
one hub, and uses each feature once. A test does the same for every change, and fails if a cell differs from this page.

The server is the same program in all tables, and supports every feature. The tables differ in the transport and in the
protocol revision that the server speaks with Drawbridge: 2025-11-25 has sessions, 2026-07-28 has none. The clients are:

";

const LEGEND: &str = "
✓ means that the feature works. – means that the client's protocol revision makes the feature impossible.

In these tests, only one client at a time uses a server. A server with sessions over stdio or HTTP+SSE does not say to
which call its requests and log messages belong. While two clients have requests in flight at such a server, Drawbridge
refuses the server's requests, and passes its log messages to no client.
";

/// Returns the part of the page: the introduction, a table for each server, and the notes.
pub(crate) fn render() -> String {
    let mut page = INTRODUCTION.to_owned();
    for client in Client::ALL {
        page += &format!("- **{}**: {}.\n", client.title(), description(client));
    }
    page += LEGEND;
    for server in Server::ALL {
        page += &format!(
            "\n## Server over {}, protocol revision {}\n\n",
            server.transport(),
            server.revision()
        );
        page += &render_row(
            "feature",
            Client::ALL.map(|client| client.title().to_owned()),
        );
        page += &render_row("---", Client::ALL.map(|_| "---".to_owned()));
        for feature in features::ALL {
            page += &render_row(
                feature.description,
                Client::ALL.map(|client| render_cell(client, feature.name)),
            );
        }
    }
    page += "\n## Notes\n\n";
    for (number, note) in (1..).zip(cells::NOTES) {
        page += &format!("{number}. {}\n", note.reason);
    }
    page
}

fn description(client: Client) -> String {
    let package = match client {
        Client::TypeScript | Client::HttpSse | Client::Bridge => npm("@modelcontextprotocol/sdk"),
        Client::Python => pip("mcp"),
        Client::Stateless | Client::StatelessBridge => npm("@modelcontextprotocol/client"),
    };
    let transport = match client {
        Client::TypeScript | Client::Python | Client::Stateless => "streamable HTTP",
        Client::HttpSse => "HTTP+SSE",
        Client::Bridge | Client::StatelessBridge => "stdio, through `drawbridge stdio`",
    };
    format!(
        "{package} over {transport}, protocol revision {}",
        client.revision()
    )
}

fn render_cell(client: Client, feature: &str) -> String {
    match cells::find_note(client, feature) {
        None => "✓".to_owned(),
        Some((number, note)) => {
            let mark = if note.is_possible { '✓' } else { '–' };
            format!("{mark} [{number}](#notes)")
        }
    }
}

fn render_row(label: &str, cells: [String; 6]) -> String {
    format!("| {label} | {} |\n", cells.join(" | "))
}

fn npm(package: &str) -> String {
    format!("`{package}` {}", paths::npm_version(package))
}

fn pip(package: &str) -> String {
    format!(
        "`{package}` {}",
        paths::pip_version("requirements.txt", package)
    )
}
