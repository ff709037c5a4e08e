//! The servers as a part of docs/compatibility.md.

use crate::{differences, servers::ALL};

const BEFORE: &str = "\
## Servers tried

Servers that other people wrote, and small servers of `tests/real/foreign` on other people's SDKs. A test compares each
with itself behind Drawbridge: every definition and every answer must be the same text. A server that speaks 2026-07-28
is compared in that revision and in one with sessions.

`mcp` is the official SDK for Python; `@modelcontextprotocol/sdk` and `@modelcontextprotocol/server` are the official
SDKs for TypeScript.

| server | built on | reached over | definitions | requests | result |
| --- | --- | --- | --- | --- | --- |
";

/// The text after the table.
const AFTER: &str = "
Drawbridge speaks 2026-07-28 with a server that can. Such a server names itself in the `_meta` of each result, and
a client with a session sees that too.
";

/// Returns the part of the page.
pub(crate) fn render() -> String {
    let mut part = BEFORE.to_owned();
    for server in ALL {
        let known = || {
            differences::ALL
                .iter()
                .filter(|row| row.servers.contains(&server.name))
        };
        let result = match known().count() {
            0 => "the same".to_owned(),
            1 => "the same, but for 1 answer".to_owned(),
            more => format!("the same, but for {more} answers"),
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
    part += AFTER;
    let mut reasons: Vec<&str> = differences::ALL.iter().map(|row| row.reason).collect();
    reasons.dedup();
    for reason in reasons {
        part += &format!("\n{reason} These answers differ:\n\n");
        for row in differences::ALL.iter().filter(|row| row.reason == reason) {
            let servers: Vec<String> = row
                .servers
                .iter()
                .map(|name| name.replace('_', " "))
                .collect();
            part += &format!("- `{}` ({})\n", row.entry, servers.join(", "));
        }
    }
    part
}
