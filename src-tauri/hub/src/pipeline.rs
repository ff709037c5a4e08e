//! The path of a call, top to bottom: parse, count, find, ask the hooks, check the arguments,
//! decide and record, forward, answer. The other guarded requests take similar steps in
//! [`guarded`], [`tasks`] and [`client_requests`].

mod client_requests;
mod guarded;
mod tasks;

use std::{borrow::Cow, collections::HashSet, path::PathBuf, sync::Arc};

use drawbridge_jsonrpc::{
    json::{self, Json, RawObject},
    rpc::{RpcError, RpcResponse, RpcResult, code},
};
use drawbridge_model::{
    call::{Call, Decision, Outcome},
    capability::CapabilityKind,
    content::ContentFlag,
    ids::ServerId,
    policy::RequestKind,
    protocol::{ProgressToken, guarded::GuardedMethod},
    spec::{RegisteredServer, ServerSpec},
    trace::TraceContext,
};
use drawbridge_sessions::{ClientHandle, ClientRequest};
use drawbridge_store::logs::within_call;
use drawbridge_upstream::UpstreamError;
use serde_json::{json, value::RawValue};

use crate::{
    access::{Access, CallLimitReached},
    catalog::{
        CatalogEntry,
        deferred::{self, DeferredCallError},
    },
    content,
    hooks::{Hooks, WatchedCall},
    live_calls::LiveCalls,
    policy::{Gate, GuardedRequest, Permitted, Refusal, WithheldReason},
    router::{ForwardError, Router, is_tool_error},
};

pub use client_requests::ClientRequests;

/// The answer to a call that was in flight when the user paused all calls.
const PAUSED_MESSAGE: &str = "All calls are paused. This call was aborted; it is unknown whether it was run. \
                              Do not retry it unless the user asks.";

/// The reason in the record of a request that was aborted because all calls were paused.
const PAUSED_REASON: &str = "all calls were paused";
/// The name of Drawbridge in records: as the server of its own tools, and as the client of requests
/// that it answers without a client.
const OWN_NAME: &str = "drawbridge";

/// The answer to a call that a person has cancelled while it ran.
const CANCELLED_MESSAGE: &str = "The user cancelled this call. It is unknown whether it was run. Do not retry it \
                                 unless the user asks.";
/// The error in the record of a call that a person has cancelled.
const CANCELLED_REASON: &str = "the user cancelled the call";

/// How a person stopped a call that was in flight.
enum Stopped {
    /// All calls were paused.
    Paused,
    /// This call was cancelled.
    Cancelled,
}

/// Answers calls of tools and the other guarded requests of clients, and forwards the notifications
/// of servers about resources and tasks. Cheap to clone.
#[derive(Clone)]
pub struct Pipeline {
    router: Router,
    gate: Gate,
    hooks: Hooks,
    client_requests: ClientRequests,
    live_calls: LiveCalls,
    access: Arc<Access>,
}

impl Pipeline {
    pub fn new(
        router: Router,
        gate: Gate,
        client_requests: ClientRequests,
        hooks: Hooks,
        live_calls: LiveCalls,
        access: Arc<Access>,
    ) -> Self {
        Self {
            client_requests,
            router,
            gate,
            hooks,
            live_calls,
            access,
        }
    }

