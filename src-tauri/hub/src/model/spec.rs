//! A server's spec: what its JSON file in the registry says.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::{digest, ids::ServerId, names, runtime::Runtime};

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
        Self {
            id,
            spec,
            identity,
            file,
        }
    }

    /// The name for people.
    pub fn name(&self) -> &str {
        if self.spec.name.is_empty() {
            self.id.as_str()
        } else {
            &self.spec.name
        }
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
    #[serde(
        alias = "streamable_http",
        alias = "streamable-http",
        alias = "streamableHttp"
    )]
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

/// How long a local server's process lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// From the first call until nobody has used it for a while.
    #[default]
    Singleton,
    /// For one call: each has a process of its own. For servers that keep nothing, or leak.
    Transient,
}

/// What a client sees of a server's tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Each of them.
    #[default]
    Visible,
    /// None: they are found with `tool_search` and called with `tool_call`.
    Deferred,
}

/// What happens to tools that a server offers, or offers otherwise, after the person has accepted it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Definitions {
    /// They are neither listed nor callable until a person has accepted them.
    #[default]
    Ask,
    /// New ones are as with `ask`. Of a changed one clients go on seeing what was accepted, and each call of it is asked
    /// about, with the difference, until a person has accepted it.
    Keep,
    /// They are taken as they come. For a server of one's own.
    Trust,
}

/// How closely the arguments of a call have to fit the tool's schema. They are sent byte for byte in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Validate {
    /// Exactly.
    Strict,
    /// Exactly, or after a conversion that many servers do on purpose, such as from `"2"` to the number 2.
    #[default]
    Coercible,
    /// Not at all: the server checks them alone.
    Off,
}

/// Whether a value is its type's default, and so not worth a line in a file.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A server as described at rest. `command` is set for a local one, `url` for a remote one; both, with a transport, for
/// a program of ours that serves that URL on this machine.
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
    /// Sent as `Authorization: Bearer …`; best a `${keyring:NAME}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_token: Option<String>,
    /// The client that was registered for Drawbridge by hand at the server's authorization server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OauthClient>,
    /// Inferred from `command` or `url` where it is not given: for a URL it is `http`.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "type")]
    pub transport: Option<TransportKind>,
    /// The revision of the protocol that the server is addressed in, such as `2025-06-18`. Found out if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Inferred from `command` where it is not given: what has to be installed, and whether a first start may be slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_hint: Option<Runtime>,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub lifecycle: Lifecycle,
    #[serde(default, skip_serializing_if = "is_default")]
    pub isolation: Isolation,
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts: Timeouts,
    /// Starts after the first one that failed, with growing pauses; then it is given up until the next call.
    #[serde(default = "retries", skip_serializing_if = "is_retries")]
    pub retries: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub visibility: Visibility,
    #[serde(default, skip_serializing_if = "is_default")]
    pub definitions: Definitions,
    #[serde(default, skip_serializing_if = "is_default")]
    pub validate: Validate,
    /// The tools that may be seen and called, by the server's own names; all where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// What stands before `__` in the names of its tools and prompts; its id where it is not given. Empty for their
    /// bare names: then of two servers with the same name the first in order of ids has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Servers that are tried in this order with the same tool where this one cannot be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<ServerId>,
    /// How long the catalog's copy of it counts as fresh, in milliseconds; as the settings say where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_ttl_ms: Option<u32>,
    /// How long results of its read-only, idempotent tools and its resources may be answered from memory, in
    /// milliseconds; 0 for not at all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_results_ms: u32,
    /// Whatever else the file holds; kept as it is when Drawbridge writes the file.
    #[serde(flatten)]
    #[cfg_attr(test, ts(skip))]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// An OAuth client that a person registered, for servers whose authorization server registers none by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OauthClient {
    #[serde(alias = "clientId")]
    pub client_id: String,
    /// Only if the client has one; best a `${keyring:NAME}`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        alias = "clientSecret"
    )]
    pub client_secret: Option<String>,
    /// The port of the redirect URI `http://127.0.0.1:PORT/callback` that the client was registered with; any if it is
    /// not given, which authorization servers allow for programs on a desk.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        alias = "callbackPort"
    )]
    pub callback_port: Option<u16>,
}

