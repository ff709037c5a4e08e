//! Parses the envelope of JSON-RPC messages, and writes the envelope of answers around raw results.
//! Ids, params and results are passed on byte for byte.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod properties;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::HashSet, fmt};

use bytes::{BufMut, Bytes, BytesMut};
use drawbridge_hub::model::{
    json::{MAX_DEPTH, depth_exceeds, fold_key},
    rpc::{Reply, RpcError, code},
};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

const ENVELOPE_KEYS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// A request's id: a string or an integer, as it was written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Id<'a>(&'a RawValue);

impl Id<'_> {
    pub(crate) fn as_str(&self) -> &str {
        self.0.get()
    }

    pub(crate) fn to_raw(self) -> Box<RawValue> {
        self.0.to_owned()
    }
}

/// A message from a client.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request {
        id: Id<'a>,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// The answer to a request of Drawbridge: its result, or its error.
    Response {
        id: &'a RawValue,
        reply: Result<&'a RawValue, &'a RawValue>,
    },
}

/// The error for a malformed message, with the message's id if it could be read.
#[derive(Debug)]
pub(crate) struct ParseError<'a> {
    pub(crate) id: Option<Id<'a>>,
    pub(crate) error: RpcError,
}

impl ParseError<'_> {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            id: None,
            error: RpcError::new(code, message),
        }
    }
}

/// Parses one message.
///
/// # Errors
/// Returns `-32700` if the text is not JSON. Returns `-32600` if the text is not a single JSON-RPC
/// message: a batch, duplicate or case-variant keys, an id that is neither a string nor an integer,
/// or too deep nesting.
pub(crate) fn parse(bytes: &[u8]) -> Result<Message<'_>, ParseError<'_>> {
    if depth_exceeds(bytes, MAX_DEPTH) {
        return Err(ParseError::new(
            code::INVALID_REQUEST,
            format!("the message is nested deeper than {MAX_DEPTH} levels"),
        ));
    }
    match serde_json::from_slice::<Envelope<'_>>(bytes) {
        Ok(envelope) => envelope.into_message(),
        Err(error) => Err(envelope_error(bytes, &error)),
    }
}

/// Returns the error for a batch in a revision that has no batches.
pub(crate) fn batch_unsupported<'a>() -> ParseError<'a> {
    let message = "batches are not supported here; send one JSON-RPC message at a time";
    ParseError::new(code::INVALID_REQUEST, message)
}

/// Returns the error for text that cannot be read as an envelope. `error` is that of the attempt.
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

/// The top level of a message, with each key at most once.
#[derive(Default)]
struct Envelope<'a> {
    values: [Option<&'a RawValue>; ENVELOPE_KEYS.len()],
}

impl<'a> Envelope<'a> {
    fn into_message(self) -> Result<Message<'a>, ParseError<'a>> {
        let [jsonrpc, id, method, params, result, error] = self.values;
        let id = id.map(read_id).transpose()?;
        let invalid = |message: &str| ParseError {
            id,
            error: RpcError::new(code::INVALID_REQUEST, message),
        };
        if jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err(invalid("'jsonrpc' must be \"2.0\""));
        }
        let Some(method) = method else {
            let reply = match (result, error) {
                (Some(result), None) => Ok(result),
                (None, Some(error)) => Err(error),
                _ => {
                    return Err(invalid(
                        "a message must have a 'method', or either a 'result' or an 'error'",
                    ));
                }
            };
            let id = id.ok_or_else(|| invalid("a response must have the 'id' of its request"))?;
            return Ok(Message::Response { id: id.0, reply });
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
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        })
    }
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        let mut other_keys = HashSet::new();
        while let Some(JsonString(key)) = map.next_key::<JsonString<'de>>()? {
            let occurs_twice =
                |key: &str| serde::de::Error::custom(format_args!("the key '{key}' occurs twice"));
            if let Some(index) = ENVELOPE_KEYS.iter().position(|known| *known == key) {
                if envelope.values[index].replace(map.next_value()?).is_some() {
                    return Err(occurs_twice(&key));
                }
                continue;
            }
            let folded = fold_key(&key);
            if ENVELOPE_KEYS.contains(&folded.as_str()) {
                return Err(serde::de::Error::custom(format_args!(
                    "the key '{folded}' must be in lower case"
                )));
            }
            map.next_value::<IgnoredAny>()?;
            if let Some(repeated) = other_keys.replace(folded) {
                return Err(occurs_twice(&repeated));
            }
        }
        Ok(envelope)
    }
}

/// A JSON string, borrowed from the message if it has no escapes.
#[derive(Deserialize)]
struct JsonString<'a>(#[serde(borrow)] Cow<'a, str>);

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

/// Returns the text of a JSON string, or `None` if the value is not a string.
pub(crate) fn read_string(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<JsonString<'_>>(raw.get())
        .ok()
        .map(|text| text.0)
}

/// Returns whether `body` is the answer to the request with this id, rather than a request with the
/// same id.
pub(crate) fn is_answer_to(body: &[u8], id: &str) -> bool {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        method: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Answer<'_>>(body)
        .is_ok_and(|answer| answer.method.is_none() && answer.id.map(RawValue::get) == Some(id))
}

/// Converts the reply of an answer to the type that the hub uses.
///
/// # Errors
/// Returns an error if `error` is not an object.
pub(crate) fn read_reply(reply: Result<&RawValue, &RawValue>) -> Result<Reply, serde_json::Error> {
    Ok(match reply {
        Ok(result) => Ok(result.to_owned().into()),
        Err(error) if error.get().starts_with('{') => Err(RpcError::parse_or_wrap(error, "client")),
        Err(_) => return Err(serde::de::Error::custom("not an object")),
    })
}

/// Returns an answer with this result, byte for byte.
pub(crate) fn encode_result(id: Id<'_>, result: &RawValue) -> Bytes {
    encode_answer(id.as_str(), "result", result.get())
}

/// Returns an answer with this reply. `id` is the request's id as JSON text.
pub(crate) fn encode_reply(id: &str, reply: &Reply) -> Bytes {
    match reply {
        Ok(result) => encode_answer(id, "result", result.get()),
        Err(error) => encode_error_with_raw_id(id, error),
    }
}

/// Returns an answer with this error. The id is `null` if the request's id could not be read.
pub(crate) fn encode_error(id: Option<Id<'_>>, error: &RpcError) -> Bytes {
    encode_error_with_raw_id(id.as_ref().map_or("null", Id::as_str), error)
}

/// Returns an answer with this error. `id` is the request's id as JSON text.
pub(crate) fn encode_error_with_raw_id(id: &str, error: &RpcError) -> Bytes {
    let text = serde_json::to_string(error)
        .expect("an error has a number, strings and JSON, all of which can be written");
    encode_answer(id, "error", &text)
}

fn encode_answer(id: &str, key: &str, value: &str) -> Bytes {
    let mut bytes = BytesMut::with_capacity(id.len() + value.len() + 40);
    for part in [
        r#"{"jsonrpc":"2.0","id":"#,
        id,
        r#",""#,
        key,
        r#"":"#,
        value,
        "}",
    ] {
        bytes.put_slice(part.as_bytes());
    }
    bytes.freeze()
}
