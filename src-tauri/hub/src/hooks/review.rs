//! Lets blocking hooks change or deny a call before it is decided, and replace its result. Each
//! hook sees the changes of the hooks before it. Observing hooks get the call or the result
//! afterwards.

use std::sync::Arc;

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::RpcResponse,
};
use drawbridge_model::{
    call::Outcome,
    clock,
    hook::{HookEffect, HookEvent, HookMode, OnFailure},
    protocol::tasks,
    tool_result::ToolExecutionResult,
};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    Hooks,
    answer::{
        RequestAnswer, ResultAnswer, complete_result, parse_request_answer, parse_result_answer,
    },
    observe::LoadedHook,
    payload::{self, Envelope, Executed},
    runner::HookTrigger,
};
use crate::policy::{GuardedRequest, Permitted, PermittedRequest, Refusal};

/// The error of a call that was cancelled by its client or a person, or aborted by Drawbridge,
/// before it had an answer.
const CANCELLED: &str = "the call was cancelled";

/// Why a hook denied a call, for the record and the model. If the hook failed, only its runs and
/// the log contain the reason, because the reason may quote the output of the hook's program.
#[derive(Debug, thiserror::Error)]
pub enum Denial {
    #[error("the hook '{hook}' denied it{}", after_colon(.reason))]
    Denied { hook: String, reason: String },
    #[error("the hook '{hook}' failed, and the user chose that calls are denied if it fails")]
    Failed { hook: String },
}

/// Watches a call that is sent to its server, and notifies the hooks on `tool_executed` of its end.
/// A watch that is dropped before it has reported an end reports the call as cancelled.
pub struct WatchedCall {
    hooks: Hooks,
    permitted: PermittedRequest,
    started: Instant,
    is_reported: bool,
}

/// A server's answer, or the result with which hooks replaced it.
pub struct Reviewed {
    pub response: RpcResponse,
    /// The hooks that replaced the result, in order.
    pub hooks: Vec<String>,
}

impl Hooks {
    /// Returns whether a hook may change or deny a call, or observes it.
    pub fn has_hook_for_request(&self, request: &GuardedRequest) -> bool {
        self.has_hook_for(HookEvent::ToolRequested, request)
    }

    /// Lets the blocking hooks change or deny a call, and then notifies the observing hooks of the
    /// call with all changes, even if a hook denied the call.
    ///
    /// # Errors
    /// Returns an error if a hook denies the call, or if a hook fails and the person chose that
    /// calls are denied in this case.
    pub async fn review_request(&self, request: &mut GuardedRequest) -> Result<(), Denial> {
        let hooks = self.hooks_for(HookEvent::ToolRequested, request);
        let trigger = HookTrigger::of_call(HookEvent::ToolRequested, request);
        let mut denial = None;
        for hook in blocking(&hooks) {
            if let Err(denied) = self.ask_about_request(hook, &trigger, request).await {
                denial = Some(denied);
                break;
            }
        }
        let payload = payload::tool_requested(request);
        for hook in observing(&hooks) {
            hook.observe(&trigger, clock::now(), &payload);
        }
        denial.map_or(Ok(()), Err)
    }

    async fn ask_about_request(
        &self,
        hook: &LoadedHook,
        trigger: &HookTrigger,
        request: &mut GuardedRequest,
    ) -> Result<(), Denial> {
        let prepared = &hook.prepared;
        let name = prepared.hook.name.clone();
        let payload = payload::tool_requested(request);
        let input = Envelope::encode(&prepared.hook, trigger.event, clock::now(), &payload);
        let before = request.arguments.get().to_owned();
        let describe = |answer: &RequestAnswer| match answer {
            RequestAnswer::Deny { reason } => (HookEffect::Denied, reason.clone()),
            RequestAnswer::Change { arguments } if arguments.get() != before => {
                (HookEffect::ChangedArguments, String::new())
            }
            RequestAnswer::Change { .. } | RequestAnswer::Continue => {
                (HookEffect::Continued, String::new())
            }
        };
        let runner = &self.shared.runner;
        let answer = runner.run(prepared, trigger, &input, parse_request_answer, describe);
        match answer.await {
            Ok(RequestAnswer::Continue) => Ok(()),
            Ok(RequestAnswer::Change { arguments }) => {
                if arguments.get() != before {
                    request.change_arguments(arguments, name);
                }
                Ok(())
            }
            Ok(RequestAnswer::Deny { reason }) => Err(Denial::Denied { hook: name, reason }),
            Err(_) => match prepared.hook.on_failure {
                OnFailure::Allow => Ok(()),
                OnFailure::Deny => Err(Denial::Failed { hook: name }),
            },
        }
    }

