//! The forms in which clients write a server, with one function for each.

use serde_json::{Value, json};

use crate::{connection::Connection, edit::Entry};

/// `command` and `args`.
pub(crate) fn command(connection: &Connection) -> Entry {
    Entry::default()
        .with("command", connection.command.as_str())
        .with("args", connection.bridge_args())
}

/// `type`, `command` and `args`.
pub(crate) fn stdio_command(connection: &Connection) -> Entry {
    with_type("stdio", command(connection))
}

fn with_type(kind: &str, entry: Entry) -> Entry {
    let mut typed = Entry::default().with("type", kind);
    typed.0.extend(entry.0);
    typed
}

/// Copilot CLI: `tools` has the tools that the client uses.
pub(crate) fn command_with_tools(connection: &Connection) -> Entry {
    with_type("local", command(connection)).with("tools", json!(["*"]))
}

/// Zed.
pub(crate) fn custom_command(connection: &Connection) -> Entry {
    let mut entry = Entry::default().with("source", "custom");
    entry.0.extend(command(connection).0);
    entry.with("env", json!({}))
}

/// opencode and Kilo: one list with the program and its arguments.
pub(crate) fn command_list(connection: &Connection) -> Entry {
    let mut words = vec![connection.command.clone()];
    words.extend(connection.bridge_args());
    Entry::default()
        .with("type", "local")
        .with("command", words)
        .with("environment", json!({}))
        .with("enabled", true)
}

/// Goose.
pub(crate) fn goose_command(connection: &Connection) -> Entry {
    Entry::default()
        .with("enabled", true)
        .with("type", "stdio")
        .with("name", super::SERVER_NAME)
        .with("cmd", connection.command.as_str())
        .with("args", connection.bridge_args())
        .with("envs", json!({}))
        .with("timeout", 300)
}

/// Continue: `name` is a member, because the servers are a list.
pub(crate) fn named_command(connection: &Connection) -> Entry {
    let mut entry = Entry::default().with("name", super::SERVER_NAME);
    entry.0.extend(stdio_command(connection).0);
    entry
}

/// Mistral Vibe.
pub(crate) fn vibe_command(connection: &Connection) -> Entry {
    let mut entry = Entry::default()
        .with("name", super::SERVER_NAME)
        .with("transport", "stdio");
    entry.0.extend(command(connection).0);
    entry
}

/// Returns the headers with the token.
fn headers(token: Option<&str>) -> Option<Value> {
    token.map(|token| json!({ "Authorization": format!("Bearer {token}") }))
}

fn with_headers(entry: Entry, member: &str, token: Option<&str>) -> Entry {
    match headers(token) {
        Some(headers) => entry.with(member, headers),
        None => entry,
    }
}

/// `url` and `headers`.
pub(crate) fn url(url: &str, token: Option<&str>) -> Entry {
    with_headers(Entry::default().with("url", url), "headers", token)
}

/// `type` (`http`), `url` and `headers`.
pub(crate) fn http_url(address: &str, token: Option<&str>) -> Entry {
    with_type("http", url(address, token))
}

/// Copilot CLI.
pub(crate) fn http_url_with_tools(address: &str, token: Option<&str>) -> Entry {
    http_url(address, token).with("tools", json!(["*"]))
}

/// Cline: the `type` is in camel case.
pub(crate) fn camel_case_type(address: &str, token: Option<&str>) -> Entry {
    with_type("streamableHttp", url(address, token))
}

/// Roo Code: the `type` is in kebab case.
pub(crate) fn kebab_case_type(address: &str, token: Option<&str>) -> Entry {
    with_type("streamable-http", url(address, token))
}

/// Windsurf and Antigravity.
pub(crate) fn server_url(address: &str, token: Option<&str>) -> Entry {
    with_headers(
        Entry::default().with("serverUrl", address),
        "headers",
        token,
    )
}

/// Gemini CLI and Qwen Code, for which `url` means HTTP+SSE.
pub(crate) fn http_url_member(address: &str, token: Option<&str>) -> Entry {
    with_headers(Entry::default().with("httpUrl", address), "headers", token)
}

/// Codex and Grok Build: the headers are in `http_headers`.
pub(crate) fn toml_url(address: &str, token: Option<&str>) -> Entry {
    with_headers(Entry::default().with("url", address), "http_headers", token)
}

/// opencode and Kilo.
pub(crate) fn remote(address: &str, token: Option<&str>) -> Entry {
    with_type("remote", url(address, token)).with("enabled", true)
}

/// Goose.
pub(crate) fn goose_uri(address: &str, token: Option<&str>) -> Entry {
    let entry = Entry::default()
        .with("enabled", true)
        .with("type", "streamable_http")
        .with("name", super::SERVER_NAME)
        .with("uri", address)
        .with("envs", json!({}));
    with_headers(entry, "headers", token).with("timeout", 300)
}

/// Continue.
pub(crate) fn named_url(address: &str, token: Option<&str>) -> Entry {
    let entry = Entry::default()
        .with("name", super::SERVER_NAME)
        .with("type", "streamable-http")
        .with("url", address);
    match headers(token) {
        Some(headers) => entry.with("requestOptions", json!({ "headers": headers })),
        None => entry,
    }
}

/// Mistral Vibe.
pub(crate) fn vibe_url(address: &str, token: Option<&str>) -> Entry {
    let entry = Entry::default()
        .with("name", super::SERVER_NAME)
        .with("transport", "streamable-http")
        .with("url", address);
    with_headers(entry, "headers", token)
}
