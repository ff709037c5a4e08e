//! How clients, servers and Drawbridge introduce themselves.

use drawbridge_jsonrpc::rpc::{RpcError, code};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    capabilities::{ClientCapabilities, ServerCapabilities},
    revision::{self, Era},
};

/// The longest introduction of a client, in bytes. Drawbridge keeps the introduction as long as the
/// client's session.
const MAX_CLIENT_BYTES: usize = 64 * 1024;

/// A client's introduction: sent once with `initialize` (legacy), or with each request (modern).
#[derive(Debug, Clone)]
pub struct ClientHello {
    pub protocol_version: String,
    pub era: Era,
    /// The client's `clientInfo`, byte for byte.
    pub info: Option<Box<RawValue>>,
    pub capabilities: ClientCapabilities,
}

/// A peer's name and version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Implementation {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub version: String,
}

impl ClientHello {
    /// Checks the length of an introduction.
    ///
    /// # Errors
    /// Returns an error (`-32602`) that begins with `place` if the introduction is too long.
    pub(super) fn check_length(place: &str, bytes: usize) -> Result<(), RpcError> {
        if bytes <= MAX_CLIENT_BYTES {
            return Ok(());
        }
        Err(RpcError::new(
            code::INVALID_PARAMS,
            format!(
                "{place}: the client's information and capabilities have {bytes} bytes, and at most {MAX_CLIENT_BYTES} are allowed; shorten them"
            ),
        ))
    }

    /// Returns the introduction of a person who calls tools by hand. Servers cannot send requests
    /// to this client.
    pub fn for_manual_calls() -> Self {
        let protocol_version = revision::NEWEST_LEGACY.to_owned();
        Self {
            protocol_version,
            era: Era::Legacy,
            info: None,
            capabilities: ClientCapabilities::default(),
        }
    }

    /// Returns the client's name and version, such as `claude-code 2.1.329`, or `None` if the
    /// client sent no readable `clientInfo`.
    pub fn software(&self) -> Option<String> {
        let info: Implementation = serde_json::from_str(self.info.as_ref()?.get()).ok()?;
        Some(format!("{} {}", info.name, info.version).trim().to_owned())
    }
}

/// A server's answer to `initialize` or `server/discover`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerHello {
    pub protocol_version: String,
    pub server_info: Implementation,
    pub instructions: Option<String>,
    pub capabilities: ServerCapabilities,
}

impl ServerHello {
    pub fn era(&self) -> Era {
        Era::from_revision(&self.protocol_version).unwrap_or(Era::Legacy)
    }
}

/// Returns Drawbridge's own name and version.
pub(super) fn own_info() -> Value {
    json!({ "name": "drawbridge", "title": "Drawbridge", "version": env!("CARGO_PKG_VERSION") })
}
