//! The capabilities that clients and servers declare.

use drawbridge_jsonrpc::{
    json::{self, RawObject},
    rpc::{RpcError, code},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    extensions::{Extensions, TASKS_EXTENSION},
    revision,
};
use crate::capability::CapabilityKind;

/// A client's capabilities: the raw JSON, and the parts that Drawbridge needs.
#[derive(Debug, Clone)]
pub struct ClientCapabilities {
    raw: Box<RawValue>,
    sampling: Option<Sampling>,
    elicitation: Option<Elicitation>,
    roots: bool,
    extensions: Extensions,
}

/// The parts of sampling that a client supports.
#[derive(Debug, Clone, Default, Deserialize)]
struct Sampling {
    #[serde(default)]
    tools: Option<IgnoredAny>,
}

/// The requests of servers that Drawbridge answers itself if a client cannot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnCapabilities {
    /// Whether a provider answers sampling requests.
    pub sampling: bool,
    /// Whether the provider also answers sampling requests with tools.
    pub sampling_tools: bool,
    /// Whether Drawbridge can ask a person for input on a screen.
    pub elicitation: bool,
    /// Whether Drawbridge has roots to name.
    pub roots: bool,
}

/// The modes of elicitation that a client supports. A client that names no mode supports forms.
#[derive(Debug, Clone, Default, Deserialize)]
struct Elicitation {
    #[serde(default)]
    form: Option<IgnoredAny>,
    #[serde(default)]
    url: Option<IgnoredAny>,
}

impl Default for ClientCapabilities {
    fn default() -> Self {
        Self {
            raw: json::raw("{}".into()),
            sampling: None,
            elicitation: None,
            roots: false,
            extensions: Extensions::default(),
        }
    }
}

impl ClientCapabilities {
    /// Reads a client's capabilities. If they cannot be read, the client counts as having none.
    pub(super) fn read(raw: &RawValue) -> Self {
        #[derive(Default, Deserialize)]
        struct Read {
            #[serde(default)]
            sampling: Option<Sampling>,
            #[serde(default)]
            elicitation: Option<Elicitation>,
            #[serde(default)]
            roots: Option<IgnoredAny>,
            #[serde(default)]
            extensions: Extensions,
        }
        let Read {
            sampling,
            elicitation,
            roots,
            extensions,
        } = serde_json::from_str(raw.get()).unwrap_or_default();
        Self {
            raw: raw.to_owned(),
            sampling,
            elicitation,
            roots: roots.is_some(),
            extensions,
        }
    }

    /// Returns the capabilities as the client sent them.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Returns the extensions that the client declares.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Returns the client's capabilities together with those of Drawbridge, as JSON. A member of
    /// the client stays as it is, unless Drawbridge adds to it.
    pub fn with_own(&self, own: OwnCapabilities) -> Box<RawValue> {
        if own == OwnCapabilities::default() {
            return self.raw.clone();
        }
        let Ok(mut all) = RawObject::parse(&self.raw) else {
            return self.raw.clone();
        };
        if own.sampling {
            let tools: &[&str] = if own.sampling_tools { &["tools"] } else { &[] };
            let sampling = with_members(all.get("sampling"), tools);
            all.set("sampling", sampling);
        }
        if own.elicitation {
            let elicitation = with_members(all.get("elicitation"), &["form", "url"]);
            all.set("elicitation", elicitation);
        }
        if own.roots && !self.roots {
            all.set("roots", json::raw("{}".into()));
        }
        all.to_raw()
    }

    /// Returns whether the client answers this request of a server. Ignores whether a sampling
    /// request has tools; see [`Self::lacks_sampling_tools`].
    pub fn can_answer(&self, method: &str, params: Option<&RawValue>) -> bool {
        match method {
            "ping" => true,
            "sampling/createMessage" => self.sampling.is_some(),
            "elicitation/create" => self
                .elicitation
                .as_ref()
                .is_some_and(|elicitation| elicitation.supports_mode(params)),
            "roots/list" => self.roots,
            _ => false,
        }
    }

