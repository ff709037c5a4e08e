//! How long the names of tools may be for a client.

use drawbridge_model::{ids::ClientName, names::MAX_TOOL_NAME};

/// What clients put before a tool's name, unless [`PREFIXES`] knows better. The model gets the
/// whole name.
const LONGEST_PREFIX: &str = "mcp__drawbridge__";

/// The prefixes of clients that are known to add a shorter one.
const PREFIXES: [(&str, &str); 4] = [
    ("command-line", ""),
    ("crush", "mcp_drawbridge_"),
    ("goose", "drawbridge__"),
    ("opencode", "drawbridge_"),
];

/// Returns the most bytes that a tool's name may have for a client, so that the name still has at
/// most [`MAX_TOOL_NAME`] bytes after the client has put the name of Drawbridge before it.
pub fn max_tool_name(client: &ClientName) -> usize {
    let known = PREFIXES.iter().find(|(name, _)| *name == client.as_str());
    MAX_TOOL_NAME - known.map_or(LONGEST_PREFIX, |(_, prefix)| prefix).len()
}
