//! JSON-RPC as it crosses the door: raw, so that nothing is lost.

use serde::Serialize;
use serde_json::value::RawValue;

use super::json::Json;

/// A JSON-RPC error. `data` is passed on as the server sent it.
#[derive(Debug, Clone, Serialize)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// An answer: a result, or an error, as sent.
pub type Reply = Result<Json, RpcError>;

/// Error codes of JSON-RPC 2.0.
pub mod code {
    pub const PARSE_ERROR: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL_ERROR: i64 = -32603;
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}