    /// Returns a watch over a permitted call, or `None` if no hook runs on its end.
    pub fn watch(&self, permitted: &Permitted) -> Option<Box<WatchedCall>> {
        self.has_hook_for(HookEvent::ToolExecuted, permitted.request())
            .then(|| self.start_watch(permitted.to_permitted_request()))
    }

    /// Returns a watch over a call that became a task, or `None` if no hook runs on its end.
    pub fn watch_task(&self, started_by: &PermittedRequest) -> Option<Box<WatchedCall>> {
        self.has_hook_for(HookEvent::ToolExecuted, &started_by.request)
            .then(|| self.start_watch(started_by.clone()))
    }

    /// Returns whether a blocking hook has to see the result of a call before the client gets it.
    pub fn reviews_result(&self, request: &GuardedRequest) -> bool {
        self.has_hook_for_event(HookEvent::ToolExecuted)
            && blocking(&self.hooks_for(HookEvent::ToolExecuted, request))
                .next()
                .is_some()
    }

    fn start_watch(&self, permitted: PermittedRequest) -> Box<WatchedCall> {
        Box::new(WatchedCall {
            hooks: self.clone(),
            permitted,
            started: Instant::now(),
            is_reported: false,
        })
    }

    fn has_hook_for(&self, event: HookEvent, request: &GuardedRequest) -> bool {
        self.has_hook_for_event(event) && !self.hooks_for(event, request).is_empty()
    }

    fn hooks_for(&self, event: HookEvent, request: &GuardedRequest) -> Vec<Arc<LoadedHook>> {
        self.hooks_for_event(event, &request.server.id, Some(&request.name))
    }
}

impl WatchedCall {
    /// Lets the blocking hooks replace the server's answer, and then notifies the observing hooks
    /// of the answer that the client gets. If the server's answer does not end the call, returns it
    /// unchanged, and no hook sees it.
    ///
    /// # Errors
    /// Returns an error if a hook fails and the person chose that the result is withheld in this
    /// case.
    pub async fn review(
        mut self: Box<Self>,
        mut response: RpcResponse,
    ) -> Result<Reviewed, Refusal> {
        if let RpcResponse::Result(result) = &response
            && !is_final(result)
        {
            self.is_reported = true;
            let hooks = Vec::new();
            return Ok(Reviewed { response, hooks });
        }
        let duration_ms = self.elapsed_ms();
        let PermittedRequest { request, .. } = &self.permitted;
        let hooks = self.hooks.hooks_for(HookEvent::ToolExecuted, request);
        let trigger = HookTrigger::of_call(HookEvent::ToolExecuted, request);
        let original = match &response {
            RpcResponse::Result(result) => Some(result.clone()),
            RpcResponse::Error(_) => None,
        };
        let outcome = if to_execution_result(&response, duration_ms).success {
            Outcome::Ok
        } else {
            Outcome::ServerError
        };
        let mut changed_by = Vec::new();
        for hook in blocking(&hooks) {
            let payload = self.payload(&response, outcome, duration_ms, &changed_by, true);
            let name = &hook.prepared.hook.name;
            match self.ask_about_result(hook, &trigger, &payload).await {
                Ok(ResultAnswer::Continue) => {}
                Ok(ResultAnswer::Change { result }) => {
                    let result = match &original {
                        Some(original) => complete_result(&result, original),
                        None => result,
                    };
                    response = RpcResponse::Result(result);
                    changed_by.push(name.clone());
                }
                Err(_) if hook.prepared.hook.on_failure == OnFailure::Allow => {}
                Err(_) => {
                    let refusal = Refusal::withheld_by_hook(name);
                    self.report(Outcome::Withheld, &refusal.to_string());
                    return Err(refusal);
                }
            }
        }
        self.is_reported = true;
        for with_result in [false, true] {
            let observers: Vec<_> = observing(&hooks)
                .filter(|hook| hook.prepared.hook.with_result == with_result)
                .collect();
            if observers.is_empty() {
                continue;
            }
            let payload = self.payload(&response, outcome, duration_ms, &changed_by, with_result);
            for hook in observers {
                hook.observe(&trigger, clock::now(), &payload);
            }
        }
        Ok(Reviewed {
            response,
            hooks: changed_by,
        })
    }

    /// Notifies the hooks that the call, which may have reached its server, has no usable answer.
    pub fn report_failure(mut self: Box<Self>, outcome: Outcome, error: &str) {
        self.report(outcome, error);
    }

    /// Ends the watch without a report, because the call did not reach its server.
    pub fn discard(mut self: Box<Self>) {
        self.is_reported = true;
    }

