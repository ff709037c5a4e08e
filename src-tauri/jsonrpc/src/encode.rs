//! Writes messages. Params, results and raw ids are written byte for byte.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::value::RawValue;

use crate::{
    client_message::Id,
    json,
    rpc::{RpcError, RpcResult},
};

/// Returns a request as JSON text. `params` is JSON text.
pub fn encode_request(id: u64, method: &str, params: Option<&str>) -> Vec<u8> {
    encode(Some(id), method, params)
}

/// Returns a notification as JSON text. `params` is JSON text.
pub fn encode_notification(method: &str, params: Option<&str>) -> Vec<u8> {
    encode(None, method, params)
}

/// Returns the notification that cancels one of Drawbridge's requests.
pub fn encode_cancelled(id: u64, reason: &str) -> Vec<u8> {
    encode_notification(
        "notifications/cancelled",
        Some(&build_cancelled_params(id, reason)),
    )
}

/// Returns the params of the notification that cancels one of Drawbridge's requests.
pub fn build_cancelled_params(id: u64, reason: &str) -> String {
    format!(r#"{{"requestId":{id},"reason":{}}}"#, json::quote(reason))
}

/// Returns a response with this result.
pub fn encode_result(id: Id<'_>, result: &RawValue) -> Bytes {
    encode_with_member(id.as_json(), "result", result.get())
}

/// Returns the response with this result or error. `id` is the request's id as JSON text.
pub fn encode_response(id: &str, response: &RpcResult) -> Bytes {
    match response {
        Ok(result) => encode_with_member(id, "result", result.get()),
        Err(error) => encode_error_with_raw_id(id, error),
    }
}

/// Returns a response with this error. The id is `null` if the request's id could not be read.
pub fn encode_error(id: Option<Id<'_>>, error: &RpcError) -> Bytes {
    encode_error_with_raw_id(id.as_ref().map_or("null", Id::as_json), error)
}

/// Returns a response with this error. `id` is the request's id as JSON text.
pub fn encode_error_with_raw_id(id: &str, error: &RpcError) -> Bytes {
    let text = serde_json::to_string(error)
        .expect("an error has a number, strings and JSON, all of which can be written");
    encode_with_member(id, "error", &text)
}

fn encode_with_member(id: &str, key: &str, value: &str) -> Bytes {
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

fn encode(id: Option<u64>, method: &str, params: Option<&str>) -> Vec<u8> {
    let mut text = String::with_capacity(method.len() + params.map_or(0, str::len) + 64);
    text.push_str(r#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        text.push_str(r#","id":"#);
        text.push_str(&id.to_string());
    }
    text.push_str(r#","method":"#);
    text.push_str(&json::quote(method));
    if let Some(params) = params {
        text.push_str(r#","params":"#);
        text.push_str(params);
    }
    text.push('}');
    text.into_bytes()
}