    /// Answers a `tools/call`. If the future is dropped, the call is recorded as abandoned, or as
    /// cancelled if it was permitted already.
    ///
    /// # Errors
    /// Returns an error if the protocol demands an error: for an unknown tool, for bad params, and
    /// for the server's own errors. Also returns an error if recording a call of an unknown or
    /// unavailable tool fails. All other failures, such as a denied call, a tool that waits for
    /// acceptance, arguments that do not match the schema, or a server that failed, lead to results
    /// with `isError`, which a model can read.
    pub async fn call(&self, request: ClientRequest<'_>) -> RpcResult {
        let handle = request.handle;
        let mut request = parse_call(request.params, request.trace)?;
        let counted = self.access.count_call(&handle.session().client);
        let found = self.find_tool(handle, &mut request).await;
        if let Err(limit) = counted {
            return self
                .refuse_beyond_limit(request, found, handle, limit)
                .await;
        }
        let mut tool = match found {
            Err(error) => {
                self.record_refused(&request, handle, &error.message)
                    .await?;
                return Err(error);
            }
            Ok(Found::Unavailable(reason)) => {
                self.record_refused(&request, handle, &reason).await?;
                return Ok(error_result(&reason));
            }
            Ok(Found::Tool(tool)) => tool,
            Ok(Found::Answer(answer)) => {
                return self.record_own_answer(&request, handle, answer).await;
            }
        };
        let mut tried = Vec::new();
        loop {
            let mut call = request.build_call(tool.clone(), handle);
            if let Err(denied) = self.ask_request_hooks(&mut call).await {
                return Ok(denied);
            }
            // The arguments of a call that a rule denies need no check.
            if !self.gate.is_denied(&call)
                && let Err(mismatch) = tool
                    .definition
                    .check_arguments(&call.arguments, tool.server.spec.validate)
                    .await
            {
                let name = &tool.exposed_name;
                let arguments = describe_arguments(&call);
                let reason = format!("{arguments} do not match the schema of '{name}': {mismatch}");
                return Ok(
                    match self
                        .gate
                        .record_answered(&call, Decision::Denied, reason.clone())
                        .await
                    {
                        Ok(()) => error_result(&format!("This call was not run: {reason}")),
                        Err(refusal) => error_result(&refusal.to_string()),
                    },
                );
            }
            let permitted = match self.gate.admit(call, Some(handle)).await {
                Ok(permitted) => permitted,
                Err(refusal) => return Ok(error_result(&refusal.to_string())),
            };
            // A call that goes to a fallback keeps the arguments that a person has edited. The
            // fallback's hooks see the edited arguments, and the gate decides again.
            if permitted.record().is_edited {
                request.arguments.clone_from(&permitted.request().arguments);
                request.params.set("arguments", request.arguments.clone());
            }
            let watched = self.hooks.watch(&permitted);
            let running = self.live_calls.begin(permitted.row());
            let observer = running.observer();
            let forwarded = tokio::select! {
                biased;
                // If another branch ends first, the future of `forward` is dropped, which cancels
                // the call at the server.
                () = self.gate.wait_until_paused() => Err(Stopped::Paused),
                () = running.cancelled() => Err(Stopped::Cancelled),
                forwarded = within_call(
                    permitted.record().id.clone(),
                    self.router.forward(&permitted, handle, Some(&observer)),
                ) => Ok(forwarded),
            };
            drop(running);
            let forwarded = match forwarded {
                Ok(forwarded) => forwarded,
                Err(Stopped::Paused) => {
                    permitted.record_outcome(Outcome::Cancelled, PAUSED_REASON.into());
                    return Ok(error_result(PAUSED_MESSAGE));
                }
                Err(Stopped::Cancelled) => {
                    permitted.record_outcome(Outcome::Cancelled, CANCELLED_REASON.into());
                    return Ok(error_result(CANCELLED_MESSAGE));
                }
            };
            match forwarded {
                Err(ForwardError::Upstream(error)) if error.is_unavailable() => {
                    if let Some(watched) = watched {
                        watched.discard();
                    }
                    let next = self.router.next_fallback(handle.session(), &tool, &tried);
                    tried.push((tool.server.clone(), error.to_string()));
                    let Some(next) = next else {
                        return Ok(unreachable_result(permitted, &error, &tried));
                    };
                    permitted.record_outcome(
                        Outcome::Unreachable,
                        format!("{error}; trying '{}' instead", next.server.id),
                    );
                    tool = next;
                }
                Err(error) => {
                    report_to_hooks(watched, &error);
                    return Ok(failed_result(permitted, &error));
                }
                Ok(response) => {
                    let id = permitted.record().id.clone();
                    let answer = self.answer(permitted, watched, response, handle);
                    return within_call(id, answer).await;
                }
            }
        }
    }

    /// Records a call beyond the limit of its client, with the tool if it was found, and returns
    /// the result for the client. No hook, check or person sees the call.
    async fn refuse_beyond_limit(
        &self,
        mut request: CallRequest<'_>,
        found: Result<Found, RpcError>,
        handle: &ClientHandle,
        limit: CallLimitReached,
    ) -> RpcResult {
        let call = match found {
            Ok(Found::Tool(tool)) => request.build_call(tool, handle),
            Ok(Found::Answer(_) | Found::Unavailable(_)) | Err(_) => {
                request.build_for_record(handle, "")
            }
        };
        let refusal = self.record_beyond_limit(&call, limit).await;
        Ok(error_result(&refusal.to_string()))
    }

