//! Translates results, errors and requests between the two eras. All functions are pure. Messages
//! between peers of the same era stay unchanged, except for answers to a modern client: a result
//! gets the required members that its server omitted, and an error with a code of the legacy era is
//! translated.

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::{RpcError, RpcResult, code},
};
use serde_json::value::RawValue;

use super::{
    input::{self, InputRequest, InputRequired},
    revision::Era,
};

/// Error code of the legacy era: the resource was not found.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// Error code of 2025-11-25 only: a person has to visit a URL first.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// The beginning of most modern results. A result that begins like this need not be parsed.
const COMPLETE_PREFIX: &str = r#"{"resultType":"complete","#;

/// Returns whether modern results of this method state how long they may be cached.
fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

/// Returns whether the answer to this method may be `input_required`.
pub fn supports_input_required(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

/// Translates the answer of a server of either era for a modern client.
pub fn response_for_modern_client(method: &str, response: RpcResult) -> RpcResult {
    match response {
        Ok(result) => Ok(add_modern_members(method, result)),
        Err(error) if error.code == RESOURCE_NOT_FOUND => Err(RpcError {
            code: code::INVALID_PARAMS,
            ..error
        }),
        Err(error) if requires_url(method, &error) => url_input_required(&error).ok_or(error),
        Err(error) => Err(error),
    }
}

/// Translates the result of a modern server for a legacy client.
fn result_for_legacy_client(method: &str, result: Json) -> Json {
    let lacks_cache_members = !is_cacheable(method) || !json::mentions(&result, "ttlMs");
    let Some(rest) = result
        .get()
        .strip_prefix(COMPLETE_PREFIX)
        .filter(|_| lacks_cache_members)
    else {
        if lacks_cache_members && !json::mentions(&result, "resultType") {
            return result;
        }
        return without_modern_members(method, &result).unwrap_or(result);
    };
    let mut text = String::with_capacity(rest.len() + 1);
    text.push('{');
    text.push_str(rest);
    Json::new(text)
}

/// Returns the result without the members that only modern results have, or `None` if the result
/// cannot be read or is not final.
fn without_modern_members(method: &str, result: &Json) -> Option<Json> {
    let mut object = RawObject::parse(result).ok()?;
    if object
        .get_string("resultType")
        .is_some_and(|kind| kind != "complete")
    {
        return None;
    }
    object.remove("resultType");
    if is_cacheable(method) {
        object.remove("ttlMs");
        object.remove("cacheScope");
    }
    Some(object.to_raw().into())
}

/// Adds the members that a modern result of this method must have and that are missing, before the
/// other members. A result that is not final stays unchanged.
fn add_modern_members(method: &str, result: Json) -> Json {
    let text = result.get();
    let Some(rest) = text.strip_prefix('{') else {
        return result;
    };
    let mut added = vec![("resultType", r#""complete""#)];
    if is_cacheable(method) {
        added.extend([("ttlMs", "0"), ("cacheScope", r#""private""#)]);
    }
    let is_final = |object: &RawObject<'_>| {
        object
            .get_string("resultType")
            .is_none_or(|kind| kind == "complete")
    };
    // Most results contain none of these names and need not be parsed.
    if added.iter().any(|(key, _)| json::mentions(&result, key)) {
        let Ok(object) = RawObject::parse(&result) else {
            return result;
        };
        if !is_final(&object) {
            return result;
        }
        added.retain(|(key, _)| object.get(key).is_none());
    }
    if added.is_empty() {
        return result;
    }
    let members = added
        .iter()
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect::<Vec<_>>()
        .join(",");
    let comma = if rest.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    Json::new(format!("{{{members}{comma}{rest}"))
}

fn requires_url(method: &str, error: &RpcError) -> bool {
    error.code == URL_ELICITATION_REQUIRED && supports_input_required(method)
}

/// Returns requests for the URLs that a person has to visit before a legacy server processes a
/// request, or `None` if the error requires no URL.
pub fn required_urls(method: &str, error: &RpcError) -> Option<InputRequired> {
    let result = requires_url(method, error).then(|| url_input_required(error))?;
    InputRequired::read(&result?)
}

/// Returns an `input_required` result with the URLs that a person has to visit, or `None` if the
/// error names no URL.
fn url_input_required(error: &RpcError) -> Option<Json> {
    let data = error.data.as_ref()?;
    let elicitations = RawObject::parse(data).ok()?.get("elicitations")?.to_owned();
    let elicitations: Vec<&RawValue> = serde_json::from_str(elicitations.get()).ok()?;
    let requests: Vec<_> = elicitations
        .into_iter()
        .enumerate()
        .map(|(index, params)| (format!("url-{}", index + 1), elicitation_request(params)))
        .collect();
    let members = requests
        .iter()
        .map(|(key, request)| (key.as_str(), request));
    (!requests.is_empty()).then(|| input::input_required_result(members, None).into())
}

fn elicitation_request(params: &RawValue) -> InputRequest {
    request_for_modern_client(&InputRequest {
        method: "elicitation/create".into(),
        params: Some(params.to_owned()),
    })
}

/// Translates a server's request for a modern client.
pub fn request_for_modern_client(request: &InputRequest) -> InputRequest {
    let params = request
        .params
        .as_ref()
        .map(|params| match RawObject::parse(params) {
            Ok(mut object) if request.method == "elicitation/create" => {
                object.remove("elicitationId");
                object.to_raw()
            }
            Ok(_) | Err(_) => params.clone(),
        });
    InputRequest {
        method: request.method.clone(),
        params,
    }
}

/// Translates a request of a modern server for a legacy client. `id` becomes the id of an
/// elicitation by URL.
pub fn request_for_legacy_client(request: &InputRequest, id: &str) -> InputRequest {
    let params = request
        .params
        .as_ref()
        .map(|params| match RawObject::parse(params) {
            Ok(mut object) if object.get_string("mode").as_deref() == Some("url") => {
                object.set("elicitationId", json::raw(json::quote(id)));
                object.to_raw()
            }
            Ok(_) | Err(_) => params.clone(),
        });
    InputRequest {
        method: request.method.clone(),
        params,
    }
}

/// Translates the result of a modern server for a legacy client. Any other result stays unchanged;
/// [`response_for_modern_client`] translates the results for modern clients.
pub fn translate_result(client: Era, server: Era, method: &str, result: Json) -> Json {
    match (client, server) {
        (Era::Legacy, Era::Modern) => result_for_legacy_client(method, result),
        _ => result,
    }
}

/// Returns the input that a modern server requires from a legacy client, or `None` if the result
/// can be passed on. A legacy client does not understand `input_required`, so the hub has to send
/// requests to the client instead.
pub fn required_client_input(client: Era, server: Era, result: &Json) -> Option<InputRequired> {
    let may_require_input = client == Era::Legacy
        && server == Era::Modern
        && !result.get().starts_with(COMPLETE_PREFIX);
    may_require_input
        .then(|| InputRequired::read(result))
        .flatten()
}

#[cfg(test)]
mod tests;
