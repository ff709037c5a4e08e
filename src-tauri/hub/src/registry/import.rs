//! Reads what people paste: any client's `mcpServers` JSON, a part of it, or a command line.

use std::collections::BTreeMap;

use drawbridge_model::{
    protocol,
    spec::{ServerSpec, SpecError, TransportKind},
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// An entry of the text, with its spec or the reason why it cannot be a server.
#[derive(Debug)]
pub struct ImportedServer {
    pub name: String,
    pub spec: Result<ServerSpec, EntryError>,
    /// Names in `env` and `headers` that suggest a secret and have a literal value.
    pub likely_secrets: Vec<String>,
}

/// The reason why no server can be read from a text.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("nothing to read: paste a client's 'mcpServers' JSON or a command line")]
    Empty,
    #[error("this is not valid JSON: {0}")]
    Json(#[source] serde_json::Error),
    #[error("this JSON contains no server: it has no 'mcpServers', 'command' or 'url'")]
    NoServer,
    #[error("this is neither JSON nor a valid command line: {0}")]
    CommandLine(#[from] shell_words::ParseError),
    #[error("this command line has no command")]
    NoCommand,
}

/// The reason why an entry cannot be a server.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error("this entry cannot be read: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("the transport '{0}' is unknown; use 'stdio', 'http' or 'sse'")]
    UnknownTransport(String),
    #[error(transparent)]
    Spec(#[from] SpecError),
}

/// The members in which clients store their servers.
const CONTAINERS: [&str; 5] = [
    "mcpServers",
    "servers",
    "context_servers",
    "mcp_servers",
    "mcp",
];

/// An entry in the notation of any client.
#[derive(Deserialize)]
struct Entry {
    command: Option<Command>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default, alias = "environment")]
    env: BTreeMap<String, Value>,
    cwd: Option<String>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    #[serde(default, alias = "http_headers")]
    headers: BTreeMap<String, String>,
    #[serde(alias = "type")]
    transport: Option<String>,
    /// An object that does not describe an OAuth client is meant for another program, and is
    /// ignored.
    oauth: Option<Value>,
    #[serde(default)]
    disabled: bool,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "'command' must be a text or a list of texts")]
enum Command {
    Program(String),
    Words(Vec<String>),
}

/// Reads the servers of a text.
///
/// # Errors
/// Returns an error if the text is neither JSON with a server nor a command line.
pub fn read_specs(text: &str) -> Result<Vec<ImportedServer>, ImportError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ImportError::Empty);
    }
    if !text.starts_with(['{', '"']) {
        return read_command_line(text).map(|read| vec![read]);
    }
    // A part that was cut out of a file: `"name": { … }`.
    let whole = if text.starts_with('"') {
        format!("{{{}}}", text.trim_end_matches(','))
    } else {
        text.to_owned()
    };
    let value: Map<String, Value> = serde_json::from_str(&whole).map_err(ImportError::Json)?;
    let read = read_entries(&value);
    if read.is_empty() {
        return Err(ImportError::NoServer);
    }
    Ok(read)
}

fn read_command_line(text: &str) -> Result<ImportedServer, ImportError> {
    let mut words = shell_words::split(text)?.into_iter();
    let command = words.next().ok_or(ImportError::NoCommand)?;
    let args: Vec<String> = words.collect();
    let last = args
        .iter()
        .rev()
        .find(|arg| !arg.starts_with(['-', '/', '.', '~']))
        .unwrap_or(&command);
    let name = last
        .rsplit('/')
        .next()
        .unwrap_or(last)
        .split('@')
        .next()
        .unwrap_or(last);
    let name = name
        .trim_start_matches("mcp-")
        .trim_start_matches("server-")
        .to_owned();
    let spec = ServerSpec {
        command: Some(command),
        args,
        ..ServerSpec::default()
    };
    Ok(ImportedServer {
        name,
        spec: Ok(spec),
        likely_secrets: Vec::new(),
    })
}

fn read_entries(value: &Map<String, Value>) -> Vec<ImportedServer> {
    if let Some(servers) = CONTAINERS
        .iter()
        .find_map(|name| value.get(*name))
        .and_then(Value::as_object)
    {
        return servers
            .iter()
            .map(|(name, entry)| read_entry(name, entry))
            .collect();
    }
    let is_entry = |entry: &Map<String, Value>| {
        ["command", "url", "serverUrl", "httpUrl"]
            .iter()
            .any(|key| entry.contains_key(*key))
    };
    if is_entry(value) {
        let name = value
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        return vec![read_entry(name, &Value::Object(value.clone()))];
    }
    let named = value
        .iter()
        .filter(|(_, entry)| entry.as_object().is_some_and(is_entry));
    named.map(|(name, entry)| read_entry(name, entry)).collect()
}

fn read_entry(name: &str, entry: &Value) -> ImportedServer {
    let spec = Entry::deserialize(entry)
        .map_err(EntryError::from)
        .and_then(|entry| to_spec(name, entry));
    let likely_secrets = spec.as_ref().map(likely_secrets).unwrap_or_default();
    ImportedServer {
        name: name.to_owned(),
        spec,
        likely_secrets,
    }
}

fn to_spec(name: &str, entry: Entry) -> Result<ServerSpec, EntryError> {
    let (command, mut args) = match entry.command {
        None => (None, Vec::new()),
        Some(Command::Program(command)) => (Some(command), Vec::new()),
        Some(Command::Words(words)) => {
            let mut words = words.into_iter();
            (words.next(), words.collect())
        }
    };
    args.extend(entry.args);
    let transport = match entry.transport.as_deref() {
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http" | "remote") => {
            Some(TransportKind::Http)
        }
        Some("sse") => Some(TransportKind::Sse),
        Some("stdio" | "local") => Some(TransportKind::Stdio),
        Some(other) => return Err(EntryError::UnknownTransport(other.to_owned())),
        None => None,
    };
    let text = |value: Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let spec = ServerSpec {
        name: name.to_owned(),
        command,
        args,
        env: entry
            .env
            .into_iter()
            .map(|(key, value)| (key, text(value)))
            .collect(),
        cwd: entry.cwd,
        url: entry.url,
        headers: entry.headers,
        oauth: entry
            .oauth
            .and_then(|oauth| serde_json::from_value(oauth).ok()),
        transport,
        enabled: !entry.disabled,
        ..ServerSpec::default()
    };
    protocol::check_spec(&spec)?;
    Ok(spec)
}

/// Returns the names that suggest a secret and have a literal value.
pub(super) fn likely_secrets(spec: &ServerSpec) -> Vec<String> {
    const WORDS: [&str; 8] = [
        "TOKEN",
        "KEY",
        "SECRET",
        "PASS",
        "AUTH",
        "CREDENTIAL",
        "COOKIE",
        "PAT",
    ];
    let is_suspicious = |name: &str| {
        let name = name.to_uppercase();
        name.split(['_', '-']).any(|part| {
            WORDS
                .iter()
                .any(|word| part == *word || (word.len() > 3 && part.contains(word)))
        })
    };
    let literal = |value: &str| !value.is_empty() && !value.contains("${");
    let members = spec.env.iter().chain(&spec.headers);
    members
        .filter(|(name, value)| is_suspicious(name) && literal(value))
        .map(|(name, _)| name.clone())
        .collect()
}

#[cfg(test)]
mod tests;
