//! The `mcpServers` form that most clients read.

use serde_json::{Value, json};

use crate::model::ids::ClientName;

/// Over HTTP, with the client's token.
pub fn http(url: &str, token: &str) -> Value {
    json!({ "mcpServers": { "drawbridge": {
        "type": "http",
        "url": url,
        "headers": { "Authorization": format!("Bearer {token}") },
    } } })
}

/// Over the stdio bridge, for a client that refuses HTTP on localhost. It holds no token.
pub fn stdio(name: &ClientName) -> Value {
    json!({ "mcpServers": { "drawbridge": {
        "command": bridge_command(),
        "args": ["stdio", "--client", name.as_str()],
    } } })
}

/// The `drawbridge` command: beside this program where it lies there, else by its name.
fn bridge_command() -> String {
    let name = if cfg!(windows) {
        "drawbridge.exe"
    } else {
        "drawbridge"
    };
    let beside = std::env::current_exe()
        .ok()
        .and_then(|me| Some(me.parent()?.join(name)));
    beside
        .filter(|file| file.is_file())
        .map_or_else(|| name.to_owned(), |file| file.display().to_string())
}