    /// Records that a request is denied because its client has reached its limit.
    async fn record_beyond_limit(
        &self,
        request: &GuardedRequest,
        limit: CallLimitReached,
    ) -> Refusal {
        let reason = limit.to_string();
        let recorded = self
            .gate
            .record_answered(request, Decision::Denied, reason.clone())
            .await;
        recorded.err().unwrap_or(Refusal::DeniedByHub { reason })
    }

    /// Lets the hooks on `tool_requested` change or deny a call, before anything is decided. Does
    /// nothing while all calls are paused.
    ///
    /// # Errors
    /// Returns the result for the client if a hook denies the call.
    async fn ask_request_hooks(&self, call: &mut GuardedRequest) -> Result<(), Json> {
        if !self.hooks.has_hook_for_request(call) || self.gate.is_paused() {
            return Ok(());
        }
        let record = self.gate.record_if_abandoned(call);
        let reviewed = Box::pin(self.hooks.review_request(call)).await;
        record.discard();
        let Err(denial) = reviewed else {
            return Ok(());
        };
        let reason = denial.to_string();
        let refusal = Refusal::DeniedByHub {
            reason: reason.clone(),
        };
        let recorded = self
            .gate
            .record_answered(call, Decision::Denied, reason)
            .await;
        let refusal = recorded.err().unwrap_or(refusal);
        Err(error_result(&refusal.to_string()))
    }

    /// Lets the hooks on `tool_executed` replace the server's answer, releases it as the rules for
    /// results demand, and records the outcome.
    async fn answer(
        &self,
        mut permitted: Permitted,
        watched: Option<Box<WatchedCall>>,
        response: RpcResponse,
        handle: &ClientHandle,
    ) -> RpcResult {
        if let RpcResponse::Result(result) = &response {
            permitted.count_tokens(result.get().len());
        }
        let (outcome, message) = match &response {
            RpcResponse::Result(result) if is_tool_error(result) => {
                (Outcome::ServerError, String::new())
            }
            RpcResponse::Result(_) => (Outcome::Ok, String::new()),
            RpcResponse::Error(error) => (Outcome::ServerError, error.message.clone()),
        };
        let response = match self
            .ask_result_hooks(&mut permitted, watched, response)
            .await
        {
            Ok(response) => response,
            Err(refusal) => return Ok(withheld_result(permitted, &refusal)),
        };
        let flags = scan_response(&permitted.request().server, &response).await;
        permitted.set_flags(flags.clone());
        let (request, call) = (permitted.request(), permitted.record());
        let released = match response {
            RpcResponse::Result(result) => {
                let released = self.release(request, call, result, &flags, handle);
                released.await.map(Ok)
            }
            RpcResponse::Error(error) => {
                let released = self
                    .gate
                    .release_error(request, call, error, &flags, Some(handle));
                released.await.map(Err)
            }
        };
        match released {
            Ok(answer) => {
                // The rules may have masked the server's error.
                let message = answer.as_ref().err().map_or(message, |e| e.message.clone());
                if let Ok(result) = &answer {
                    permitted.keep_result(result);
                }
                permitted.record_outcome(outcome, message);
                answer
            }
            Err(refusal) => Ok(withheld_result(permitted, &refusal)),
        }
    }

    /// Lets the hooks on `tool_executed` replace the server's answer, and returns it.
    ///
    /// # Errors
    /// Returns an error if a hook fails and the person chose that results are withheld in this
    /// case.
    async fn ask_result_hooks(
        &self,
        permitted: &mut Permitted,
        watched: Option<Box<WatchedCall>>,
        response: RpcResponse,
    ) -> Result<RpcResponse, Refusal> {
        let Some(watched) = watched else {
            return Ok(response);
        };
        let reviewed = Box::pin(watched.review(response)).await?;
        permitted.set_result_hooks(reviewed.hooks);
        Ok(reviewed.response)
    }

