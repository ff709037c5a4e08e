//! How long the names of tools may be for a client.

use drawbridge_client_config::find_client;
use drawbridge_model::{ids::ClientName, names::MAX_TOOL_NAME};

/// The client name of Drawbridge's command line, which adds no prefix to a tool's name.
const COMMAND_LINE: &str = "command-line";

/// The kind of client with the longest known prefix. A client of an unknown kind is assumed to add
/// the same prefix.
const LONGEST_PREFIX: &str = "claude-code";

/// Returns the maximum length of a tool's name for a client, in bytes. Together with the prefix
/// that the client adds, which contains Drawbridge's name, the name then has at most
/// [`MAX_TOOL_NAME`] bytes.
pub fn max_tool_name(client: &ClientName) -> usize {
    if client.as_str() == COMMAND_LINE {
        return MAX_TOOL_NAME;
    }
    let kind = find_client(client.as_str()).or_else(|| find_client(LONGEST_PREFIX));
    kind.map_or(MAX_TOOL_NAME, |kind| kind.name_budget())
}