    fn report(&mut self, outcome: Outcome, error: &str) {
        if std::mem::replace(&mut self.is_reported, true) {
            return;
        }
        let duration_ms = self.elapsed_ms();
        let PermittedRequest { request, call } = &self.permitted;
        let trigger = HookTrigger::of_call(HookEvent::ToolExecuted, request);
        let executed = Executed {
            request,
            call,
            outcome,
            duration_ms,
            result: &ToolExecutionResult::from_error(error, Some(duration_ms)),
            mcp_result: None,
            result_hooks: &[],
        };
        let (with_result, without_result) = (executed.payload(true), executed.payload(false));
        let hooks = self.hooks.hooks_for(HookEvent::ToolExecuted, request);
        // There is no result to replace, so the call does not wait for the blocking hooks either.
        // If the result is withheld because a blocking hook failed, only the observing hooks are
        // notified: the failed hook and the blocking hooks before it have already seen the result,
        // and the blocking hooks after it are not asked.
        let must_notify = |hook: &&Arc<LoadedHook>| {
            outcome != Outcome::Withheld || hook.prepared.hook.mode == HookMode::Observe
        };
        for hook in hooks.iter().filter(must_notify) {
            let payload = if payload::gets_results(&hook.prepared.hook) {
                &with_result
            } else {
                &without_result
            };
            hook.observe(&trigger, clock::now(), payload);
        }
    }

    async fn ask_about_result(
        &self,
        hook: &LoadedHook,
        trigger: &HookTrigger,
        payload: &RawValue,
    ) -> Result<ResultAnswer, String> {
        let prepared = &hook.prepared;
        let input = Envelope::encode(&prepared.hook, trigger.event, clock::now(), payload);
        let describe = |answer: &ResultAnswer| match answer {
            ResultAnswer::Continue => (HookEffect::Continued, String::new()),
            ResultAnswer::Change { .. } => (HookEffect::ReplacedResult, String::new()),
        };
        let runner = &self.hooks.shared.runner;
        runner
            .run(prepared, trigger, &input, parse_result_answer, describe)
            .await
    }

    fn payload(
        &self,
        response: &RpcResponse,
        outcome: Outcome,
        duration_ms: u32,
        changed_by: &[String],
        with_result: bool,
    ) -> Box<RawValue> {
        let PermittedRequest { request, call } = &self.permitted;
        let converted = to_execution_result(response, duration_ms);
        let mcp_result = match response {
            RpcResponse::Result(result) if with_result => Some(result.to_raw()),
            RpcResponse::Result(_) | RpcResponse::Error(_) => None,
        };
        let executed = Executed {
            request,
            call,
            outcome,
            duration_ms,
            result: &converted,
            mcp_result: mcp_result.as_deref(),
            result_hooks: changed_by,
        };
        executed.payload(with_result)
    }

    fn elapsed_ms(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_millis()).unwrap_or(u32::MAX)
    }
}

impl Drop for WatchedCall {
    fn drop(&mut self) {
        self.report(Outcome::Cancelled, CANCELLED);
    }
}

impl HookTrigger {
    fn of_call(event: HookEvent, request: &GuardedRequest) -> Self {
        Self {
            event,
            server: request.server.id.clone(),
            tool: request.name.clone(),
            is_trial: false,
        }
    }
}

/// Returns the response as hooks get it. An error becomes a result that is not successful.
fn to_execution_result(response: &RpcResponse, duration_ms: u32) -> ToolExecutionResult {
    match response {
        RpcResponse::Result(result) => {
            let value = serde_json::from_str(result.get()).unwrap_or_default();
            ToolExecutionResult::from_result(&value, Some(duration_ms))
        }
        RpcResponse::Error(error) => {
            ToolExecutionResult::from_error(&error.message, Some(duration_ms))
        }
    }
}

/// Returns whether a result ends its call, because the result neither asks for input nor describes
/// a running task.
fn is_final(result: &Json) -> bool {
    if tasks::created_task_id(result).is_some() || tasks::is_status_only(result) {
        return false;
    }
    !json::mentions(result, "input_required")
        || RawObject::parse(result).is_ok_and(|result| {
            result.get_string("resultType").as_deref() != Some("input_required")
        })
}

fn blocking(hooks: &[Arc<LoadedHook>]) -> impl Iterator<Item = &Arc<LoadedHook>> {
    hooks
        .iter()
        .filter(|hook| hook.prepared.hook.mode == HookMode::Blocking)
}

fn observing(hooks: &[Arc<LoadedHook>]) -> impl Iterator<Item = &Arc<LoadedHook>> {
    hooks
        .iter()
        .filter(|hook| hook.prepared.hook.mode == HookMode::Observe)
}

fn after_colon(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}
