//! Renders the servers as a part of docs/compatibility.md.

use crate::{differences, servers::ALL};

const INTRODUCTION: &str = "\
## Tested servers

The table lists servers that other people wrote, and small servers from `tests/real/foreign` that use other people's
SDKs. A test connects to each server directly and through Drawbridge, and compares the texts of all definitions (tools,
prompts, resources and resource templates) and of the answers to some requests. If a server supports 2026-07-28 and an
older revision, the test compares the two connections in each revision.

`mcp` is the official Python SDK. `@modelcontextprotocol/sdk` and `@modelcontextprotocol/server` are the official
TypeScript SDKs.

| server | SDK | transport | definitions | requests | answers through Drawbridge |
| --- | --- | --- | --- | --- | --- |
";

const SERVER_NAME_NOTE: &str = "
Drawbridge speaks 2026-07-28 with every server that supports it. In this revision, a server adds its name to the `_meta`
of each result, and clients with sessions receive this name too. For these clients, the test ignores the name, and
compares JSON values instead of texts.
";

/// Returns the section 'Tested servers' of docs/compatibility.md, as Markdown.
pub(crate) fn render() -> String {
    let mut part = INTRODUCTION.to_owned();
    for server in ALL {
        let difference_count = differences::ALL
            .iter()
            .filter(|row| row.servers.contains(&server.name))
            .count();
        let result = match difference_count {
            0 => "identical".to_owned(),
            1 => "identical, except 1 answer".to_owned(),
            count => format!("identical, except {count} answers"),
        };
        part += &format!(
            "| {} | {} | {} | {} | {} | {result} |\n",
            server.title.text(),
            server.sdk.text(),
            server.transport.title(),
            server.definitions,
            server.requests.len(),
        );
    }
    part += SERVER_NAME_NOTE;
    let mut reasons: Vec<&str> = differences::ALL.iter().map(|row| row.reason).collect();
    reasons.dedup();
    for reason in reasons {
        part += &format!("\n{reason} The answers to these requests therefore differ:\n\n");
        for row in differences::ALL.iter().filter(|row| row.reason == reason) {
            let servers: Vec<String> = row.servers.iter().map(|name| describe(name)).collect();
            part += &format!("- `{}`, sent to {}\n", row.entry, servers.join(", "));
        }
    }
    part
}

/// Returns the program and the transport of a server of the table.
fn describe(name: &str) -> String {
    let server = ALL
        .iter()
        .find(|server| server.name == name)
        .expect("every difference names servers of the table");
    format!("{} over {}", server.title.text(), server.transport.title())
}
