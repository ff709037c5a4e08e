//! A server's spec: the contents of its JSON file in the registry.

pub mod changes;
pub mod package;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::{
    builtin::BuiltIn,
    content::ContentDefence,
    digest,
    display_url::DisplayUrl,
    ids::ServerId,
    names, reference,
    runtime::Runtime,
    sandbox::{Sandbox, SandboxError, SandboxNetwork},
};

/// A spec in the registry.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredServer {
    pub id: ServerId,
    pub spec: ServerSpec,
    /// See [`ServerSpec::identity`].
    pub identity: String,
    /// The spec file; empty for a built-in server, which has no spec file.
    pub file: PathBuf,
}

impl RegisteredServer {
    pub fn new(id: ServerId, spec: ServerSpec, file: PathBuf) -> Self {
        let identity = spec.identity();
        Self {
            id,
            spec,
            identity,
            file,
        }
    }

    /// Returns the name to show to people.
    pub fn name(&self) -> &str {
        if self.spec.name.is_empty() {
            self.id.as_str()
        } else {
            &self.spec.name
        }
    }
}

/// A transport between Drawbridge and a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
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
    /// HTTP+SSE at a URL, the transport of 2024-11-05.
    Sse,
}

/// The clients that share a session with a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// All clients share one session.
    #[default]
    Shared,
    /// Each client has a session and a process of its own. For servers that keep state.
    PerClient,
}

/// The lifetime of a local server's process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// From the first call until nobody has used the server for a while.
    #[default]
    Singleton,
    /// A single call: each call has a process of its own. For servers that keep no state, or that
    /// leak memory.
    Transient,
}

/// Whether the catalog view of clients lists a server's tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// All tools are listed.
    #[default]
    Visible,
    /// No tool is listed. Clients find the tools with `tool_search`, and call them with
    /// `tool_call`.
    Deferred,
}

/// The handling of definitions that a server adds or changes after a person has accepted the
/// server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DefinitionPolicy {
    /// Clients do not see a definition until a person has accepted it.
    #[default]
    Ask,
    /// New definitions are treated as with `ask`. Clients see the accepted version of a changed
    /// definition until a person accepts the offered version. Until then, each call of a changed
    /// tool needs an approval, which shows the difference.
    Keep,
    /// Every definition is accepted at once. For servers of the user's own.
    Trust,
}

/// How closely the arguments of a call have to match the tool's schema. The arguments are always
/// sent byte for byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Validate {
    /// The arguments have to match exactly.
    Strict,
    /// The arguments have to match exactly, or after a conversion that many servers perform on
    /// purpose, such as from `"2"` to the number 2.
    #[default]
    Coercible,
    /// Drawbridge does not check the arguments.
    Off,
}

/// Returns whether the host or the port of a URL refers to a secret. Such a URL cannot be parsed.
fn has_reference_in_host(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = authority.rsplit('@').next().unwrap_or(authority);
        host.contains("${")
    })
}

/// Returns whether a value is the default of its type, and is therefore not written to the file.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A server as its spec file describes it. A local server has a `command`, and a remote server a
/// `url`. A spec that has both, and a `transport`, describes a program that Drawbridge starts and
/// that serves this URL on this computer.
///
/// References to secrets, such as `${keyring:NAME}`, may be in the values of `env`, `headers` and
/// `args`, in `bearer_token`, in the OAuth client secret, and in the user, password, path and query
/// of `url`. Drawbridge replaces the references when it starts the server or connects to it, and
/// never writes the secrets to the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ServerSpec {
    /// The name to show to people. The id is the file's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The variables of `env` without which the server must not start, as its manifest declares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_env: Vec<String>,
    /// The working folder; if it is absent, the user's home, or the server's own folder if
    /// `sandbox.files` is `listed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Sent as `Authorization: Bearer …`; preferably a `${keyring:NAME}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_token: Option<String>,
    /// The client that a person registered for Drawbridge at the server's authorization server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OauthClient>,
    /// Inferred from `command` or `url` if it is absent: `http` for a URL.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "type")]
    pub transport: Option<TransportKind>,
    /// The protocol revision to use with the server, such as `2025-06-18`. Negotiated if it is
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The program that runs the server, such as `npx`. The program has to be installed, and may
    /// download the server at the first start. Inferred from `command` if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_hint: Option<Runtime>,
    /// Whether a person replaces the program or script on purpose, for instance while developing
    /// it. A replaced program then starts without being accepted again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub program_changes: bool,
    /// The restrictions of a local server's processes. If they are absent, the processes may use
    /// everything that the user may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    #[serde(default = "default_true", skip_serializing_if = "is_true")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub lifecycle: Lifecycle,
    #[serde(default, skip_serializing_if = "is_default")]
    pub isolation: Isolation,
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts: Timeouts,
    /// How often a failed start is tried again, with growing delays. After the last failure, the
    /// server is not started until the next call.
    #[serde(
        default = "default_retries",
        skip_serializing_if = "is_default_retries"
    )]
    pub retries: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub visibility: Visibility,
    #[serde(default, skip_serializing_if = "is_default")]
    pub definitions: DefinitionPolicy,
    #[serde(default, skip_serializing_if = "is_default")]
    pub validate: Validate,
    /// How Drawbridge treats suspicious texts of the server.
    #[serde(default, skip_serializing_if = "is_default")]
    pub content_defence: ContentDefence,
    /// The tools that clients may see and call, by the server's own names; all tools if it is
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// The text before `__` in the exposed names of the server's tools and prompts; the server's id
    /// if it is absent. An empty prefix exposes the bare names. If two servers want the same bare
    /// name, the server that was accepted first has the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The servers whose tool of the same name is tried, in this order, if this server cannot be
    /// reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<ServerId>,
    /// How long the catalog's copy of the server counts as fresh, in milliseconds. If it is absent,
    /// the setting for all servers applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_ttl_ms: Option<u32>,
    /// How long Drawbridge may answer from its cache instead of reading a resource again or calling
    /// a read-only, idempotent tool again, in milliseconds; 0 for not at all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_results_ms: u32,
    /// The built-in server that the spec describes. Only Drawbridge sets this field. A spec from
    /// anywhere else is invalid if it has the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<BuiltIn>,
    /// All other members of the file, which Drawbridge preserves when it writes the file.
    #[serde(flatten)]
    #[cfg_attr(feature = "bindings", ts(skip))]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// An OAuth client that a person registered, for servers whose authorization server does not let