/// What is wrong with a spec, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("it has neither 'command' (for a local server) nor 'url' (for a remote one)")]
    Neither,
    #[error(
        "it has both 'command' and 'url'; a server is either local or remote. For a program that serves the URL \
        itself, say how with 'transport': http or sse"
    )]
    Both,
    #[error(
        "'url' of a server with a 'command' is on this machine, as in http://127.0.0.1:3001/sse, not {0}"
    )]
    ServedElsewhere(String),
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
    #[error("it has both 'bearer_token' and a header 'Authorization'; they are the same")]
    TwoTokens,
    #[error(
        "'oauth' has a 'client_id' that is empty or refers to a secret; it is the client's public id"
    )]
    BadOauthClient,
    #[error(
        "it has both 'oauth' and a token of its own ('bearer_token' or a header 'Authorization'); remove one"
    )]
    OauthWithToken,
    #[error(
        "'prefix' is '{0}', but is of at most 32 letters, digits, - and single _, or empty for bare names"
    )]
    BadPrefix(String),
    #[error("'{0}' has to be at least {1}")]
    TooSmall(&'static str, u32),
    #[error(
        "'protocol_version' is '{found}', which Drawbridge does not speak over this transport; it may be {known}"
    )]
    UnknownRevision { found: String, known: String },
    #[error("'fallback' names '{0}' twice")]
    FallbackTwice(ServerId),
}

impl Default for ServerSpec {
    /// Without a name, a command or a URL; the rest as where a file does not say.
    fn default() -> Self {
        Self {
            name: String::new(),
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            bearer_token: None,
            oauth: None,
            transport: None,
            protocol_version: None,
            runtime_hint: None,
            enabled: true,
            lifecycle: Lifecycle::default(),
            isolation: Isolation::default(),
            timeouts: Timeouts::default(),
            retries: RETRIES,
            visibility: Visibility::default(),
            definitions: Definitions::default(),
            validate: Validate::default(),
            allowed_tools: None,
            prefix: None,
            fallback: Vec::new(),
            cache_ttl_ms: None,
            cache_results_ms: 0,
            other: BTreeMap::new(),
        }
    }
}

impl ServerSpec {
    /// Whether its fields fit together.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), SpecError> {
        self.check_tools()?;
        self.timeouts.check()?;
        match (&self.command, &self.url) {
            (None, None) => Err(SpecError::Neither),
            (Some(command), Some(url)) => self.check_served(command, url),
            (Some(command), None) => self.check_local(command),
            (None, Some(url)) => self.check_remote(url),
        }
    }

    fn check_served(&self, command: &str, url: &str) -> Result<(), SpecError> {
        if !matches!(
            self.transport,
            Some(TransportKind::Http | TransportKind::Sse)
        ) {
            return Err(SpecError::Both);
        }
        let local = Self {
            url: None,
            transport: None,
            headers: BTreeMap::new(),
            bearer_token: None,
            oauth: None,
            ..self.clone()
        };
        local.check_local(command)?;
        let remote = Self {
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            runtime_hint: None,
            lifecycle: Lifecycle::default(),
            ..self.clone()
        };
        remote.check_remote(url)?;
        let is_here = match url::Url::parse(url).ok().as_ref().and_then(url::Url::host) {
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            Some(url::Host::Domain(name)) => name == "localhost",
            None => false,
        };
        is_here
            .then_some(())
            .ok_or_else(|| SpecError::ServedElsewhere(url.to_owned()))
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
        let useless = [
            ("headers", !self.headers.is_empty()),
            ("bearer_token", self.bearer_token.is_some()),
            ("oauth", self.oauth.is_some()),
        ];
        if let Some((field, _)) = useless.iter().find(|(_, set)| *set) {
            return Err(SpecError::Useless(field, "local"));
        }
        let refers = |text: &String| text.contains("${keyring:");
        if refers(&command.to_owned()) || self.args.iter().any(refers) {
            return Err(SpecError::SecretInArguments("args"));
        }
        let bad = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        self.env
            .keys()
            .find(bad)
            .map_or(Ok(()), |name| Err(SpecError::BadVariable(name.clone())))
    }

    fn check_remote(&self, url: &str) -> Result<(), SpecError> {
        if url.contains("${keyring:") {
            return Err(SpecError::SecretInUrl);
        }
        if self.transport == Some(TransportKind::Stdio) {
            return Err(SpecError::StdioWithUrl);
        }
        let useless = [
            ("args", !self.args.is_empty()),
            ("env", !self.env.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("runtime_hint", self.runtime_hint.is_some()),
            ("lifecycle", self.lifecycle == Lifecycle::Transient),
        ];
        if let Some((field, _)) = useless.iter().find(|(_, set)| *set) {
            return Err(SpecError::Useless(field, "remote"));
        }
        if self.bearer_token.is_some()
            && self
                .headers
                .keys()
                .any(|name| name.eq_ignore_ascii_case("authorization"))
        {
            return Err(SpecError::TwoTokens);
        }
        if let Some(client) = &self.oauth {
            if client.client_id.trim().is_empty() || client.client_id.contains("${keyring:") {
                return Err(SpecError::BadOauthClient);
            }
            if self
                .all_headers()
                .keys()
                .any(|name| name.eq_ignore_ascii_case("authorization"))
            {
                return Err(SpecError::OauthWithToken);
            }
        }
        let parsed = url::Url::parse(url).map_err(|e| SpecError::BadUrl(format!("{url} ({e})")))?;
        let fits = matches!(parsed.scheme(), "http" | "https") && parsed.has_host();
        fits.then_some(())
            .ok_or_else(|| SpecError::BadUrl(url.to_owned()))
    }

    fn check_tools(&self) -> Result<(), SpecError> {
        if let Some(prefix) = self
            .prefix
            .as_ref()
            .filter(|prefix| !names::is_prefix(prefix))
        {
            return Err(SpecError::BadPrefix(prefix.clone()));
        }
        let mut seen = BTreeSet::new();
        let twice = self.fallback.iter().find(|id| !seen.insert(*id));
        twice.map_or(Ok(()), |id| Err(SpecError::FallbackTwice(id.clone())))
    }

    /// The headers that are sent, with the token.
    pub fn all_headers(&self) -> BTreeMap<String, String> {
        let mut headers = self.headers.clone();
        if let Some(token) = &self.bearer_token {
            headers.insert("Authorization".into(), format!("Bearer {token}"));
        }
        headers
    }

    /// The id of the OAuth client that a person registered, if there is one.
    pub fn oauth_client_id(&self) -> Option<&str> {
        self.oauth.as_ref().map(|client| client.client_id.as_str())
    }

    /// What may refer to secrets.
    pub fn values(&self) -> impl Iterator<Item = &String> {
        let client_secret = self
            .oauth
            .as_ref()
            .and_then(|client| client.client_secret.as_ref());
        self.env
            .values()
            .chain(self.headers.values())
            .chain(&self.bearer_token)
            .chain(client_secret)
    }

    /// The program that runs it, where that is one of those that Drawbridge knows.
    pub fn runtime(&self) -> Option<Runtime> {
        self.runtime_hint
            .or_else(|| self.command.as_deref().and_then(Runtime::of_command))
    }

    /// Whether a client may see and call that tool.
    pub fn allows(&self, tool: &str) -> bool {
        self.allowed_tools
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|one| one == tool))
    }

    /// The digest of what it would start or connect to. The user accepts this; a name or a time-out may change
    /// without asking again.
    pub fn identity(&self) -> String {
        let parts = (
            &self.command,
            &self.args,
            &self.env,
            &self.cwd,
            &self.url,
            self.all_headers(),
        );
        let mut text = serde_json::to_string(&parts).unwrap_or_default();
        // The way to a URL that is not inferred. (A way that is inferred adds nothing: what was accepted stays so.)
        if self.transport == Some(TransportKind::Sse) {
            text.push_str("sse");
        }
        if let Some(client) = &self.oauth {
            text.push_str(&serde_json::to_string(client).unwrap_or_default());
        }
        // Neither may this be turned on by who can write the file alone.
        if self.definitions == Definitions::Trust {
            text.push_str("trust");
        }
        digest::sha256(text.as_bytes())
    }
}

