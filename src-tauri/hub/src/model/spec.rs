//! A server's spec: what its JSON file in the registry says.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{digest, ids::ServerId};

/// A spec in the registry.
#[derive(Debug, Clone, PartialEq)]
pub struct Registered {
    pub id: ServerId,
    pub spec: ServerSpec,
    /// See [`ServerSpec::identity`].
    pub identity: String,
    pub file: PathBuf,
}

impl Registered {
    pub fn new(id: ServerId, spec: ServerSpec, file: PathBuf) -> Self {
        let identity = spec.identity();
        Self { id, spec, identity, file }
    }

    /// The name for people.
    pub fn name(&self) -> &str {
        if self.spec.name.is_empty() { self.id.as_str() } else { &self.spec.name }
    }
}

/// How Drawbridge speaks to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TransportKind {
    /// A subprocess, over its stdin and stdout.
    Stdio,
    /// Streamable HTTP at a URL.
    #[serde(alias = "streamable_http", alias = "streamable-http", alias = "streamableHttp")]
    Http,
    /// HTTP+SSE at a URL, as older servers speak it.
    Sse,
}

/// Who shares a session with a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// All clients.
    #[default]
    Shared,
    /// Nobody: each client has a session, and a process, of its own. For servers that keep state.
    PerClient,
}

impl Isolation {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A server as described at rest. Exactly one of `command` and `url` is set.
///
/// Values of `env` and `headers` may hold `${keyring:NAME}`, resolved when the server is
/// started, and never written anywhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerSpec {
    /// For people. The id is the file's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The working directory; the user's home where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Inferred from `command` or `url` where it is not given: for a URL it is `http`.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "type")]
    pub transport: Option<TransportKind>,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "Isolation::is_default")]
    pub isolation: Isolation,
    #[serde(default, skip_serializing_if = "Timeouts::is_default")]
    pub timeouts: Timeouts,
    /// Whatever else the file holds; kept as it is when Drawbridge writes the file.
    #[serde(flatten)]
    #[cfg_attr(test, ts(skip))]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// What is wrong with a spec, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("it has neither 'command' (for a local server) nor 'url' (for a remote one)")]
    Neither,
    #[error("it has both 'command' and 'url'; a server is either local or remote")]
    Both,
    #[error("'command' is empty")]
    EmptyCommand,
    #[error("transport 'stdio' needs 'command', but it has 'url'")]
    StdioWithUrl,
    #[error("transport '{0}' needs 'url', but it has 'command'")]
    RemoteWithCommand(&'static str),
    #[error("'url' must begin with http:// or https://: {0}")]
    BadUrl(String),
    #[error("'{0}' of a {1} server does nothing; remove it")]
    Useless(&'static str, &'static str),
    #[error("'env' has a variable named '{0}', which no environment can hold")]
    BadVariable(String),
    #[error("'url' refers to a secret, but is shown and logged; use 'headers'")]
    SecretInUrl,
    #[error("'{0}' refers to a secret, but is shown to every process of the system; use 'env'")]
    SecretInArguments(&'static str),
}

impl ServerSpec {
    /// Whether its fields fit together.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), SpecError> {
        match (&self.command, &self.url) {
            (None, None) => Err(SpecError::Neither),
            (Some(_), Some(_)) => Err(SpecError::Both),
            (Some(command), None) => self.check_local(command),
            (None, Some(url)) => self.check_remote(url),
        }
    }

    fn check_local(&self, command: &str) -> Result<(), SpecError> {
        if command.trim().is_empty() {
            return Err(SpecError::EmptyCommand);
        }
        match self.transport {
            Some(TransportKind::Http) => return Err(SpecError::RemoteWithCommand("http")),
            Some(TransportKind::Sse) => return Err(SpecError::RemoteWithCommand("sse")),
            Some(TransportKind::Stdio) | None => {}
        }
        if !self.headers.is_empty() {
            return Err(SpecError::Useless("headers", "local"));
        }
        let refers = |text: &String| text.contains("${keyring:");
        if refers(&command.to_owned()) || self.args.iter().any(refers) {
            return Err(SpecError::SecretInArguments("args"));
        }
        let bad = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        self.env.keys().find(bad).map_or(Ok(()), |name| Err(SpecError::BadVariable(name.clone())))
    }

    fn check_remote(&self, url: &str) -> Result<(), SpecError> {
        if url.contains("${keyring:") {
            return Err(SpecError::SecretInUrl);
        }
        if self.transport == Some(TransportKind::Stdio) {
            return Err(SpecError::StdioWithUrl);
        }
        let useless = [("args", !self.args.is_empty()), ("env", !self.env.is_empty()), ("cwd", self.cwd.is_some())];
        if let Some((field, _)) = useless.iter().find(|(_, set)| *set) {
            return Err(SpecError::Useless(field, "remote"));
        }
        let parsed = url::Url::parse(url).map_err(|e| SpecError::BadUrl(format!("{url} ({e})")))?;
        let fits = matches!(parsed.scheme(), "http" | "https") && parsed.has_host();
        fits.then_some(()).ok_or_else(|| SpecError::BadUrl(url.to_owned()))
    }

    /// The digest of what it would start or connect to. The user accepts this; a name or a time-out may change
    /// without asking again.
    pub fn identity(&self) -> String {
        let parts = (&self.command, &self.args, &self.env, &self.cwd, &self.url, &self.headers);
        let mut text = serde_json::to_string(&parts).unwrap_or_default();
        // The way to a URL that is not inferred. (A way that is inferred adds nothing: what was accepted stays so.)
        if self.transport == Some(TransportKind::Sse) {
            text.push_str("sse");
        }
        digest::sha256(text.as_bytes())
    }
}

/// Bounds in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct Timeouts {
    /// From start to the answer to `initialize`.
    pub initialize_ms: u32,
    /// From sending a call to its answer.
    pub call_ms: u32,
    /// Without a call, until the session is ended.
    pub idle_ms: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { initialize_ms: 10_000, call_ms: 30_000, idle_ms: 1_800_000 }
    }
}

impl Timeouts {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

#[cfg(test)]
mod tests;
