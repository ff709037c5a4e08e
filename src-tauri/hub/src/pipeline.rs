//! The way of a call, top to bottom: parse, find, decide and record, forward, answer.

use std::{borrow::Cow, collections::HashSet};

use serde_json::{json, value::RawValue};

use crate::{
    model::{
        call::Outcome,
        capability::Kind,
        json::{self, Json, RawObject},
        rpc::{Reply, RpcError, code},
    },
    policy::{Gate, Permitted, ToolCall},
    router::{ForwardError, Router, take_progress_token},
    sessions::Back,
    upstream::UpstreamError,
};

/// The steps of a call. Cheap to clone.
#[derive(Clone)]
pub struct Pipeline {
    router: Router,
    gate: Gate,
}

impl Pipeline {
    pub fn new(router: Router, gate: Gate) -> Self {
        Self { router, gate }
    }

    /// Answers a `tools/call`. Dropping the future abandons or cancels the call.
    ///
    /// # Errors
    /// What the protocol answers with an error: an unknown tool, bad params, the server's own errors. A denial,
    /// or a server that failed, is a result with `isError`, which a model can read.
    pub async fn call(&self, back: &Back, params: Option<&RawValue>) -> Reply {
        let mut request = parse(params)?;
        let tool = self
            .router
            .find(&back.session().reach, Kind::Tools, &request.name)
            .await
            .ok_or_else(|| unknown_tool(&request.name))?;
        request.params.set("name", json::raw(json::string(&tool.definition.name)));
        let call = ToolCall {
            client: back.session().client.clone(),
            session: back.session().id.clone(),
            tool,
            params: request.params.to_raw(),
            extra: request.params.without(&["name", "arguments"]),
            arguments: request.arguments,
            progress_token: request.progress_token,
        };
        let permitted = match self.gate.admit(call).await {
            Ok(permitted) => permitted,
            Err(refusal) => return Ok(failure(&refusal.to_string())),
        };
        let forwarded = self.router.forward(&permitted, back).await;
        answer(permitted, forwarded)
    }
}

/// A `tools/call` as the client sent it.
struct Request<'a> {
    name: String,
    arguments: Box<RawValue>,
    progress_token: Option<Box<RawValue>>,
    params: RawObject<'a>,
}

fn parse(params: Option<&RawValue>) -> Result<Request<'_>, RpcError> {
    let invalid = |why: Cow<'_, str>| RpcError::new(code::INVALID_PARAMS, format!("tools/call: {why}"));
    let params = params.ok_or_else(|| invalid("it has no params".into()))?;
    let mut params = RawObject::parse(params).map_err(|e| invalid(format!("params: {e}").into()))?;
    refuse_look_alikes(&params)
        .map_err(|key| invalid(format!("params has a member '{key}' that looks like another").into()))?;
    let name = params.string("name").ok_or_else(|| invalid("params.name must be a string".into()))?;
    let arguments = params.get("arguments").map_or_else(|| json::raw("{}".into()), ToOwned::to_owned);
    RawObject::parse(&arguments).map_err(|e| invalid(format!("params.arguments: {e}").into()))?;
    let progress_token = take_progress_token(&mut params);
    Ok(Request { name, arguments, progress_token, params })
}

/// A server that reads keys whatever their case must not find another call than the one that is decided.
fn refuse_look_alikes(params: &RawObject<'_>) -> Result<(), String> {
    const KNOWN: [&str; 4] = ["name", "arguments", "_meta", "task"];
    let mut seen = HashSet::new();
    for key in params.keys().filter(|key| !KNOWN.contains(key)) {
        let folded = json::fold(key);
        if KNOWN.contains(&folded.as_str()) || !seen.insert(folded) {
            return Err(key.to_owned());
        }
    }
    Ok(())
}

fn unknown_tool(name: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, format!("Unknown tool: {name}"))
}

fn answer(permitted: Permitted, forwarded: Result<Reply, ForwardError>) -> Reply {
    let server = permitted.call().tool.server.name().to_owned();
    match forwarded {
        Ok(Ok(result)) => {
            let outcome = if is_error(&result) { Outcome::ServerError } else { Outcome::Ok };
            permitted.ended(outcome, String::new());
            Ok(result)
        }
        Ok(Err(error)) => {
            permitted.ended(Outcome::ServerError, error.message.clone());
            Err(error)
        }
        Err(error) => {
            let outcome = outcome(&error);
            let text = format!("{} {}", what_is_known(outcome, &server), error);
            permitted.ended(outcome, error.to_string());
            Ok(failure(&text))
        }
    }
}

/// What a model has to know before it tries again.
fn what_is_known(outcome: Outcome, server: &str) -> String {
    match outcome {
        Outcome::NotSent | Outcome::Unreachable => format!("The call did not reach the server '{server}':"),
        Outcome::TimedOut => format!("The server '{server}' did not answer in time; whether the call ran is unknown:"),
        Outcome::Ok | Outcome::Running | Outcome::ServerError | Outcome::Unknown | Outcome::Cancelled => {
            format!("The server '{server}' gave no answer that can be used; whether the call ran is unknown:")
        }
    }
}

fn outcome(error: &ForwardError) -> Outcome {
    match error {
        ForwardError::Changed => Outcome::NotSent,
        ForwardError::Upstream(
            UpstreamError::Unreachable(_)
            | UpstreamError::Refused(_)
            | UpstreamError::Secret(_)
            | UpstreamError::NeedsSignIn(_),
        ) => Outcome::Unreachable,
        ForwardError::Upstream(UpstreamError::Lost(_)) => Outcome::Unknown,
        ForwardError::Upstream(UpstreamError::TimedOut(_)) => Outcome::TimedOut,
        ForwardError::Upstream(UpstreamError::Protocol(_)) => Outcome::ServerError,
    }
}

/// A result that tells the model that the call failed, and why.
fn failure(text: &str) -> Json {
    Json::new(json!({ "content": [{ "type": "text", "text": text }], "isError": true }).to_string())
}

/// Whether the tool itself says that it failed. Most results say nowhere that anything did, which is told at a glance.
fn is_error(result: &Json) -> bool {
    const KEY: &str = "\"isError\"";
    let text = result.get();
    let is_true = |at: usize| {
        let value = text[at + KEY.len()..].trim_start().strip_prefix(':').map(str::trim_start);
        value.is_some_and(|value| value.starts_with("true"))
    };
    memchr::memmem::find_iter(text.as_bytes(), KEY).any(is_true)
        && RawObject::parse(result).is_ok_and(|result| result.get("isError").is_some_and(|value| value.get() == "true"))
}

#[cfg(test)]
mod tests;