/// programs register themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct OauthClient {
    #[serde(alias = "clientId")]
    pub client_id: String,
    /// The secret, if the client has one; preferably a `${keyring:NAME}`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        alias = "clientSecret"
    )]
    pub client_secret: Option<String>,
    /// The port of the client's registered redirect URI `http://127.0.0.1:PORT/callback`. If it is
    /// absent, any port is used, as authorization servers allow for native apps (RFC 8252).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        alias = "callbackPort"
    )]
    pub callback_port: Option<u16>,
}

/// The reason why a spec is invalid, in plain words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error(
        "'builtin' is only for the servers that are part of Drawbridge; remove it, and set 'command' or 'url'"
    )]
    BuiltIn,
    #[error("'command' (for a local server) or 'url' (for a remote server) is missing")]
    NoCommandOrUrl,
    #[error(
        "'command' and 'url' are both set. Remove one of them, or set 'transport' to http or sse if the command starts a \
        server that listens on the URL"
    )]
    CommandAndUrl,
    #[error(
        "the 'url' of a server with a 'command' must be on this computer, as in http://127.0.0.1:3001/sse, not {0}"
    )]
    UrlNotLoopback(DisplayUrl),
    #[error("'command' is empty")]
    EmptyCommand,
    #[error("transport 'stdio' needs a 'command', not a 'url'")]
    StdioWithUrl,
    #[error("transport '{0}' needs a 'url', not a 'command'")]
    RemoteWithCommand(&'static str),
    #[error("'url' must begin with http:// or https://: {0}")]
    BadUrl(DisplayUrl),
    #[error("'url' is invalid: {url}: {source}")]
    InvalidUrl {
        url: DisplayUrl,
        source: url::ParseError,
    },
    #[error("'{0}' has no effect for a {1} server; remove it")]
    UnusedField(&'static str, &'static str),
    #[error("'env' contains '{0}', which is not a valid name of a variable")]
    BadVariable(String),
    #[error(
        "'url' must not refer to a secret in its host or port; use 'headers', or a password in the URL"
    )]
    SecretInHost,
    #[error("'command' must not refer to a secret; use 'env'")]
    SecretInCommand,
    #[error("'bearer_token' and the header 'Authorization' are the same; remove one")]
    DuplicateToken,
    #[error(
        "the 'client_id' in 'oauth' is the client's public id; it must not be empty or refer to a secret"
    )]
    BadOauthClient,
    #[error(
        "'oauth' and a token ('bearer_token' or the header 'Authorization') are both set; remove one"
    )]
    OauthWithToken,
    #[error(
        "'prefix' must consist of at most 32 letters, digits, - and single _, without _ at either \
         end, or be empty for bare names, not '{0}'"
    )]
    BadPrefix(String),
    #[error("'{0}' must be at least {1}")]
    TooSmall(&'static str, u32),
    #[error(
        "'protocol_version' is '{found}', which this transport does not support; use one of {supported}"
    )]
    UnknownRevision { found: String, supported: String },
    #[error("'fallback' contains '{0}' twice")]
    DuplicateFallback(ServerId),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

