//! JSON-RPC errors and responses, which keep their parts as raw JSON, so that no member is lost.

use serde::{Serialize, Serializer, de::Error, ser::SerializeMap};
use serde_json::value::RawValue;

use super::json::{Json, RawObject};

/// A JSON-RPC error. The values of all members but `code` and `message` are passed on byte for
/// byte.
#[derive(Debug, Clone)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Box<RawValue>>,
    /// The members besides `code`, `message` and `data`, in the peer's order.
    pub other_members: Vec<(String, Box<RawValue>)>,
}

/// The outcome of a request: a result or an error.
pub type RpcResult = Result<Json, RpcError>;

/// A peer's answer to a request, as the peer sent it. A request without an answer fails with an
/// error of another type.
#[derive(Debug, Clone)]
pub enum RpcResponse {
    Result(Json),
    Error(RpcError),
}

impl RpcResponse {
    /// Returns the result.
    ///
    /// # Errors
    /// Returns the peer's error if the peer answered with an error.
    pub fn into_result(self) -> RpcResult {
        match self {
            Self::Result(result) => Ok(result),
            Self::Error(error) => Err(error),
        }
    }
}

/// The error codes of JSON-RPC 2.0.
pub mod code {
    pub const PARSE_ERROR: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL_ERROR: i64 = -32603;
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            other_members: Vec::new(),
        }
    }

    /// Reads an error object. A missing `code` becomes 0, and a missing `message` an empty string.
    ///
    /// # Errors
    /// Returns an error if `error` is not an object or repeats a key, if its `code` is not a number
    /// with an integral value or is too large, or if its `message` is not a string.
    pub fn parse(error: &RawValue) -> Result<Self, serde_json::Error> {
        let mut read = Self::new(0, "");
        for (key, value) in RawObject::parse(error)?.iter() {
            match key {
                "code" => {
                    read.code = parse_code(value)
                        .ok_or_else(|| Error::custom("`code` must be an integer"))?
                }
                "message" => read.message = serde_json::from_str(value.get())?,
                "data" => read.data = Some(value.to_owned()),
                _ => read.other_members.push((key.to_owned(), value.to_owned())),
            }
        }
        Ok(read)
    }

    /// Reads an error object of `peer` as [`RpcError::parse`] does. An object that cannot be read
    /// becomes the `data` of an internal error.
    pub fn parse_or_wrap(error: &RawValue, peer: &str) -> Self {
        Self::parse(error).unwrap_or_else(|_| Self {
            data: Some(error.to_owned()),
            ..Self::new(
                code::INTERNAL_ERROR,
                format!("Cannot read the {peer}'s error"),
            )
        })
    }
}

/// Reads an integer in any notation of JSON: some languages write every number as `-32000.0` or
/// `-3.2e4`.
fn parse_code(code: &RawValue) -> Option<i64> {
    /// 2^53. A floating-point number represents each integer up to this limit exactly.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let text = code.get();
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        (number.fract() == 0.0 && number.abs() <= MAX_EXACT).then_some(number as i64)
    })
}

impl Serialize for RpcError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("code", &self.code)?;
        members.serialize_entry("message", &self.message)?;
        if let Some(data) = &self.data {
            members.serialize_entry("data", data)?;
        }
        for (key, value) in &self.other_members {
            members.serialize_entry(key, value)?;
        }
        members.end()
    }
}

#[cfg(test)]
mod tests;
