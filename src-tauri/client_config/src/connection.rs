//! How a client reaches Drawbridge, and which entries of a file lead to Drawbridge.

use std::{fmt, path::Path};

use serde_json::Value;

/// How a client reaches Drawbridge.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// The client starts `drawbridge stdio`. The entry contains no secret.
    Bridge,
    /// The client sends requests to the endpoint's URL.
    Http { token: Option<String> },
}

/// The Drawbridge that a client uses, and how the client reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The absolute path of the `drawbridge` command.
    pub command: String,
    /// The URL of the endpoint, such as `http://127.0.0.1:8765/mcp`.
    pub url: String,
    /// The name under which Drawbridge knows the client.
    pub client: String,
    /// The data folder, if it is not the default folder, so that the bridge finds this Drawbridge.
    pub data_dir: Option<String>,
    pub transport: Transport,
}

impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Bridge => "Bridge",
            Self::Http { .. } => "Http",
        })
    }
}

impl Connection {
    /// Returns the arguments of the bridge.
    pub(crate) fn bridge_args(&self) -> Vec<String> {
        let mut args = vec!["stdio", "--client", &self.client];
        if let Some(folder) = &self.data_dir {
            args.extend(["--data-dir", folder]);
        }
        args.into_iter().map(str::to_owned).collect()
    }

    /// Returns whether an entry reaches this endpoint: by its URL, which may be an argument of
    /// another bridge, or by the `drawbridge` command.
    pub(crate) fn is_reached_by(&self, entry: &Value) -> bool {
        let words = command_words(entry);
        let is_url = |text: &str| {
            local_endpoint(text).is_some_and(|found| Some(found) == local_endpoint(&self.url))
        };
        is_bridge(&words)
            || urls(entry).any(is_url)
            || words.iter().skip(1).any(|word| is_url(word))
    }
}

/// Returns whether Drawbridge may have written an entry: the entry starts the bridge, or has the
/// URL of an endpoint on this computer.
pub(crate) fn may_be_own_entry(entry: &Value) -> bool {
    let is_endpoint = |text: &str| local_endpoint(text).is_some_and(|(_, path)| path == "/mcp");
    is_bridge(&command_words(entry)) || urls(entry).any(is_endpoint)
}

/// Returns the program and the arguments of an entry, however its client writes them.
fn command_words(entry: &Value) -> Vec<&str> {
    let command = entry.get("command").or_else(|| entry.get("cmd"));
    let (program, arguments) = match command {
        Some(Value::Object(nested)) => (nested.get("path"), nested.get("args")),
        other => (other, entry.get("args")),
    };
    [program, arguments]
        .into_iter()
        .flatten()
        .flat_map(|value| match value.as_array() {
            Some(words) => words.iter().collect(),
            None => vec![value],
        })
        .filter_map(Value::as_str)
        .collect()
}

/// Returns whether a command line starts `drawbridge stdio`.
fn is_bridge(words: &[&str]) -> bool {
    let [program, "stdio", ..] = words else {
        return false;
    };
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    Path::new(name)
        .file_stem()
        .is_some_and(|stem| stem.eq_ignore_ascii_case("drawbridge"))
}

/// The members in which clients store a URL.
pub(crate) const URL_MEMBERS: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];

fn urls(entry: &Value) -> impl Iterator<Item = &str> {
    URL_MEMBERS
        .iter()
        .filter_map(|name| entry.get(*name).and_then(Value::as_str))
}

/// Returns the port and the path of a URL, or `None` if the URL is not on this computer.
fn local_endpoint(text: &str) -> Option<(u16, String)> {
    let url = url::Url::parse(text).ok()?;
    let is_local = match url.host()? {
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
        url::Host::Domain(name) => name == "localhost",
    };
    let path = url.path().trim_end_matches('/').to_owned();
    is_local.then_some((url.port_or_known_default()?, path))
}