impl Default for ServerSpec {
    /// Returns a spec without a name, a command or a URL. All other fields have the values of a
    /// file that does not set them.
    fn default() -> Self {
        Self {
            name: String::new(),
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            required_env: Vec::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            bearer_token: None,
            oauth: None,
            transport: None,
            protocol_version: None,
            runtime_hint: None,
            program_changes: false,
            sandbox: None,
            enabled: true,
            lifecycle: Lifecycle::default(),
            isolation: Isolation::default(),
            timeouts: Timeouts::default(),
            retries: DEFAULT_RETRIES,
            visibility: Visibility::default(),
            definitions: DefinitionPolicy::default(),
            validate: Validate::default(),
            content_defence: ContentDefence::default(),
            allowed_tools: None,
            prefix: None,
            fallback: Vec::new(),
            cache_ttl_ms: None,
            cache_results_ms: 0,
            builtin: None,
            other: BTreeMap::new(),
        }
    }
}

impl ServerSpec {
    /// Checks that the fields are valid and fit together, and that the spec does not describe a
    /// built-in server, whose spec is never in a file.
    ///
    /// # Errors
    /// Returns an error for the first field that is invalid or contradicts another field.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.builtin.is_some() {
            return Err(SpecError::BuiltIn);
        }
        self.check_prefix_and_fallback()?;
        self.timeouts.check()?;
        if let Some(sandbox) = &self.sandbox {
            sandbox.check()?;
            if self.url.is_some() && sandbox.network == SandboxNetwork::None {
                return Err(SandboxError::NoPortForUrl.into());
            }
        }
        match (&self.command, &self.url) {
            (None, None) => Err(SpecError::NoCommandOrUrl),
            (Some(command), Some(url)) => self.check_local_http(command, url),
            (Some(command), None) => self.check_local(command),
            (None, Some(url)) => self.check_remote(url),
        }
    }

    fn check_local_http(&self, command: &str, url: &str) -> Result<(), SpecError> {
        if !matches!(
            self.transport,
            Some(TransportKind::Http | TransportKind::Sse)
        ) {
            return Err(SpecError::CommandAndUrl);
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
            required_env: Vec::new(),
            cwd: None,
            runtime_hint: None,
            program_changes: false,
            sandbox: None,
            lifecycle: Lifecycle::default(),
            ..self.clone()
        };
        remote.check_remote(url)?;
        let is_loopback = match url::Url::parse(url).ok().as_ref().and_then(url::Url::host) {
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            Some(url::Host::Domain(name)) => name == "localhost",
            None => false,
        };
        is_loopback
            .then_some(())
            .ok_or_else(|| SpecError::UrlNotLoopback(DisplayUrl::new(url)))
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
        let unused_fields = [
            ("headers", !self.headers.is_empty()),
            ("bearer_token", self.bearer_token.is_some()),
            ("oauth", self.oauth.is_some()),
        ];
        if let Some((field, _)) = unused_fields.iter().find(|(_, set)| *set) {
            return Err(SpecError::UnusedField(field, "local"));
        }
        if reference::begins_reference(command) {
            return Err(SpecError::SecretInCommand);
        }
        let is_invalid = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        self.env
            .keys()
            .find(is_invalid)
            .map_or(Ok(()), |name| Err(SpecError::BadVariable(name.clone())))
    }

    fn check_remote(&self, url: &str) -> Result<(), SpecError> {
        if self.transport == Some(TransportKind::Stdio) {
            return Err(SpecError::StdioWithUrl);
        }
        let unused_fields = [
            ("args", !self.args.is_empty()),
            ("env", !self.env.is_empty()),
            ("required_env", !self.required_env.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("runtime_hint", self.runtime_hint.is_some()),
            ("program_changes", self.program_changes),
            ("sandbox", self.sandbox.is_some()),
            ("lifecycle", self.lifecycle == Lifecycle::Transient),
        ];
        if let Some((field, _)) = unused_fields.iter().find(|(_, set)| *set) {
            return Err(SpecError::UnusedField(field, "remote"));
        }
        if self.bearer_token.is_some()
            && self
                .headers
                .keys()
                .any(|name| name.eq_ignore_ascii_case("authorization"))
        {
            return Err(SpecError::DuplicateToken);
        }
        if let Some(client) = &self.oauth {
            if client.client_id.trim().is_empty() || reference::begins_reference(&client.client_id)
            {
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
        if has_reference_in_host(url) {
            return Err(SpecError::SecretInHost);
        }
        let parsed = url::Url::parse(url).map_err(|source| SpecError::InvalidUrl {
            url: DisplayUrl::new(url),
            source,
        })?;
        let is_http = matches!(parsed.scheme(), "http" | "https") && parsed.has_host();
        is_http
            .then_some(())
            .ok_or_else(|| SpecError::BadUrl(DisplayUrl::from(&parsed)))
    }

    fn check_prefix_and_fallback(&self) -> Result<(), SpecError> {
        if let Some(prefix) = self
            .prefix
            .as_ref()
            .filter(|prefix| !names::is_valid_prefix(prefix))
        {
            return Err(SpecError::BadPrefix(prefix.clone()));
        }
        let mut ids = BTreeSet::new();
        let repeated = self.fallback.iter().find(|id| !ids.insert(*id));
        repeated.map_or(Ok(()), |id| Err(SpecError::DuplicateFallback(id.clone())))
    }

    /// Returns the headers that are sent, including the bearer token.
    pub fn all_headers(&self) -> BTreeMap<String, String> {
        let mut headers = self.headers.clone();
        if let Some(token) = &self.bearer_token {
            headers.insert("Authorization".into(), format!("Bearer {token}"));
        }
        headers
    }

    /// Returns the id of the OAuth client that a person registered, if there is one.
    pub fn oauth_client_id(&self) -> Option<&str> {
        self.oauth.as_ref().map(|client| client.client_id.as_str())
    }

    /// Returns all values that may refer to secrets.
    pub fn values_with_references(&self) -> impl Iterator<Item = &String> {
        let client_secret = self
            .oauth
            .as_ref()
            .and_then(|client| client.client_secret.as_ref());
        self.env
            .values()
            .chain(&self.args)
            .chain(&self.url)
            .chain(self.headers.values())
            .chain(&self.bearer_token)
            .chain(client_secret)
    }

    /// Changes all values that may refer to secrets. See [`Self::values_with_references`].
    pub fn change_values_with_references(&mut self, change: impl Fn(&str) -> String) {
        let client_secret = self
            .oauth
            .as_mut()
            .and_then(|client| client.client_secret.as_mut());
        let values = self
            .env
            .values_mut()
            .chain(&mut self.args)
            .chain(&mut self.url)
            .chain(self.headers.values_mut())
            .chain(&mut self.bearer_token)
            .chain(client_secret);
        for value in values {
            *value = change(value);
        }
    }

    /// Returns the runtime that the spec names, or else the runtime to which its command belongs.
    pub fn runtime(&self) -> Option<Runtime> {
        self.runtime_hint
            .or_else(|| self.command.as_deref().and_then(Runtime::from_command))
    }

    /// Returns whether `allowed_tools` lets clients see and call a tool.
    pub fn allows_tool(&self, tool: &str) -> bool {
        self.allowed_tools
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|name| name == tool))
    }

    /// Returns the identity: the digest of what the spec starts or connects to. Sessions, the
    /// catalog's copies and rules are bound to it. [`changes::needs_acceptance`] decides about the
    /// other fields.
    pub fn identity(&self) -> String {
        let parts = (
            &self.command,
            &self.args,
            &self.env,
            &self.cwd,
            &self.url,
            self.all_headers(),
        );
        let mut text = serde_json::to_string(&parts).expect("a spec can be written as JSON");
        // `sse` is the only transport that is never inferred. An inferred transport adds nothing,
        // so that accepted identities remain valid.
        if self.transport == Some(TransportKind::Sse) {
            text.push_str("sse");
        }
        if let Some(client) = &self.oauth {
            text.push_str(
                &serde_json::to_string(client).expect("an OAuth client can be written as JSON"),
            );
        }
        // Write access to the file must not be enough to turn trust on: a person has to accept it.
        if self.definitions == DefinitionPolicy::Trust {
            text.push_str("trust");
        }
        if let Some(sandbox) = &self.sandbox {
            text.push_str(
                &serde_json::to_string(sandbox).expect("a sandbox can be written as JSON"),
            );
        }
        if let Some(built_in) = self.builtin {
            text.push_str(&format!("built-in {}", built_in.id()));
        }
        digest::sha256(text.as_bytes())
    }
}

/// Timeouts in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(default)]
pub struct Timeouts {
    /// The time from the start to the answer to `initialize`.
    pub initialize_ms: u32,
    /// The time from sending a call to its answer, or to its next progress notification.
    pub call_ms: u32,
    /// The time from sending a call to its answer, regardless of progress. A longer `call_ms`, or a
    /// longer value of the tool in `tools`, applies instead.
    pub total_ms: u32,
    /// Replaces `call_ms` for single tools, by the server's own names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, u32>,
    /// The time without a request or a subscription after which the session ends.
    pub idle_ms: u32,
    /// The interval of pings to an idle server of the legacy era; 0 for no pings.
    pub ping_ms: u32,
    /// The time that a local server has to end by itself before it is killed.
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

const DEFAULT_RETRIES: u32 = 3;

fn default_retries() -> u32 {
    DEFAULT_RETRIES
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_default_retries(value: &u32) -> bool {
    *value == DEFAULT_RETRIES
}

fn default_true() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_true(value: &bool) -> bool {
    *value
}

#[cfg(test)]
mod tests;
