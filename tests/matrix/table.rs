//! The cells as a page of the docs.

use drawbridge_tests::paths;

use crate::{cells, clients::Client, features, servers::Server};

const BEFORE: &str = "\
# Compatibility

Which client can do what with which server, through Drawbridge. `cargo xtask compatibility` writes this page: it runs
each client with each server behind one hub, and does each thing once. A test does the same for every change, and
fails where a cell is not as it stands here.

The server is one and the same each time, with all features, reached in each way in turn, in a revision with sessions
and in the one without. The clients:

";

const AFTER: &str = "
✓ works; – is impossible by the protocol.

One client is with a server at a time here. Over stdio and HTTP+SSE, a server with sessions does not say for which
request it asks or logs: while two clients have requests in flight there, what it asks is refused, and what it logs is
told to nobody.
";

/// Returns the page.
pub(crate) fn render() -> String {
    let mut page = BEFORE.to_owned();
    for client in Client::ALL {
        page += &format!("- **{}**: {}.\n", client.title(), description(client));
    }
    page += AFTER;
    for server in Server::ALL {
        page += &format!(
            "\n## Server: {}, {}\n\n",
            server.transport(),
            server.revision()
        );
        page += &render_row("", Client::ALL.map(|client| client.title().to_owned()));
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
    let way = match client {
        Client::TypeScript | Client::Python | Client::Stateless => "streamable HTTP",
        Client::HttpSse => "HTTP+SSE",
        Client::Bridge | Client::StatelessBridge => "stdio, through `drawbridge stdio`",
    };
    format!("{package} over {way}; speaks {}", client.revision())
}

fn render_cell(client: Client, feature: &str) -> String {
    match cells::find_note(client, feature) {
        None => "✓".to_owned(),
        Some((number, note)) => {
            let sign = if note.is_possible { '✓' } else { '–' };
            format!("{sign} [{number}](#notes)")
        }
    }
}

fn render_row(first: &str, others: [String; 6]) -> String {
    format!("| {first} | {} |\n", others.join(" | "))
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
