//! Reads the messages of clients. Ids, params and results are kept byte for byte.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use crate::{
    envelope::{Envelope, KeyCheck, read_string},
    json::{MAX_DEPTH, depth_exceeds},
    rpc::{RpcError, RpcResponse, code},
};

/// A request's id: a string or an integer, as it was written.
#[derive(Debug, Clone, Copy)]
pub struct Id<'a>(&'a RawValue);

impl Id<'_> {
    /// Returns the id as JSON text: a string has its quotes.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    pub fn to_raw(self) -> Box<RawValue> {
        self.0.to_owned()
    }
}

/// A message from a client.
#[derive(Debug)]
pub enum ClientMessage<'a> {
    Request {
        id: Id<'a>,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// The response to a request of Drawbridge: a result or an error.
    Response {
        id: &'a RawValue,
        response: Result<&'a RawValue, &'a RawValue>,
    },
}

/// The error for a malformed message, with the message's id if it could be read.
#[derive(Debug)]
pub struct ParseError<'a> {
    pub id: Option<Id<'a>>,
    pub error: RpcError,
}

impl ParseError<'_> {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            id: None,
            error: RpcError::new(code, message),
        }
    }
}

/// Parses one message.
///
/// # Errors
/// Returns an error if the text is not a single JSON-RPC message. The code is `-32700` if the text
/// is not JSON. The code is `-32600` for all other reasons, such as a batch, keys at the top level
/// that occur twice or differ only in case, an id that is neither a string nor an integer, or more
/// than [`MAX_DEPTH`] levels of nesting. The nesting is checked first, even in text that is not
/// JSON.
pub fn parse(bytes: &[u8]) -> Result<ClientMessage<'_>, ParseError<'_>> {
    if depth_exceeds(bytes, MAX_DEPTH) {
        return Err(ParseError::new(
            code::INVALID_REQUEST,
            format!("the message is nested deeper than {MAX_DEPTH} levels"),
        ));
    }
    match Envelope::read(bytes, KeyCheck::Strict) {
        Ok(envelope) => interpret_envelope(envelope),
        Err(error) => Err(envelope_error(bytes, &error)),
    }
}

/// Returns the error for a batch in a revision that has no batches.
pub fn batch_unsupported<'a>() -> ParseError<'a> {
    let message = "batches are not supported here; send one JSON-RPC message at a time";
    ParseError::new(code::INVALID_REQUEST, message)
}

/// Returns the error for text that cannot be read as an envelope. `error` says why it cannot.
fn envelope_error<'a>(bytes: &[u8], error: &serde_json::Error) -> ParseError<'a> {
    match serde_json::from_slice::<&RawValue>(bytes).map(RawValue::get) {
        Err(error) => ParseError::new(
            code::PARSE_ERROR,
            format!("the message is not valid JSON: {error}"),
        ),
        Ok(text) if text.starts_with('[') => batch_unsupported(),
        Ok(text) if !text.starts_with('{') => ParseError::new(
            code::INVALID_REQUEST,
            "a JSON-RPC message must be a JSON object",
        ),
        Ok(_) => ParseError::new(
            code::INVALID_REQUEST,
            format!("the message is not valid JSON-RPC: {error}"),
        ),
    }
}

fn interpret_envelope(envelope: Envelope<'_>) -> Result<ClientMessage<'_>, ParseError<'_>> {
    let Envelope {
        jsonrpc,
        id,
        method,
        params,
        result,
        error,
    } = envelope;
    let id = id.map(read_id).transpose()?;
    let invalid = |message: &str| ParseError {
        id,
        error: RpcError::new(code::INVALID_REQUEST, message),
    };
    if jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(invalid("'jsonrpc' must be \"2.0\""));
    }
    let Some(method) = method else {
        let response = match (result, error) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(error),
            _ => {
                return Err(invalid(
                    "a message must have a 'method', or either a 'result' or an 'error'",
                ));
            }
        };
        let id = id.ok_or_else(|| invalid("a response must have the 'id' of its request"))?;
        return Ok(ClientMessage::Response { id: id.0, response });
    };
    if result.is_some() || error.is_some() {
        return Err(invalid("a request must not have a 'result' or an 'error'"));
    }
    let method = read_string(method).ok_or_else(|| invalid("'method' must be a string"))?;
    let params = params.filter(|params| params.get() != "null");
    if params.is_some_and(|params| !params.get().starts_with('{')) {
        return Err(invalid("'params' must be an object"));
    }
    Ok(match id {
        Some(id) => ClientMessage::Request { id, method, params },
        None => ClientMessage::Notification { method, params },
    })
}

fn read_id(raw: &RawValue) -> Result<Id<'_>, ParseError<'_>> {
    let text = raw.get();
    let is_integer = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if is_integer || text.starts_with('"') {
        return Ok(Id(raw));
    }
    Err(ParseError::new(
        code::INVALID_REQUEST,
        "'id' must be a string or an integer",
    ))
}

/// Returns whether `body` is the answer to the request with this id, rather than a request with the
/// same id. `id` is JSON text.
pub fn is_answer_to(body: &[u8], id: &str) -> bool {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        method: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Answer<'_>>(body)
        .is_ok_and(|answer| answer.method.is_none() && answer.id.map(RawValue::get) == Some(id))
}

/// Converts the response of a [`ClientMessage::Response`] to an [`RpcResponse`].
///
/// # Errors
/// Returns an error if the response is an error that is not an object.
pub fn read_response(
    response: Result<&RawValue, &RawValue>,
) -> Result<RpcResponse, serde_json::Error> {
    Ok(match response {
        Ok(result) => RpcResponse::Result(result.to_owned().into()),
        Err(error) if error.get().starts_with('{') => {
            RpcResponse::Error(RpcError::parse_or_wrap(error, "client"))
        }
        Err(_) => return Err(serde::de::Error::custom("not an object")),
    })
}