    /// Returns the result of a permitted request for the client, as the rules for results demand.
    /// Then decides the requests to the client that the released result contains. `call` is the
    /// record of the request. If there are `flags`, the result gets the notice that it is data of
    /// the server.
    async fn release(
        &self,
        request: &GuardedRequest,
        call: &Call,
        result: Json,
        flags: &[ContentFlag],
        handle: &ClientHandle,
    ) -> Result<Json, Refusal> {
        let result = self
            .gate
            .release_result(request, call, result, flags, Some(handle))
            .await?;
        self.client_requests
            .admit_in_result(&request.server, &result, handle)
            .await?;
        handle
            .session()
            .record_issued_uris(&request.server.id, &result);
        content::add_notice(&request.server, result, flags).map_err(|_| Refusal::Withheld {
            rule: content::RULE.to_owned(),
            reason: WithheldReason::Unmarkable,
        })
    }

    /// Records a call that one of Drawbridge's own tools has answered.
    async fn record_own_answer(
        &self,
        request: &CallRequest<'_>,
        handle: &ClientHandle,
        answer: Json,
    ) -> RpcResult {
        let call = request.build_for_record(handle, OWN_NAME);
        let reason = "answered by Drawbridge".to_owned();
        match self
            .gate
            .record_answered(&call, Decision::Allowed, reason)
            .await
        {
            Ok(()) => Ok(answer),
            Err(refusal) => Ok(error_result(&refusal.to_string())),
        }
    }

    /// Records a call that is refused because no server has the tool, its arguments are invalid, or
    /// the tool cannot be used now.
    async fn record_refused(
        &self,
        request: &CallRequest<'_>,
        handle: &ClientHandle,
        reason: &str,
    ) -> Result<(), RpcError> {
        let call = request.build_for_record(handle, "");
        self.gate
            .record_answered(&call, Decision::Denied, reason.to_owned())
            .await
            .map_err(|refusal| RpcError::new(code::INTERNAL_ERROR, refusal.to_string()))
    }

    /// Finds the tool that a request names, directly or through `tool_call`. Answers `tool_search`.
    async fn find_tool(
        &self,
        handle: &ClientHandle,
        request: &mut CallRequest<'_>,
    ) -> Result<Found, RpcError> {
        let found = self
            .router
            .find(handle.session(), CapabilityKind::Tools, &request.name)
            .await;
        if let Some(tool) = found {
            return Ok(Found::Tool(tool));
        }
        let unknown =
            |name: &str| RpcError::new(code::INVALID_PARAMS, format!("Unknown tool: {name}"));
        let find_unavailable = |name: &str| {
            let unavailable = self.router.find_unavailable(handle.session(), name)?;
            Some(Found::Unavailable(unavailable.to_string()))
        };
        if let Some(answer) = find_unavailable(&request.name) {
            return Ok(answer);
        }
        let view = self
            .router
            .deferring_view(handle.session())
            .ok_or_else(|| unknown(&request.name))?;
        let invalid = |name: &str, error: DeferredCallError| {
            Ok(Found::Answer(error_result(&format!("{name}: {error}"))))
        };
        match request.name.as_str() {
            name @ deferred::TOOL_SEARCH => match deferred::search(&view, &request.arguments) {
                Ok(answer) => Ok(Found::Answer(answer)),
                Err(error) => invalid(name, error),
            },
            name @ deferred::TOOL_CALL => match deferred::parse_call(&request.arguments) {
                Ok((name, arguments)) => {
                    let kind = CapabilityKind::Tools;
                    let Some(tool) = self.router.find(handle.session(), kind, &name).await else {
                        return find_unavailable(&name).ok_or_else(|| unknown(&name));
                    };
                    request.arguments = arguments_object(Some(&arguments))?;
                    request.params.set("arguments", arguments);
                    Ok(Found::Tool(tool))
                }
                Err(error) => invalid(name, error),
            },
            name => Err(unknown(name)),
        }
    }
}

/// The tool of a request, or the answer to the request.
enum Found {
    Tool(Arc<CatalogEntry>),
    /// The answer of one of Drawbridge's own tools.
    Answer(Json),
    /// A text for the model: the tool waits for acceptance, or its server has not been read yet.
    Unavailable(String),
}

/// A parsed `tools/call`.
struct CallRequest<'a> {
    name: String,
    /// An object, which is empty if the arguments in `params` are missing or null.
    arguments: Box<RawValue>,
    progress_token: Option<ProgressToken>,
    params: RawObject<'a>,
    trace: Option<TraceContext>,
}

