//! Multi round-trip requests: a modern server does not send requests to its client. Instead, the
//! server answers `input_required`, and the client sends its request again with the answers.

use std::collections::BTreeMap;

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::RpcError,
};
use serde_json::value::RawValue;

/// An `input_required` result.
#[derive(Debug)]
pub struct InputRequired {
    /// The requests to the client, each with its key, in the server's order.
    pub requests: Vec<(String, InputRequest)>,
    /// The server's state, which the client has to return with its retry.
    pub state: Option<Box<RawValue>>,
}

/// A request to a client.
#[derive(Debug, Clone)]
pub struct InputRequest {
    pub method: String,
    pub params: Option<Box<RawValue>>,
}

impl InputRequired {
    /// Reads a result. Returns `None` if the result is not a valid `input_required` result.
    pub fn read(result: &Json) -> Option<Self> {
        if !json::mentions(result, "input_required") {
            return None;
        }
        let result = RawObject::parse(result).ok()?;
        if result.get_string("resultType").as_deref() != Some("input_required") {
            return None;
        }
        let requests = match result.get("inputRequests") {
            Some(requests) => read_requests(requests)?,
            None => Vec::new(),
        };
        Some(Self {
            requests,
            state: result.get("requestState").map(ToOwned::to_owned),
        })
    }

    /// Turns the params of a request into the params of its retry, with these answers and the
    /// server's new state, if there is any.
    pub fn prepare_retry(
        &self,
        params: &mut RawObject<'_>,
        answers: &BTreeMap<String, Box<RawValue>>,
    ) {
        match &self.state {
            Some(state) => params.set("requestState", state.clone()),
            None => params.remove("requestState"),
        }
        if answers.is_empty() {
            params.remove("inputResponses");
        } else {
            params.set("inputResponses", json::to_raw(answers));
        }
    }
}

fn read_requests(requests: &RawValue) -> Option<Vec<(String, InputRequest)>> {
    let requests = RawObject::parse(requests).ok()?;
    let read = |key: &str| {
        let request = requests.get(key)?.to_owned();
        let request = RawObject::parse(&request).ok()?;
        let method = request.get_string("method")?;
        Some((
            key.to_owned(),
            InputRequest {
                method,
                params: request.get("params").map(ToOwned::to_owned),
            },
        ))
    };
    requests.keys().map(read).collect()
}

/// Returns an `input_required` result with these requests. `state` identifies the pending request
/// when the client retries.
pub fn input_required_result<'a>(
    requests: impl IntoIterator<Item = (&'a str, &'a InputRequest)>,
    state: Option<&str>,
) -> Box<RawValue> {
    let mut text = String::from(r#"{"resultType":"input_required","inputRequests":{"#);
    for (index, (key, InputRequest { method, params })) in requests.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&format!(
            r#"{}:{{"method":{}"#,
            json::quote(key),
            json::quote(method)
        ));
        if let Some(params) = params {
            text.push_str(&format!(r#","params":{}"#, params.get()));
        }
        text.push('}');
    }
    text.push('}');
    if let Some(state) = state {
        text.push_str(&format!(r#","requestState":{}"#, json::quote(state)));
    }
    text.push('}');
    json::raw(text)
}

/// The members that a client adds to the params when it retries a request.
#[derive(Debug, Default)]
pub struct RetryInput {
    pub state: Option<String>,
    pub answers: BTreeMap<String, Box<RawValue>>,
}

impl RetryInput {
    /// Moves the members that belong to a retry out of the params.
    ///
    /// # Errors
    /// Returns an error (`-32602`) if one of these members has the wrong type.
    pub fn take_from(params: &mut RawObject<'_>) -> Result<Self, RpcError> {
        let invalid = |member: &str, expected: &str| {
            RpcError::new(
                drawbridge_jsonrpc::rpc::code::INVALID_PARAMS,
                format!("params.{member} must be {expected}"),
            )
        };
        let state = match params.get("requestState") {
            Some(_) => Some(
                params
                    .get_string("requestState")
                    .ok_or_else(|| invalid("requestState", "a string"))?,
            ),
            None => None,
        };
        let answers = match params.get("inputResponses") {
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|_| invalid("inputResponses", "an object"))?,
            None => BTreeMap::new(),
        };
        params.remove("requestState");
        params.remove("inputResponses");
        Ok(Self { state, answers })
    }
}

#[cfg(test)]
mod tests;
