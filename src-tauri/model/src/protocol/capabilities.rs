//! The capabilities that clients and servers declare.

use drawbridge_jsonrpc::{
    json::{self, RawObject},
    rpc::{RpcError, code},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::revision;
use crate::capability::CapabilityKind;

/// The name of the extension for tasks.
pub(super) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A client's capabilities: the raw JSON, and the parts that Drawbridge needs.
#[derive(Debug, Clone)]
pub struct ClientCapabilities {
    raw: Box<RawValue>,
    sampling: bool,
    elicitation: Option<Elicitation>,
    roots: bool,
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
            sampling: false,
            elicitation: None,
            roots: false,
        }
    }
}

impl ClientCapabilities {
    /// Reads a client's capabilities. If they cannot be read, the client counts as having none.
    pub(super) fn read(raw: &RawValue) -> Self {
        #[derive(Default, Deserialize)]
        struct Read {
            #[serde(default)]
            sampling: Option<IgnoredAny>,
            #[serde(default)]
            elicitation: Option<Elicitation>,
            #[serde(default)]
            roots: Option<IgnoredAny>,
        }
        let Read {
            sampling,
            elicitation,
            roots,
        } = serde_json::from_str(raw.get()).unwrap_or_default();
        Self {
            raw: raw.to_owned(),
            sampling: sampling.is_some(),
            elicitation,
            roots: roots.is_some(),
        }
    }

    /// Returns the capabilities as the client sent them.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Returns whether the client answers such a request of a server.
    pub fn can_answer(&self, method: &str, params: Option<&RawValue>) -> bool {
        match method {
            "ping" => true,
            "sampling/createMessage" => self.sampling,
            "elicitation/create" => self
                .elicitation
                .as_ref()
                .is_some_and(|ways| ways.supports_mode(params)),
            "roots/list" => self.roots,
            _ => false,
        }
    }
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

/// Returns the capabilities that Drawbridge declares to legacy servers: all, because one of its
/// clients may have them.
pub(super) fn declared_to_servers() -> serde_json::Value {
    serde_json::json!({
        "sampling": { "context": {}, "tools": {} },
        "elicitation": { "form": {}, "url": {} },
        "roots": { "listChanged": true },
    })
}

/// Returns the capabilities that Drawbridge declares to clients of a revision.
pub(super) fn declared_to_clients(revision: &str) -> serde_json::Value {
    let mut all = serde_json::json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "logging": {},
    });
    if revision == revision::MODERN {
        all["extensions"] = serde_json::json!({ TASKS_EXTENSION: {} });
    } else if revision == revision::NEWEST_LEGACY {
        all["tasks"] = serde_json::json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    all
}

/// The capabilities of a server that Drawbridge needs to know.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ServerCapabilities {
    #[serde(default)]
    prompts: Option<IgnoredAny>,
    #[serde(default)]
    resources: Option<IgnoredAny>,
    #[serde(default)]
    logging: Option<IgnoredAny>,
}

impl ServerCapabilities {
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

/// The levels of log messages, least severe first. A client receives messages from its level on.
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
    /// Returns an error (`-32602`) if it is not a level.
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