impl CallRequest<'_> {
    /// Builds the call of a tool, with the server's own name of the tool.
    fn build_call(&mut self, tool: Arc<CatalogEntry>, handle: &ClientHandle) -> GuardedRequest {
        self.params
            .set("name", json::raw(json::quote(&tool.definition.name)));
        let name = tool.definition.name.clone();
        let exposed_name = tool.exposed_name.clone();
        let server = tool.server.clone();
        self.build_request(handle, server, Some(tool), [name, exposed_name])
    }

    /// Builds a call that is recorded with this server id, but not sent, because no tool of a
    /// server was found for the call.
    fn build_for_record(&self, handle: &ClientHandle, server: &str) -> GuardedRequest {
        let server = RegisteredServer::new(
            ServerId::new(server),
            ServerSpec::default(),
            PathBuf::default(),
        );
        let names = [self.name.clone(), self.name.clone()];
        self.build_request(handle, Arc::new(server), None, names)
    }

    fn build_request(
        &self,
        handle: &ClientHandle,
        server: Arc<RegisteredServer>,
        entry: Option<Arc<CatalogEntry>>,
        [name, exposed_name]: [String; 2],
    ) -> GuardedRequest {
        GuardedRequest {
            method: GuardedMethod::CallTool,
            kind: RequestKind::Tools,
            client: handle.session().client.clone(),
            session: handle.session().id.clone(),
            project: handle.session().scope.project.clone(),
            server,
            entry,
            name,
            exposed_name,
            params: self.params.to_raw(),
            extra: self.params.without(&["name", "arguments"]),
            arguments: self.arguments.clone(),
            progress_token: self.progress_token.clone(),
            hooked: None,
            stand_in: None,
            trace: self.trace,
        }
    }
}

fn parse_call(
    params: Option<&RawValue>,
    trace: Option<TraceContext>,
) -> Result<CallRequest<'_>, RpcError> {
    let invalid =
        |reason: Cow<'_, str>| RpcError::new(code::INVALID_PARAMS, format!("tools/call: {reason}"));
    let params = params.ok_or_else(|| invalid("params are missing".into()))?;
    let mut params =
        RawObject::parse(params).map_err(|e| invalid(format!("params: {e}").into()))?;
    if let Some(key) = find_ambiguous_key(&params) {
        return Err(invalid(
            format!("params: the key '{key}' differs from another key only in case").into(),
        ));
    }
    let name = params
        .get_string("name")
        .ok_or_else(|| invalid("params.name must be a string".into()))?;
    let arguments = arguments_object(params.get("arguments"))?;
    let progress_token = ProgressToken::take_from(&mut params)?;
    Ok(CallRequest {
        name,
        arguments,
        progress_token,
        params,
        trace,
    })
}

/// Returns a key that differs from another key, or from a known key, only in case. A server that
/// ignores case could read another call than the gate decided.
fn find_ambiguous_key<'a>(params: &'a RawObject<'_>) -> Option<&'a str> {
    const KNOWN: [&str; 4] = ["name", "arguments", "_meta", "task"];
    let mut folded_keys = HashSet::new();
    params
        .keys()
        .filter(|key| !KNOWN.contains(key))
        .find(|key| {
            let folded = json::fold_key(key);
            KNOWN.contains(&folded.as_str()) || !folded_keys.insert(folded)
        })
}

/// Returns the arguments that are checked, decided, shown and recorded: an empty object if they are
/// missing or null.
///
/// # Errors
/// Returns an error if the arguments are neither an object nor null.
fn arguments_object(arguments: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
    let Some(arguments) = arguments.filter(|arguments| arguments.get() != "null") else {
        return Ok(json::raw("{}".into()));
    };
    let invalid = |e| {
        RpcError::new(
            code::INVALID_PARAMS,
            format!("tools/call: params.arguments: {e}"),
        )
    };
    RawObject::parse(arguments).map_err(invalid)?;
    Ok(arguments.to_owned())
}

