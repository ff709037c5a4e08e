//! The only code that knows the revisions of the protocol.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::model::{
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
    /// The result to answer with.
    pub result: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: String,
    #[serde(default)]
    client_info: Option<Implementation>,
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
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "drawbridge", "title": "Drawbridge", "version": env!("CARGO_PKG_VERSION") },
    });
    let software = params.client_info.map(|info| format!("{} {}", info.name, info.version).trim().to_owned());
    Ok(Initialized { protocol_version, software, result: json::to_raw(&result) })
}

/// Whether `revision` is one that a client may name in `MCP-Protocol-Version`.
pub fn is_known(revision: &str) -> bool {
    REVISIONS.contains(&revision)
}

/// The params of Drawbridge's own `initialize` towards a server.
pub fn initialize_params() -> Box<RawValue> {
    json::to_raw(&json!({
        "protocolVersion": NEWEST,
        "capabilities": {},
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
