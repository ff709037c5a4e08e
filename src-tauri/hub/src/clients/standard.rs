//! The `mcpServers` format, which most clients read.

use drawbridge_model::ids::ClientName;
use serde_json::{Value, json};

/// Returns the config for HTTP, with the client's token.
pub fn http_config(url: &str, token: &str) -> Value {
    json!({ "mcpServers": { "drawbridge": {
        "type": "http",
        "url": url,
        "headers": { "Authorization": format!("Bearer {token}") },
    } } })
}

/// Returns the config for the stdio bridge, for clients that refuse HTTP on localhost. It contains
/// no token.
pub fn stdio_config(name: &ClientName) -> Value {
    json!({ "mcpServers": { "drawbridge": {
        "command": bridge_command(),
        "args": ["stdio", "--client", name.as_str()],
    } } })
}

/// Returns the path of the `drawbridge` command next to this program, or its bare name if there is
/// none.
fn bridge_command() -> String {
    let name = if cfg!(windows) {
        "drawbridge.exe"
    } else {
        "drawbridge"
    };
    let sibling = std::env::current_exe()
        .ok()
        .and_then(|me| Some(me.parent()?.join(name)));
    sibling
        .filter(|file| file.is_file())
        .map_or_else(|| name.to_owned(), |file| file.display().to_string())
}
