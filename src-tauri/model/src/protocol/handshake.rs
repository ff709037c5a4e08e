//! `initialize` and `server/discover`, with which clients, servers and Drawbridge introduce
//! themselves.

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::{RpcError, code},
};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    capabilities::{self, ClientCapabilities, ServerCapabilities},
    extensions::Extensions,
    hello::{ClientHello, Implementation, ServerHello, own_info},
    meta,
    revision::{self, Era},
};
use crate::cause::{Cause, MapText};

/// Reads a client's `initialize`. Keeps the client's revision if it is a known legacy revision, and
/// otherwise uses the newest legacy revision.
///
/// # Errors
/// Returns an error (`-32602`) if the params are not those of `initialize`, or are longer than 64
/// KiB.
pub fn read_initialize(params: Option<&RawValue>) -> Result<ClientHello, RpcError> {
    ClientHello::check_length("initialize", params.map_or(0, |params| params.get().len()))?;
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        protocol_version: String,
        #[serde(borrow, default)]
        client_info: Option<&'a RawValue>,
        #[serde(borrow, default)]
        capabilities: Option<&'a RawValue>,
    }
    let params: Params<'_> = serde_json::from_str(params.map_or("null", RawValue::get))
        .map_err(|e| RpcError::new(code::INVALID_PARAMS, format!("initialize: {e}")))?;
    let is_legacy = Era::from_revision(&params.protocol_version) == Some(Era::Legacy);
    let protocol_version = if is_legacy {
        params.protocol_version
    } else {
        revision::NEWEST_LEGACY.to_owned()
    };
    Ok(ClientHello {
        protocol_version,
        era: Era::Legacy,
        info: params.client_info.map(ToOwned::to_owned),
        capabilities: params
            .capabilities
            .map(ClientCapabilities::read)
            .unwrap_or_default(),
    })
}

/// The instructions and extensions of the servers that a client can see, for Drawbridge's
/// introduction to the client.
#[derive(Debug, Clone, Default)]
pub struct ServersIntroduction {
    /// Instructions for a model.
    pub instructions: Option<String>,
    pub extensions: Extensions,
}

/// Returns Drawbridge's answer to a client's `initialize`.
pub fn initialize_result(hello: &ClientHello, servers: &ServersIntroduction) -> Box<RawValue> {
    let mut result = json!({
        "protocolVersion": hello.protocol_version,
        "capabilities": capabilities::declared_to_clients(&hello.protocol_version, &servers.extensions),
        "serverInfo": own_info(),
    });
    if let Some(instructions) = &servers.instructions {
        result["instructions"] = instructions.as_str().into();
    }
    json::to_raw(&result)
}

/// Returns Drawbridge's answer to a client's `server/discover`.
pub fn discover_result(servers: &ServersIntroduction) -> Box<RawValue> {
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": revision::all().collect::<Vec<_>>(),
        "capabilities": capabilities::declared_to_clients(revision::MODERN, &servers.extensions),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { meta::SERVER_INFO: own_info() },
    });
    if let Some(instructions) = &servers.instructions {
        result["instructions"] = instructions.as_str().into();
    }
    json::to_raw(&result)
}

/// Returns the params of Drawbridge's own `initialize` to a server, with the extensions of the
/// clients. Without `revision`, the params name the newest legacy revision.
pub fn initialize_params(revision: Option<&str>, extensions: &Extensions) -> Box<RawValue> {
    json::to_raw(&json!({
        "protocolVersion": revision.unwrap_or(revision::NEWEST_LEGACY),
        "capabilities": capabilities::declared_to_servers(extensions),
        "clientInfo": own_info(),
    }))
}

/// Why a server's answer to `initialize` cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InitializeError {
    #[error("The server's answer to initialize cannot be read: {source}")]
    Unreadable { source: Cause },
    #[error("The server speaks protocol revision '{revision}', which Drawbridge does not support")]
    UnknownRevision { revision: String },
}

impl InitializeError {
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Unreadable { source } => Self::Unreadable {
                source: source.map_text(change),
            },
            Self::UnknownRevision { revision } => Self::UnknownRevision {
                revision: change(&revision),
            },
        }
    }
}

/// Reads a server's answer to `initialize`.
///
/// # Errors
/// Returns an error if the answer cannot be read, or if it names no legacy revision that Drawbridge
/// knows.
pub fn read_initialize_result(result: &Json) -> Result<ServerHello, InitializeError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
        #[serde(default)]
        server_info: Implementation,
        #[serde(default)]
        instructions: Option<String>,
        #[serde(default)]
        capabilities: ServerCapabilities,
    }
    let Initialized {
        protocol_version,
        server_info,
        instructions,
        capabilities,
    } = serde_json::from_str(result.get()).map_err(|error| InitializeError::Unreadable {
        source: Cause::new(error),
    })?;
    let is_legacy = Era::from_revision(&protocol_version) == Some(Era::Legacy)
        || protocol_version == revision::PRE_RELEASE;
    if is_legacy {
        Ok(ServerHello {
            protocol_version,
            server_info,
            instructions,
            capabilities,
        })
    } else {
        Err(InitializeError::UnknownRevision {
            revision: protocol_version,
        })
    }
}

/// Reads a server's answer to `server/discover`. Returns `None` if the answer cannot be read, or if
/// the server does not support the modern revision.
pub fn read_discover_result(result: &Json) -> Option<ServerHello> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
        #[serde(default)]
        instructions: Option<String>,
        #[serde(default)]
        capabilities: ServerCapabilities,
    }
    let read: Discovered = serde_json::from_str(result.get()).ok()?;
    if !read
        .supported_versions
        .iter()
        .any(|version| version == revision::MODERN)
    {
        return None;
    }
    let server_info = RawObject::parse(result).ok().and_then(|result| {
        let meta = result.get("_meta")?.to_owned();
        serde_json::from_str(RawObject::parse(&meta).ok()?.get(meta::SERVER_INFO)?.get()).ok()
    });
    Some(ServerHello {
        protocol_version: revision::MODERN.to_owned(),
        server_info: server_info.unwrap_or_default(),
        instructions: read.instructions,
        capabilities: read.capabilities,
    })
}

#[cfg(test)]
mod tests;
