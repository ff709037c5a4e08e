//! How long the names of tools may be for a client.

use drawbridge_client_config::find_client;
use drawbridge_model::{ids::ClientName, names::MAX_TOOL_NAME};

/// Drawbridge's own client, which puts nothing before a tool's name.
const COMMAND_LINE: &str = "command-line";

/// The client whose prefix a client of an unknown kind is expected to add. No known prefix is
/// longer.
const LONGEST_PREFIX: &str = "claude-code";

/// Returns the most bytes that a tool's name may have for a client, so that the name still has at
/// most [`MAX_TOOL_NAME`] bytes after the client has put the name of Drawbridge before it.
pub fn max_tool_name(client: &ClientName) -> usize {
    if client.as_str() == COMMAND_LINE {
        return MAX_TOOL_NAME;
    }
    let kind = find_client(client.as_str()).or_else(|| find_client(LONGEST_PREFIX));
    kind.map_or(MAX_TOOL_NAME, |kind| kind.name_budget())
}
