//! The HTTP headers that repeat parts of the body of a modern request.

use std::collections::HashSet;

use base64::{Engine, prelude::BASE64_STANDARD};
use drawbridge_jsonrpc::json::RawObject;
use serde_json::{Value, value::RawValue};

use super::revision;

/// The header with the revision.
pub const VERSION: &str = "mcp-protocol-version";
/// The header with the method.
pub const METHOD: &str = "mcp-method";
/// The header with the name of the tool or prompt, the URI of the resource, or the id of the task.
pub const NAME: &str = "mcp-name";

/// The prefix of headers that repeat an argument.
pub const PARAM_PREFIX: &str = "mcp-param-";
const BASE64_PREFIX: &str = "=?base64?";
const BASE64_SUFFIX: &str = "?=";
/// The largest safe integer of JavaScript: up to here an `f64` represents each integer exactly.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// An argument of a tool that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParam {
    /// The header's name, in lower case.
    pub header: String,
    /// The keys that lead to the argument.
    pub path: Vec<String>,
}

/// Returns the member of the params that `Mcp-Name` repeats, or `None` if requests of the method
/// have no such header.
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Returns the headers of a modern request that do not depend on a tool's schema: the revision, the
/// method, and the name if the method has one.
pub fn standard_headers(method: &str, params: &RawObject<'_>) -> Vec<(String, String)> {
    let mut headers = vec![
        (VERSION.to_owned(), revision::MODERN.to_owned()),
        (METHOD.to_owned(), method.to_owned()),
    ];
    let name = name_member(method).and_then(|member| params.get_string(member));
    headers.extend(name.map(|name| (NAME.to_owned(), encode(&name))));
    headers
}

/// Encodes a value for a header: as base64 if a header could not carry it unchanged.
pub fn encode(value: &str) -> String {
    let is_plain = value.bytes().all(|b| matches!(b, 0x20..=0x7e | b'\t'))
        && value.trim_matches([' ', '\t']).len() == value.len()
        && !(value.starts_with(BASE64_PREFIX) && value.ends_with(BASE64_SUFFIX));
    if is_plain {
        value.to_owned()
    } else {
        format!(
            "{BASE64_PREFIX}{}{BASE64_SUFFIX}",
            BASE64_STANDARD.encode(value)
        )
    }
}

/// Decodes the value of a header. Returns `None` if the value is malformed.
pub fn decode(value: &str) -> Option<String> {
    if !value.bytes().all(|b| matches!(b, 0x20..=0x7e | b'\t')) {
        return None;
    }
    match value
        .strip_prefix(BASE64_PREFIX)
        .and_then(|rest| rest.strip_suffix(BASE64_SUFFIX))
    {
        Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// How a tool's schema uses `x-mcp-header` in an invalid way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderParamError {
    #[error("'x-mcp-header' must be the name of a header")]
    InvalidName,
    #[error("two arguments have the header '{header}'")]
    DuplicateName { header: String },
    #[error("'x-mcp-header' is allowed only on properties that do not depend on a condition")]
    NotAProperty,
    #[error(
        "the argument '{argument}' has 'x-mcp-header', but is not a string, an integer or a boolean"
    )]
    UnsupportedType { argument: String },
}

/// Returns the arguments that a tool's schema marks with `x-mcp-header`.
///
/// # Errors
/// Returns an error if the schema uses the mark in an invalid way. The arguments of such a tool
/// cannot be sent over HTTP.
pub fn header_params(input_schema: &Value) -> Result<Vec<HeaderParam>, HeaderParamError> {
    let mut found = Vec::new();
    collect_params(input_schema, &mut Vec::new(), true, &mut found)?;
    let mut names = HashSet::new();
    match found
        .iter()
        .find(|param| !names.insert(param.header.clone()))
    {
        Some(duplicate) => Err(HeaderParamError::DuplicateName {
            header: duplicate.header.clone(),
        }),
        None => Ok(found),
    }
}

/// Adds the marked arguments of a schema to `found`. `path` are the keys that lead to the schema.
/// `is_reachable` is whether only `properties` lead to the schema, and not, for example, `anyOf`.
fn collect_params(
    schema: &Value,
    path: &mut Vec<String>,
    is_reachable: bool,
    found: &mut Vec<HeaderParam>,
) -> Result<(), HeaderParamError> {
    match schema {
        Value::Object(members) => {
            if let Some(name) = members.get("x-mcp-header") {
                if !is_reachable || path.is_empty() {
                    return Err(HeaderParamError::NotAProperty);
                }
                found.push(HeaderParam {
                    header: header_name(name)?,
                    path: path.clone(),
                });
                if !matches!(
                    members.get("type").and_then(Value::as_str),
                    Some("string" | "integer" | "boolean")
                ) {
                    return Err(HeaderParamError::UnsupportedType {
                        argument: path.join("."),
                    });
                }
            }
            for (key, value) in members.iter().filter(|(key, _)| *key != "x-mcp-header") {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        for (name, schema) in properties {
                            path.push(name.clone());
                            collect_params(schema, path, is_reachable, found)?;
                            path.pop();
                        }
                    }
                    ("default" | "const" | "enum" | "examples", _) => {}
                    _ => collect_params(value, path, false, found)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| collect_params(item, path, false, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn header_name(name: &Value) -> Result<String, HeaderParamError> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let name = name
        .as_str()
        .filter(|name| !name.is_empty() && name.bytes().all(is_token));
    let name = name.ok_or(HeaderParamError::InvalidName)?;
    Ok(format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase()))
}

/// Returns the value of an argument as its header repeats it, or `None` if the value is absent,
/// null, a list or an object.
pub fn param_value(arguments: &RawValue, param: &HeaderParam) -> Option<String> {
    let mut value = arguments.to_owned();
    for key in &param.path {
        let member = RawObject::parse(&value).ok()?.get(key)?.to_owned();
        value = member;
    }
    match serde_json::from_str::<Value>(value.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Bool(boolean) => Some(boolean.to_string()),
        Value::Number(_) => Some(value.get().to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns whether a header has the same value as the body. Integers below 2^53 are compared as
/// numbers, so `42` equals `42.0`.
pub fn values_match(header: &str, body: &str) -> bool {
    let integer = |text: &str| {
        let number = text.parse::<f64>().ok()?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "an f64 represents MAX_SAFE_INTEGER exactly"
        )]
        let is_safe = number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER as f64;
        is_safe.then_some(number)
    };
    header == body
        || matches!((integer(header), integer(body)), (Some(header), Some(body)) if header == body)
}

#[cfg(test)]
mod tests;