    /// Returns whether the client answers sampling requests, but not sampling requests with tools.
    pub fn lacks_sampling_tools(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.tools.is_none())
    }
}

/// Returns the object, with an empty object for each of these members that is missing or null.
fn with_members(object: Option<&RawValue>, members: &[&'static str]) -> Box<RawValue> {
    let mut object = object
        .and_then(|object| RawObject::parse(object).ok())
        .unwrap_or_default();
    for member in members {
        if object.get(member).is_none_or(|value| value.get() == "null") {
            object.set(member, json::raw("{}".into()));
        }
    }
    object.to_raw()
}

impl Elicitation {
    fn supports_mode(&self, params: Option<&RawValue>) -> bool {
        let mode = params.and_then(|params| RawObject::parse(params).ok()?.get_string("mode"));
        match mode.as_deref() {
            Some("url") => self.url.is_some(),
            _ => self.form.is_some() || self.url.is_none(),
        }
    }
}

/// Returns the capabilities that Drawbridge declares to a legacy server: all capabilities, and the
/// extensions of the clients. The server reads the capabilities only once, and its tools may depend
/// on them. Clients that come and go share the session, and any of these clients may have a
/// capability.
pub(super) fn declared_to_servers(extensions: &Extensions) -> serde_json::Value {
    let mut capabilities = serde_json::json!({
        "sampling": { "context": {}, "tools": {} },
        "elicitation": { "form": {}, "url": {} },
        "roots": { "listChanged": true },
    });
    if !extensions.is_empty() {
        capabilities["extensions"] = extensions.to_value();
    }
    capabilities
}

/// Returns the capabilities that Drawbridge declares to clients of a revision, with the extensions
/// of the servers.
pub(super) fn declared_to_clients(revision: &str, extensions: &Extensions) -> serde_json::Value {
    let mut capabilities = serde_json::json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "logging": {},
    });
    if revision == revision::MODERN || !extensions.is_empty() {
        capabilities["extensions"] = extensions.to_value();
    }
    if revision == revision::MODERN {
        capabilities["extensions"][TASKS_EXTENSION] = serde_json::json!({});
    } else if revision == revision::NEWEST_LEGACY {
        capabilities["tasks"] = serde_json::json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    capabilities
}

/// The parts of a server's capabilities that Drawbridge needs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ServerCapabilities {
    #[serde(default)]
    prompts: Option<IgnoredAny>,
    #[serde(default)]
    resources: Option<IgnoredAny>,
    #[serde(default)]
    logging: Option<IgnoredAny>,
    #[serde(default)]
    extensions: Extensions,
}

impl ServerCapabilities {
    /// Returns the extensions that the server declares.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Returns whether the server may offer this kind. Always `true` for tools, because some
    /// servers have tools and do not declare them.
    pub fn may_offer(&self, kind: CapabilityKind) -> bool {
        match kind {
            CapabilityKind::Tools => true,
            CapabilityKind::Prompts => self.prompts.is_some(),
            CapabilityKind::Resources | CapabilityKind::Templates => self.resources.is_some(),
        }
    }

    /// Returns whether the server supports `logging/setLevel`.
    pub fn supports_logging(&self) -> bool {
        self.logging.is_some()
    }
}

/// The levels of log messages, least severe first. A client receives the messages of its level and
/// of all more severe levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// Reads the level at `member` of an object.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if the member is missing or is not a level.
    pub fn from_member(object: &RawObject<'_>, member: &str) -> Result<Self, RpcError> {
        let level = object
            .get(member)
            .and_then(|level| serde_json::from_str(level.get()).ok());
        level.ok_or_else(|| {
            RpcError::new(
                code::INVALID_PARAMS,
                format!("'{member}' must be a log level, such as \"info\""),
            )
        })
    }

    /// Returns the level as the protocol writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}
