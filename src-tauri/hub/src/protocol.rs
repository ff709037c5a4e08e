//! The only code that knows the revisions of the protocol.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::model::{
    capability::Kind,
    json,
    rpc::{RpcError, code},
};

/// The revisions that begin with `initialize`, newest first.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const NEWEST: &str = REVISIONS[0];

/// What an `initialize` request agreed on.
pub struct Initialized {
    pub protocol_version: String,
    /// The client's name and version.
    pub software: Option<String>,
    pub capabilities: ClientCapabilities,
    /// The result to answer with.
    pub result: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: String,
    #[serde(default)]
    client_info: Option<Implementation>,
    #[serde(default)]
    capabilities: ClientCapabilities,
}

/// What a client can do for a server, as far as Drawbridge has to know.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ClientCapabilities {
    #[serde(default)]
    sampling: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    elicitation: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    roots: Option<serde::de::IgnoredAny>,
}

impl ClientCapabilities {
    /// Whether the client answers such a request.
    pub fn can_answer(&self, method: &str) -> bool {
        match method {
            "ping" => true,
            "sampling/createMessage" => self.sampling.is_some(),
            "elicitation/create" => self.elicitation.is_some(),
            "roots/list" => self.roots.is_some(),
            _ => false,
        }
    }
}

/// A peer's name and version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Implementation {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub version: String,
}

/// Answers a client's `initialize`: its revision where Drawbridge knows it, else the newest one.
///
/// # Errors
/// `-32602` where the params are not those of `initialize`.
pub fn initialize(params: Option<&RawValue>) -> Result<Initialized, RpcError> {
    let params: InitializeParams = serde_json::from_str(params.map_or("null", RawValue::get))
        .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("initialize: {e}")))?;
    let protocol_version = if is_known(&params.protocol_version) { params.protocol_version } else { NEWEST.to_owned() };
    let result = json!({
        "protocolVersion": protocol_version,
        "capabilities": {
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "completions": {},
            "logging": {},
        },
        "serverInfo": { "name": "drawbridge", "title": "Drawbridge", "version": env!("CARGO_PKG_VERSION") },
    });
    let software = params.client_info.map(|info| format!("{} {}", info.name, info.version).trim().to_owned());
    let capabilities = params.capabilities;
    Ok(Initialized { protocol_version, software, capabilities, result: json::to_raw(&result) })
}

/// Whether `revision` is one that a client may name in `MCP-Protocol-Version`.
pub fn is_known(revision: &str) -> bool {
    REVISIONS.contains(&revision)
}

/// The params of Drawbridge's own `initialize` towards a server.
pub fn initialize_params() -> Box<RawValue> {
    json::to_raw(&json!({
        "protocolVersion": NEWEST,
        "capabilities": { "sampling": {}, "elicitation": {}, "roots": {} },
        "clientInfo": { "name": "drawbridge", "title": "Drawbridge", "version": env!("CARGO_PKG_VERSION") },
    }))
}

/// What a server answered to `initialize`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerHello {
    pub protocol_version: String,
    #[serde(default)]
    pub server_info: Implementation,
    #[serde(default)]
    pub instructions: Option<String>,
    #[serde(default)]
    capabilities: ServerCapabilities,
}

/// What a server offers, as far as Drawbridge has to know.
#[derive(Debug, Clone, Default, Deserialize)]
struct ServerCapabilities {
    #[serde(default)]
    prompts: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    resources: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    logging: Option<serde::de::IgnoredAny>,
}

impl ServerHello {
    /// Whether it may have something of that kind. Some servers have tools and do not say so.
    pub fn offers(&self, kind: Kind) -> bool {
        match kind {
            Kind::Tools => true,
            Kind::Prompts => self.capabilities.prompts.is_some(),
            Kind::Resources | Kind::Templates => self.capabilities.resources.is_some(),
        }
    }

    /// Whether it takes `logging/setLevel`.
    pub fn logs(&self) -> bool {
        self.capabilities.logging.is_some()
    }
}

/// Reads a server's answer to `initialize`.
///
/// # Errors
/// In plain words, where it is none, or names a revision that Drawbridge does not know.
pub fn server_hello(result: &RawValue) -> Result<ServerHello, String> {
    let hello: ServerHello =
        serde_json::from_str(result.get()).map_err(|e| format!("its answer to initialize cannot be read: {e}"))?;
    if is_known(&hello.protocol_version) {
        Ok(hello)
    } else {
        Err(format!("it speaks protocol revision '{}', which Drawbridge does not know", hello.protocol_version))
    }
}

#[cfg(test)]
mod tests;