/// Records that no server could be reached, and returns the result for the client. Nothing was
/// sent.
fn unreachable_result(
    permitted: Permitted,
    error: &UpstreamError,
    tried: &[(Arc<RegisteredServer>, String)],
) -> Json {
    permitted.record_outcome(Outcome::Unreachable, error.to_string());
    let reasons: Vec<_> = tried
        .iter()
        .map(|(server, reason)| format!("'{}': {reason}", server.name()))
        .collect();
    let servers = if tried.len() == 1 {
        "the server"
    } else {
        "any of the servers"
    };
    error_result(&format!(
        "This call did not reach {servers} {}. It was not run. {}",
        reasons.join("; "),
        error.remedy()
    ))
}

/// Records that the answer to a call is withheld, and returns the result for the client.
fn withheld_result(permitted: Permitted, refusal: &Refusal) -> Json {
    permitted.record_outcome(Outcome::Withheld, refusal.to_string());
    error_result(&refusal.to_string())
}

/// Records why a call has no usable answer, and returns the result for the client.
fn failed_result(permitted: Permitted, error: &ForwardError) -> Json {
    let request = permitted.request();
    let server = request.server.name().to_owned();
    let outcome = error_outcome(error);
    // Recording the outcome logs the error if there was no answer.
    if matches!(outcome, Outcome::ServerError | Outcome::NotSent) {
        tracing::warn!(
            "server {}: the call of '{}' failed: {error}",
            request.server.id,
            request.name
        );
    }
    let text = format!("{} {}", describe_outcome(outcome, &server), error);
    permitted.record_outcome(outcome, error.to_string());
    error_result(&text)
}

/// Tells the hooks on `tool_executed` that a call has no usable answer, if the call may have
/// reached its server.
fn report_to_hooks(watched: Option<Box<WatchedCall>>, error: &ForwardError) {
    let Some(watched) = watched else { return };
    let outcome = error_outcome(error);
    if matches!(outcome, Outcome::NotSent | Outcome::Unreachable) {
        watched.discard();
    } else {
        watched.report_failure(outcome, &error.to_string());
    }
}

/// Returns the subject of a sentence about a call's arguments, which names the hooks that changed
/// them.
fn describe_arguments(call: &GuardedRequest) -> String {
    match call.request_hooks() {
        [] => "its arguments".to_owned(),
        hooks => format!("its arguments, changed by the hook {},", hooks.join(", ")),
    }
}

/// Returns the beginning of a message from which a model can judge whether it may retry the call.
fn describe_outcome(outcome: Outcome, server: &str) -> String {
    match outcome {
        Outcome::NotSent | Outcome::Unreachable => {
            format!("This call did not reach the server '{server}' and was not run:")
        }
        Outcome::TimedOut => format!(
            "The server '{server}' did not answer in time; it is unknown whether this call was run:"
        ),
        Outcome::Ok
        | Outcome::Running
        | Outcome::ServerError
        | Outcome::ClientError
        | Outcome::Unknown
        | Outcome::Cancelled
        | Outcome::Withheld => {
            format!(
                "The server '{server}' did not return a usable answer; it is unknown whether this call was run:"
            )
        }
    }
}

fn error_outcome(error: &ForwardError) -> Outcome {
    match error {
        ForwardError::Changed | ForwardError::Transient | ForwardError::TooManySubscriptions => {
            Outcome::NotSent
        }
        ForwardError::Upstream(
            UpstreamError::Unreachable(_)
            | UpstreamError::Starting { .. }
            | UpstreamError::Refused(_)
            | UpstreamError::Secret(_)
            | UpstreamError::NeedsSignIn(_),
        ) => Outcome::Unreachable,
        ForwardError::Upstream(UpstreamError::Lost(_)) => Outcome::Unknown,
        ForwardError::Upstream(UpstreamError::TimedOut(_)) => Outcome::TimedOut,
        ForwardError::Upstream(UpstreamError::Protocol(_)) => Outcome::ServerError,
    }
}

/// Returns the flags of a server's answer.
async fn scan_response(server: &RegisteredServer, response: &RpcResponse) -> Vec<ContentFlag> {
    match response {
        RpcResponse::Result(result) => content::scan_result(server, result).await,
        RpcResponse::Error(error) => content::scan_error(server, error).await,
    }
}

/// Returns a result that reports a failed call and its reason to the model.
fn error_result(text: &str) -> Json {
    Json::new(json!({ "content": [{ "type": "text", "text": text }], "isError": true }).to_string())
}

#[cfg(test)]
mod tests;
