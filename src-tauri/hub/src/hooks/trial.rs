//! Runs a hook as a trial, on a payload that a person sees and may change. No call is affected.

use drawbridge_jsonrpc::json::{self, RawObject};
use drawbridge_model::{
    clock,
    hook::{Hook, HookEffect, HookEvent, HookMode},
    ids::ServerId,
    protocol::ClientHello,
    tool_result::ToolExecutionResult,
};
use serde_json::{json, value::RawValue};

use super::{
    HookError, Hooks,
    answer::{RequestAnswer, ResultAnswer, parse_request_answer, parse_result_answer},
    check_hook,
    payload::{self, Envelope},
    runner::{HookTrigger, PreparedHook},
};

/// The longest output that is shown, in bytes. The rest of a longer output is cut off.
const MAX_SHOWN: usize = 64 * 1024;

/// The result of a trial.
#[derive(Debug)]
pub struct Trial {
    /// The input of the hook, as JSON.
    pub input: String,
    /// The hook's output, with secrets masked; empty if the run failed before the output was read.
    pub output: String,
    /// The effect that the hook would have on a call.
    pub effect: HookEffect,
    /// The reason of a denial or of a failure, with secrets masked; empty otherwise.
    pub reason: String,
    pub duration_ms: u32,
}

impl Hooks {
    /// Runs a hook, which need not be saved, on an event. If `payload` is `None`, the hook gets the
    /// [`sample_payload`] of the event. A hook that gets no results gets none in a trial either.
    ///
    /// # Errors
    /// Returns an error if the hook is invalid. The failure of a hook is a trial's result, not an
    /// error.
    pub async fn run_trial(
        &self,
        hook: Hook,
        event: HookEvent,
        payload: Option<Box<RawValue>>,
    ) -> Result<Trial, HookError> {
        check_hook(&hook)?;
        let mut payload = payload.unwrap_or_else(|| sample_payload(event));
        if event == HookEvent::ToolExecuted && !payload::gets_results(&hook) {
            payload = payload::remove_result(&payload);
        }
        let trigger = HookTrigger {
            event,
            server: ServerId::new(string_member(&payload, "server_name")),
            tool: string_member(&payload, "tool_name"),
            is_trial: true,
        };
        let input = Envelope::encode(&hook, event, clock::now(), &payload);
        let arguments = RawObject::parse(&*payload)
            .ok()
            .and_then(|payload| payload.get("arguments").map(ToOwned::to_owned));
        let mode = hook.mode;
        let prepared = PreparedHook::new(hook);
        let mut output = String::new();
        let read = |bytes: &[u8]| {
            output = String::from_utf8_lossy(bytes).into_owned();
            if mode == HookMode::Observe {
                // The output of an observing hook has no effect.
                return Ok((HookEffect::Continued, String::new()));
            }
            match event {
                HookEvent::ToolRequested => parse_request_answer(bytes)
                    .map(|answer| describe_request(answer, arguments.as_deref())),
                HookEvent::ToolExecuted => parse_result_answer(bytes).map(describe_result),
                HookEvent::ServerConnected | HookEvent::ServerDisconnected => {
                    Ok((HookEffect::Continued, String::new()))
                }
            }
        };
        let runner = &self.shared.runner;
        let started = tokio::time::Instant::now();
        let answer = runner.run(&prepared, &trigger, &input, read, Clone::clone);
        let (effect, reason) = match answer.await {
            Ok(answer) => answer,
            Err(reason) => (HookEffect::Failed, reason),
        };
        let duration_ms = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
        // The output is masked before it is cut, because a secret across the cut would not be
        // found.
        let mut output = runner.redact(&output);
        output.truncate(output.floor_char_boundary(MAX_SHOWN));
        Ok(Trial {
            input,
            output,
            effect,
            reason: runner.redact(&reason),
            duration_ms,
        })
    }
}

/// Returns the effect of an answer on a call with these arguments, and the reason of a denial.
fn describe_request(answer: RequestAnswer, before: Option<&RawValue>) -> (HookEffect, String) {
    match answer {
        RequestAnswer::Deny { reason } => (HookEffect::Denied, reason),
        RequestAnswer::Change { arguments }
            if Some(arguments.get()) != before.map(RawValue::get) =>
        {
            (HookEffect::ChangedArguments, String::new())
        }
        RequestAnswer::Change { .. } | RequestAnswer::Continue => {
            (HookEffect::Continued, String::new())
        }
    }
}

fn describe_result(answer: ResultAnswer) -> (HookEffect, String) {
    match answer {
        ResultAnswer::Continue => (HookEffect::Continued, String::new()),
        ResultAnswer::Change { .. } => (HookEffect::ReplacedResult, String::new()),
    }
}

fn string_member(payload: &RawValue, key: &str) -> String {
    let object = RawObject::parse(payload).ok();
    object
        .and_then(|object| object.get_string(key))
        .unwrap_or_default()
}

/// Returns a payload for an event, with made-up values.
pub fn sample_payload(event: HookEvent) -> Box<RawValue> {
    let result = json!({ "content": [{ "type": "text", "text": "Hello, world!" }] });
    let converted = ToolExecutionResult::from_result(&result, Some(12));
    // A sample may have any revision that Drawbridge knows.
    let revision = ClientHello::for_manual_calls().protocol_version;
    let sample = match event {
        HookEvent::ServerConnected => json!({
            "server_name": "example", "transport": "stdio", "protocol_version": revision,
            "tool_count": 3, "prompt_count": 1, "resource_count": 2, "resource_template_count": 0,
        }),
        HookEvent::ServerDisconnected => json!({
            "server_name": "example", "transport": "streamable_http", "reason": "Stopped: no client used the server",
            "had_session": true, "protocol_version": revision, "session_id": "a-session",
        }),
        HookEvent::ToolRequested => json!({
            "server_name": "example", "tool_name": "echo", "arguments": { "message": "Hello, world!" },
            "metadata": {
                "client": "example-client", "exposed_name": "example__echo", "session": "a-session",
                "project": null, "changed_by": [],
            },
        }),
        HookEvent::ToolExecuted => json!({
            "server_name": "example", "tool_name": "echo", "arguments": { "message": "Hello, world!" },
            "success": true, "duration_ms": 12, "content_length": 13, "error_message": "",
            "metadata": {
                "call": "a-call", "client": "example-client", "exposed_name": "example__echo",
                "outcome": "ok", "arguments_changed_by": [], "result_changed_by": [], "meta": {},
                "result": converted, "mcp_result": result,
            },
        }),
    };
    json::to_raw(&sample)
}
