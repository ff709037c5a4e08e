//! What clients and servers say that they can do.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{revision, tasks};
use crate::model::{
    capability::Kind,
    json::{self, RawObject},
    rpc::{RpcError, code},
};

/// What a client can do for a server: as it said it, and what Drawbridge has to know of it.
#[derive(Debug, Clone)]
pub struct ClientCapabilities {
    raw: Box<RawValue>,
    sampling: bool,
    elicitation: Option<Elicitation>,
    roots: bool,
}

/// The ways in which a client can ask a person. A client that names none means forms.
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
    /// Reads them; what cannot be read counts as not there.
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

    /// As the client said it.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Whether the client answers such a request of a server.
    pub fn can_answer(&self, method: &str, params: Option<&RawValue>) -> bool {
        match method {
            "ping" => true,
            "sampling/createMessage" => self.sampling,
            "elicitation/create" => self
                .elicitation
                .as_ref()
                .is_some_and(|ways| ways.include(params)),
            "roots/list" => self.roots,
            _ => false,
        }
    }
}

impl Elicitation {
    fn include(&self, params: Option<&RawValue>) -> bool {
        let mode = params.and_then(|params| RawObject::parse(params).ok()?.string("mode"));
        match mode.as_deref() {
            Some("url") => self.url.is_some(),
            _ => self.form.is_some() || self.url.is_none(),
        }
    }
}

/// What Drawbridge says of itself to servers with sessions: its clients may be able to do all of it.
pub(super) fn towards_servers() -> serde_json::Value {
    serde_json::json!({
        "sampling": { "context": {}, "tools": {} },
        "elicitation": { "form": {}, "url": {} },
        "roots": { "listChanged": true },
    })
}

/// What Drawbridge says of itself to clients of a revision.
pub(super) fn towards_clients(revision: &str) -> serde_json::Value {
    let mut all = serde_json::json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "logging": {},
    });
    if revision == revision::MODERN {
        all["extensions"] = serde_json::json!({ tasks::EXTENSION: {} });
    } else if revision == revision::NEWEST_LEGACY {
        all["tasks"] = serde_json::json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    all
}

/// What a server offers, as far as Drawbridge has to know.
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
    /// Whether it may have something of that kind. Some servers have tools and do not say so.
    pub fn offers(&self, kind: Kind) -> bool {
        match kind {
            Kind::Tools => true,
            Kind::Prompts => self.prompts.is_some(),
            Kind::Resources | Kind::Templates => self.resources.is_some(),
        }
    }

    /// Whether it takes `logging/setLevel`.
    pub fn logs(&self) -> bool {
        self.logging.is_some()
    }
}

/// How much of its log a client wants to hear, least first.
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
    /// The level that an object names.
    ///
    /// # Errors
    /// `-32602` where it names none.
    pub fn in_object(object: &RawObject<'_>, member: &str) -> Result<Self, RpcError> {
        let level = object
            .get(member)
            .and_then(|level| serde_json::from_str(level.get()).ok());
        level.ok_or_else(|| {
            RpcError::new(
                code::INVALID_PARAMS,
                format!("'{member}' must be a level of logs"),
            )
        })
    }

    /// As the protocol writes it.
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