/// Bounds in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct Timeouts {
    /// From start to the answer to `initialize`.
    pub initialize_ms: u32,
    /// From sending a call to its answer, or to its next sign of progress.
    pub call_ms: u32,
    /// From sending a call to its answer, whatever progress it shows.
    pub total_ms: u32,
    /// In the place of `call_ms` for single tools, by the server's own names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, u32>,
    /// Without a call, until the session is ended.
    pub idle_ms: u32,
    /// How often a server with sessions is asked whether it is there, while it has nothing to do; 0 for never.
    pub ping_ms: u32,
    /// For a local server to end by itself once it was asked to; then it is killed.
    pub stop_ms: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            initialize_ms: 60_000,
            call_ms: 30_000,
            total_ms: 600_000,
            tools: BTreeMap::new(),
            idle_ms: 1_800_000,
            ping_ms: 60_000,
            stop_ms: 10_000,
        }
    }
}

impl Timeouts {
    fn check(&self) -> Result<(), SpecError> {
        let bounds = [
            ("timeouts.initialize_ms", self.initialize_ms),
            ("timeouts.call_ms", self.call_ms),
            ("timeouts.total_ms", self.total_ms),
            (
                "timeouts.tools",
                self.tools.values().copied().min().unwrap_or(1),
            ),
        ];
        let zero = bounds.iter().find(|(_, ms)| *ms == 0);
        zero.map_or(Ok(()), |(name, _)| Err(SpecError::TooSmall(name, 1)))
    }
}

/// Starts after the first one that failed, where a spec does not say.
const RETRIES: u32 = 3;

fn retries() -> u32 {
    RETRIES
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_retries(value: &u32) -> bool {
    *value == RETRIES
}

fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_yes(value: &bool) -> bool {
    *value
}

#[cfg(test)]
mod tests;
